//! Reads many paths in one call: a call for each would take longer than the reading. Each message is read when the
//! previous one was sent.

use std::os::fd::OwnedFd;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{BoxStream, unfold};
use headwater_contract::{Fault, FaultKind, v1};
use headwater_workspace::{Kind, WorkspaceError, WorkspacePath};
use tonic::Status;

use crate::detached::blocking;
use crate::files::open_workspace::OpenWorkspace;
use crate::rpc::files::entry::{entry_at, to_proto};

/// The response of `ReadMany`.
pub(crate) type States = BoxStream<'static, Result<v1::ReadManyResponse, Status>>;

/// The most paths of one call.
const MAX_QUERIES: usize = 100_000;
/// The longest file, if the caller gives no limit.
const DEFAULT_MAX_FILE_BYTES: u64 = 64 << 20;
/// The bytes of one message, about.
const MESSAGE_BYTES: usize = 128 << 10;
/// The states of one message.
const MESSAGE_STATES: usize = 1024;

/// Answers the queries one after the other.
struct Reader {
    open: OpenWorkspace,
    queries: std::iter::Enumerate<std::vec::IntoIter<v1::PathQuery>>,
    max_bytes: u64,
    is_first: bool,
    /// The file whose content is being sent.
    current: Option<OpenFile>,
}

struct OpenFile {
    index: u32,
    file: OwnedFd,
    at: u64,
    size: u64,
}

/// Begins to read.
pub(crate) fn states(open: OpenWorkspace, request: v1::ReadManyRequest) -> Result<States, Fault> {
    if request.queries.len() > MAX_QUERIES {
        let message = format!("a call reads at most {MAX_QUERIES} paths");
        return Err(Fault::new(FaultKind::Invalid, message).hint("make several calls"));
    }
    let max_bytes = match request.max_file_bytes {
        0 => DEFAULT_MAX_FILE_BYTES,
        max => max,
    };
    let queries = request.queries.into_iter().enumerate();
    let reader = Reader { open, queries, max_bytes, is_first: true, current: None };
    let states = unfold(Some(reader), async |reader| {
        let reader = reader?;
        match blocking(move || reader.next()).await {
            Ok(next) => next.map(|(message, reader)| (Ok(message), Some(reader))),
            Err(fault) => Some((Err(fault.into()), None)),
        }
    });
    Ok(states.boxed())
}

impl Reader {
    /// The next message; `None` after the last.
    fn next(mut self) -> Result<Option<(v1::ReadManyResponse, Self)>, Fault> {
        let mut message = v1::ReadManyResponse::default();
        if self.is_first {
            message.home.clone_from(&self.open.home);
        }
        let mut bytes = 0;
        while bytes < MESSAGE_BYTES && message.states.len() < MESSAGE_STATES {
            let state = match self.current.take() {
                Some(current) => self.part(current, v1::PathState::default(), bytes),
                None => match self.queries.next() {
                    Some((index, query)) => {
                        self.state(u32::try_from(index).unwrap_or(u32::MAX), &query, bytes)?
                    }
                    None => break,
                },
            };
            bytes += state.data.len();
            message.states.push(state);
        }
        let is_over = message.states.is_empty() && !self.is_first;
        self.is_first = false;
        Ok((!is_over).then_some((message, self)))
    }

    /// The state of a path, with the first part of its content.
    fn state(&mut self, index: u32, query: &v1::PathQuery, used: usize) -> Result<v1::PathState, Fault> {
        let path = self.open.path(&query.path)?;
        let state = v1::PathState { index, ..v1::PathState::default() };
        match self.entry(&path, query.content) {
            Err(WorkspaceError::Missing { .. }) => Ok(state),
            Err(error) => {
                let blocked = matches!(error, WorkspaceError::NoFolder { .. });
                Ok(v1::PathState { error: error.to_string(), blocked, ..state })
            }
            Ok((entry, None)) => Ok(v1::PathState { entry: Some(entry), ..state }),
            Ok((entry, Some(_))) if entry.size > self.max_bytes => {
                let error = format!("it has {} bytes, the maximum is {}", entry.size, self.max_bytes);
                Ok(v1::PathState { entry: Some(entry), error, ..state })
            }
            Ok((entry, Some(file))) => {
                let current = OpenFile { index, file, at: 0, size: entry.size };
                Ok(self.part(current, v1::PathState { entry: Some(entry), ..state }, used))
            }
        }
    }

    /// The entry at a path, and the open file if its content is wanted. Bytes and tag belong together.
    fn entry(
        &self,
        path: &WorkspacePath,
        content: bool,
    ) -> Result<(v1::FileEntry, Option<OwnedFd>), WorkspaceError> {
        let workspace = &self.open.workspace;
        let there = workspace.stat(path)?;
        if content && there.kind == Kind::File {
            let (file, entry) = workspace.open_file(path)?;
            return Ok((to_proto(path, &entry, None), Some(file)));
        }
        let entry = entry_at(&self.open, path).unwrap_or_else(|_| to_proto(path, &there, None));
        Ok((entry, None))
    }

    /// Reads the next part of a file, which is the current one until its end.
    fn part(&mut self, mut current: OpenFile, mut state: v1::PathState, used: usize) -> v1::PathState {
        state.index = current.index;
        let length = usize::try_from(current.size - current.at).unwrap_or(MESSAGE_BYTES);
        let length = length.min(MESSAGE_BYTES.saturating_sub(used).max(1));
        match read(&current.file, current.at, length) {
            Ok(data) if data.len() == length => {
                state.data = Bytes::from(data);
                current.at += length as u64;
                if current.at < current.size {
                    self.current = Some(current);
                }
            }
            Ok(_) => "it was truncated while it was read".clone_into(&mut state.error),
            Err(error) => state.error = error.to_string(),
        }
        state
    }
}

/// Reads up to `length` bytes; fewer at the end of the file.
fn read(file: &OwnedFd, at: u64, length: usize) -> rustix::io::Result<Vec<u8>> {
    let mut data = vec![0; length];
    let mut filled = 0;
    while filled < length {
        let rest = data.get_mut(filled..).unwrap_or_default();
        match rustix::io::retry_on_intr(|| rustix::io::pread(file, &mut *rest, at + filled as u64))? {
            0 => break,
            n => filled += n,
        }
    }
    data.truncate(filled);
    Ok(data)
}
