//! Writes a file: all bytes go to a file without a name first. So an incomplete request changes nothing, two requests are
//! not mixed, and no program sees an incomplete file.

use std::sync::Arc;

use bytes::BytesMut;
use headwater_contract::v1::write_file_head::Place;
use headwater_contract::{Fault, FaultKind, v1};
use headwater_protocol::SessionId;
use headwater_workspace::{Entry, Expect, NewFile, Room, WorkspaceError, WorkspacePath};
use tonic::{Status, Streaming};

use crate::detached::blocking;
use crate::engine::Engine;
use crate::files::expectation::expectation;
use crate::files::open_workspace::OpenWorkspace;
use crate::rpc::files::entry::to_proto;

/// Bytes are collected up to this size before they are written: each write needs another thread.
const WRITE_BUFFER_BYTES: usize = 1 << 20;

/// A requested write.
struct WriteSpec {
    session: SessionId,
    path: Vec<u8>,
    place: Place,
    expect: Expect,
    mode: Option<u32>,
}

/// A file that is being written.
struct Draft {
    open: OpenWorkspace,
    path: WorkspacePath,
    file: NewFile,
    room: Room,
    written: u64,
}

/// Receives the whole request, and then carries it out.
pub(crate) async fn write(
    engine: &Arc<Engine>,
    mut chunks: Streaming<v1::WriteFileRequest>,
) -> Result<v1::WriteFileResponse, Status> {
    let nothing = || Fault::new(FaultKind::Invalid, "the request has no head");
    let mut first = chunks.message().await?.ok_or_else(nothing)?;
    let head = first.head.take().ok_or_else(nothing)?;
    let size = head.size;
    let spec = spec(head)?;
    let (engine, session, path, place) = (Arc::clone(engine), spec.session, spec.path.clone(), spec.place);
    let mut draft = blocking(move || begin(&engine, session, &path, &place, size)).await?;
    let mut gathered = BytesMut::new();
    let mut chunk = Some(first);
    let whole = loop {
        let Some(next) = chunk else { break false };
        gathered.extend_from_slice(&next.data);
        if gathered.len() >= WRITE_BUFFER_BYTES || next.last {
            let bytes = gathered.split();
            draft = blocking(move || add(draft, &bytes)).await?;
        }
        if next.last {
            break true;
        }
        chunk = chunks.message().await?;
    };
    if !whole {
        return Err(Fault::new(FaultKind::Invalid, "the upload was incomplete: nothing was changed").into());
    }
    let lock = draft.open.lock().await;
    let written = blocking(move || {
        let written = finish(draft, &spec);
        drop(lock);
        written
    });
    Ok(written.await?)
}

fn spec(head: v1::WriteFileHead) -> Result<WriteSpec, Fault> {
    if head.mode.is_some_and(|mode| mode > 0o777) {
        return Err(Fault::new(FaultKind::Invalid, "`mode` may only contain permission bits"));
    }
    Ok(WriteSpec {
        session: head.session_id.parse()?,
        path: head.path.to_vec(),
        place: head.place.unwrap_or(Place::Whole(true)),
        expect: expectation(head.expect),
        mode: head.mode,
    })
}

fn begin(
    engine: &Arc<Engine>,
    session: SessionId,
    path: &[u8],
    place: &Place,
    size: Option<u64>,
) -> Result<Draft, Fault> {
    let open = OpenWorkspace::open(engine, session)?;
    let (path, room, file) = open.attempt(|open| new_draft(open, path, place, size))?;
    Ok(Draft { open, path, file, room, written: 0 })
}

/// The file that will be written, and the space that it may take.
fn new_draft(
    open: &OpenWorkspace,
    path: &[u8],
    place: &Place,
    size: Option<u64>,
) -> Result<(WorkspacePath, Room, NewFile), Fault> {
    let path = open.path(path)?;
    if path.is_root() {
        return Err(WorkspaceError::Root.into());
    }
    let there = match open.workspace.stat(&path) {
        Err(WorkspaceError::Missing { .. }) => None,
        there => Some(there?), // an obstacle is reported before the bytes are sent
    };
    let mut room = open.room()?;
    match place {
        // The file that is replaced is removed.
        Place::Whole(_) => {
            room.bytes = room.bytes.saturating_add(there.map_or(0, |there| there.allocated_bytes));
        }
        Place::Offset(offset) if *offset > open.limits().disk_bytes.unwrap_or(i64::MAX.cast_unsigned()) => {
            return Err(open.full(room));
        }
        _ => {}
    }
    if size.is_some_and(|size| size > room.bytes) || (there.is_none() && room.inodes == 0) {
        return Err(open.full(room));
    }
    let file = open.workspace.create(&path)?;
    Ok((path, room, file))
}

fn add(mut draft: Draft, bytes: &[u8]) -> Result<Draft, Fault> {
    draft.written += bytes.len() as u64;
    if draft.written > draft.room.bytes {
        return Err(draft.open.full(draft.room));
    }
    draft.file.write(bytes)?;
    Ok(draft)
}

fn finish(draft: Draft, spec: &WriteSpec) -> Result<v1::WriteFileResponse, Fault> {
    let Draft { open, path, file, written, .. } = draft;
    open.attempt(|open| commit(open, &path, file, written, spec))
}

fn commit(
    open: &OpenWorkspace,
    path: &WorkspacePath,
    file: NewFile,
    written: u64,
    spec: &WriteSpec,
) -> Result<v1::WriteFileResponse, Fault> {
    let there = match open.workspace.stat(path) {
        Err(WorkspaceError::Missing { .. }) => None,
        there => Some(there?),
    };
    let created = there.is_none();
    let at = match spec.place {
        Place::Offset(offset) => Some(offset),
        Place::Append(_) | Place::Whole(_) => None,
    };
    let is_new = matches!(spec.place, Place::Whole(_)) || (created && at.is_none());
    let entry = if is_new {
        file.commit(&spec.expect, spec.mode)?
    } else {
        write_into(open, path, &file, at, spec, created)?
    };
    open.has_grown(written, u64::from(created));
    Ok(v1::WriteFileResponse { entry: Some(to_proto(path, &entry, None)), created })
}

/// Writes the draft into an existing file, or into a new and empty one.
fn write_into(
    open: &OpenWorkspace,
    path: &WorkspacePath,
    draft: &NewFile,
    at: Option<u64>,
    spec: &WriteSpec,
    created: bool,
) -> Result<Entry, Fault> {
    let workspace = &open.workspace;
    if created {
        spec.expect.check(path, None)?;
        workspace.create(path)?.commit(&Expect::Nothing, spec.mode)?;
        return Ok(workspace.write_into(path, draft.fd(), at, &Expect::Anything)?);
    }
    let entry = workspace.write_into(path, draft.fd(), at, &spec.expect)?;
    Ok(match spec.mode {
        Some(mode) => workspace.chmod(path, mode)?,
        None => entry,
    })
}
