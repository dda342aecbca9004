//! Files of a workspace: what a path is, and streams of bytes in both directions.

use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use headwater_client::{Body, Output};
use headwater_contract::{FileReader, Messages, v1};
use headwater_protocol::SessionId;
use headwater_protocol::api::FileType;
use tokio::sync::mpsc;

use super::{Engine, Result};
use crate::error::ErrorKind;

/// Larger chunks of an archive are split: the worker's limit for a message.
const MAX_CHUNK_BYTES: usize = 1 << 20;

/// What is at a path of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// A file with this size and these permissions.
    File {
        /// The size in bytes.
        size: u64,
        /// The permissions.
        mode: u32,
    },
    /// A folder.
    Folder,
    /// A link, a FIFO, a socket or a device.
    Other,
}

/// Bytes as they arrive.
#[derive(Debug)]
pub enum ByteSource {
    /// A file of the worker on this machine.
    LocalFile(Box<FileReader>),
    /// An archive of the worker on this machine.
    LocalArchive(Messages<v1::PackResponse>),
    /// A response of a server.
    Remote(Output),
}

impl ByteSource {
    /// The next bytes; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        Ok(match self {
            Self::LocalFile(file) => file.next().await?,
            Self::LocalArchive(messages) => messages.next().await?.map(|message| message.data),
            Self::Remote(output) => output.chunk().await?,
        })
    }
}

/// An archive that is being read here. An error ends it, and nothing is unpacked.
pub type Archive = mpsc::Receiver<std::io::Result<Bytes>>;

impl Engine {
    /// What is at this path; `None` if nothing is. The empty path is the workspace.
    pub async fn entry(&self, session: SessionId, path: &[u8]) -> Result<Option<Entry>> {
        if path.is_empty() {
            return Ok(Some(Entry::Folder));
        }
        let found = match self {
            Self::Local(worker) => {
                let path = Bytes::copy_from_slice(path);
                let found = worker.retry(|worker| worker.stat_file(session, path.clone())).await;
                found.map_err(Into::into).map(|entry| match entry.kind() {
                    v1::FileKind::File => Entry::File { size: entry.size, mode: entry.mode },
                    v1::FileKind::Folder => Entry::Folder,
                    _ => Entry::Other,
                })
            }
            Self::Remote(server) => {
                let found = server.stat_file(session, path).await;
                found.map_err(Into::into).map(|entry| match entry.kind {
                    FileType::File => Entry::File {
                        size: entry.size,
                        mode: u32::from_str_radix(&entry.mode, 8).unwrap_or(0o644),
                    },
                    FileType::Folder => Entry::Folder,
                    _ => Entry::Other,
                })
            }
        };
        match found {
            Ok(entry) => Ok(Some(entry)),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads a file.
    pub async fn read_file(&self, session: SessionId, path: &[u8]) -> Result<ByteSource> {
        Ok(match self {
            Self::Local(worker) => {
                let request = v1::ReadFileRequest {
                    session_id: session.to_string(),
                    path: Bytes::copy_from_slice(path),
                    ..v1::ReadFileRequest::default()
                };
                ByteSource::LocalFile(Box::new(
                    worker.retry(|worker| worker.read_file(request.clone())).await?,
                ))
            }
            Self::Remote(server) => ByteSource::Remote(server.read_file(session, path, None).await?),
        })
    }

    /// Packs a folder into a tar archive.
    pub async fn pack(&self, session: SessionId, path: &[u8]) -> Result<ByteSource> {
        Ok(match self {
            Self::Local(worker) => {
                let path = Bytes::copy_from_slice(path);
                let packing =
                    worker.retry(|worker| worker.pack(session, path.clone(), v1::ArchiveFormat::Tar));
                ByteSource::LocalArchive(packing.await?)
            }
            Self::Remote(server) => ByteSource::Remote(server.pack(session, path).await?),
        })
    }

    /// Unpacks a tar archive into a folder: all of it, or nothing if the archive ends with an error.
    pub async fn unpack(&self, session: SessionId, path: &[u8], archive: Archive) -> Result<()> {
        match self {
            Self::Local(worker) => {
                let to = v1::UnpackTo {
                    session_id: session.to_string(),
                    path: Bytes::copy_from_slice(path),
                    format: v1::ArchiveFormat::Tar.into(),
                };
                worker.unpack(messages(to, archive)).await?;
            }
            Self::Remote(server) => {
                let chunks =
                    stream::unfold(archive, async |mut archive| Some((archive.recv().await?, archive)));
                server.unpack(session, path, Body::wrap_stream(chunks)).await?;
            }
        }
        Ok(())
    }
}

fn is_missing(error: &crate::error::CommandError) -> bool {
    error.kind == ErrorKind::NotFound
}

/// The archive in messages of the contract. Only a complete archive has the last message.
fn messages(
    to: v1::UnpackTo,
    archive: Archive,
) -> impl stream::Stream<Item = v1::UnpackRequest> + Send + 'static {
    let first = v1::UnpackRequest { to: Some(to), ..v1::UnpackRequest::default() };
    let rest = stream::unfold(Some((archive, Bytes::new())), async |state| {
        let (mut archive, mut held) = state?;
        while held.is_empty() {
            match archive.recv().await {
                Some(Ok(data)) => held = data,
                Some(Err(_)) => return None,
                None => return Some((v1::UnpackRequest { end: true, ..v1::UnpackRequest::default() }, None)),
            }
        }
        let data = held.split_to(held.len().min(MAX_CHUNK_BYTES));
        Some((v1::UnpackRequest { data, ..v1::UnpackRequest::default() }, Some((archive, held))))
    });
    stream::once(async { first }).chain(rest)
}
