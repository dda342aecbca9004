//! Reading a file: a piece at a time, each when the one before is on its way.

use std::os::fd::OwnedFd;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{BoxStream, unfold};
use headwater_contract::{Fault, FaultKind, v1};
use headwater_workspace::Expect;
use tonic::Status;

use crate::detached::blocking;
use crate::files::open_workspace::OpenWorkspace;
use crate::rpc::files::entry::told;

/// What `Read` answers with.
pub(crate) type Pieces = BoxStream<'static, Result<v1::ReadFileResponse, Status>>;

/// So much is read at a time: two of these are all that a reader holds here, and one or two at the gateway, which a
/// client that does not read keeps there.
const PIECE_BYTES: u64 = 128 << 10;

/// A file that is read from here to there.
pub(crate) struct Opened {
    entry: v1::FileEntry,
    file: OwnedFd,
    at: u64,
    to: u64,
}

/// Opens the file that was asked for.
pub(crate) fn open(open: &OpenWorkspace, request: &v1::ReadFileRequest) -> Result<Opened, Fault> {
    let path = open.path(&request.path)?;
    let (file, entry) = open.workspace.open_file(&path)?;
    if let Some(etag) = &request.etag {
        Expect::Tags(vec![etag.clone()]).check(&path, Some(&entry))?;
    }
    let to = request.to_byte.unwrap_or(entry.size).min(entry.size);
    Ok(Opened { entry: told(&path, &entry, None), file, at: request.from_byte, to })
}

enum Next {
    Head(Opened),
    Bytes(Opened),
}

/// What it is, and then its bytes.
pub(crate) fn pieces(opened: Opened) -> Pieces {
    let pieces = unfold(Some(Next::Head(opened)), async |next| match next? {
        Next::Head(opened) => {
            let head = v1::ReadFileResponse { entry: Some(opened.entry.clone()), data: Bytes::new() };
            Some((Ok(head), Some(Next::Bytes(opened))))
        }
        Next::Bytes(opened) if opened.at >= opened.to => None,
        Next::Bytes(opened) => match blocking(move || piece(opened)).await {
            Ok((data, opened)) => {
                Some((Ok(v1::ReadFileResponse { entry: None, data }), Some(Next::Bytes(opened))))
            }
            Err(fault) => Some((Err(fault.into()), None)),
        },
    });
    pieces.boxed()
}

fn piece(mut opened: Opened) -> Result<(Bytes, Opened), Fault> {
    let length = usize::try_from((opened.to - opened.at).min(PIECE_BYTES)).unwrap_or(usize::MAX);
    let mut data = Vec::with_capacity(length);
    let read = || rustix::io::pread(&opened.file, rustix::buffer::spare_capacity(&mut data), opened.at);
    let n = rustix::io::retry_on_intr(read)
        .map_err(|error| Fault::new(FaultKind::Unavailable, format!("the file cannot be read: {error}")))?;
    if n == 0 {
        let fault = Fault::new(FaultKind::Mismatch, "the file became shorter while it was read");
        return Err(fault.hint("read it again"));
    }
    data.truncate(length); // there may have been room for more
    opened.at += data.len() as u64;
    Ok((Bytes::from(data), opened))
}
