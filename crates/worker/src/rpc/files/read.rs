//! Reads a file chunk by chunk, each when the previous one was sent.

use std::os::fd::OwnedFd;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{BoxStream, unfold};
use headwater_contract::{Fault, FaultKind, v1};
use headwater_workspace::Expect;
use tonic::Status;

use crate::detached::blocking;
use crate::files::open_workspace::OpenWorkspace;
use crate::rpc::files::entry::to_proto;

/// The response of `Read`.
pub(crate) type Pieces = BoxStream<'static, Result<v1::ReadFileResponse, Status>>;

/// The bytes of one read. A reader keeps two chunks in the worker, and one or two in the gateway if its client does not
/// read.
const CHUNK_BYTES: u64 = 128 << 10;

/// A range of an open file.
pub(crate) struct Opened {
    entry: v1::FileEntry,
    file: OwnedFd,
    at: u64,
    to: u64,
}

/// Opens the requested file.
pub(crate) fn open(open: &OpenWorkspace, request: &v1::ReadFileRequest) -> Result<Opened, Fault> {
    let path = open.path(&request.path)?;
    let (file, entry) = open.workspace.open_file(&path)?;
    if let Some(etag) = &request.etag {
        Expect::Tags(vec![etag.clone()]).check(&path, Some(&entry))?;
    }
    let to = request.to_byte.unwrap_or(entry.size).min(entry.size);
    Ok(Opened { entry: to_proto(&path, &entry, None), file, at: request.from_byte, to })
}

enum Next {
    Head(Opened),
    Bytes(Opened),
}

/// The metadata first, and then the bytes.
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
    let length = usize::try_from((opened.to - opened.at).min(CHUNK_BYTES)).unwrap_or(usize::MAX);
    let mut data = Vec::with_capacity(length);
    let read = || rustix::io::pread(&opened.file, rustix::buffer::spare_capacity(&mut data), opened.at);
    let n = rustix::io::retry_on_intr(read)
        .map_err(|error| Fault::new(FaultKind::Unavailable, format!("cannot read the file: {error}")))?;
    if n == 0 {
        let fault = Fault::new(FaultKind::Mismatch, "the file was truncated while it was read");
        return Err(fault.hint("read it again"));
    }
    data.truncate(length); // the buffer may be longer
    opened.at += data.len() as u64;
    Ok((Bytes::from(data), opened))
}
