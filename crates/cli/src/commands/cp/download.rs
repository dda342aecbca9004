//! From a session to here. Nothing outside of the target is written, whatever an archive contains.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use headwater_protocol::SessionId;
use tokio::sync::mpsc;

use super::path::InWorkspace;
use super::progress::Progress;
use super::{failed, missing, not_copied};
use crate::engine::{ByteSource, Engine, Entry};
use crate::error::CommandError;

/// Chunks that may wait to be written.
const QUEUE: usize = 4;

/// Copies a file or a folder out of a session.
pub async fn download(
    engine: &Engine,
    session: SessionId,
    from: &str,
    to: &Path,
    progress: &Arc<Progress>,
) -> Result<(), CommandError> {
    let source = InWorkspace::new(from);
    let entry = engine.entry(session, source.path.as_bytes()).await?.ok_or_else(|| missing(from))?;
    let target = if to.is_dir() && !source.contents { to.join(source.split().1) } else { to.to_owned() };
    let shown = target.display().to_string();
    let (sender, chunks) = mpsc::channel(QUEUE);
    let (bytes, writing) = match entry {
        Entry::File { size, mode } => {
            progress.set_total(size);
            let bytes = engine.read_file(session, source.path.as_bytes()).await?;
            (bytes, tokio::task::spawn_blocking(move || write_file(Chunks::new(chunks), &target, mode)))
        }
        Entry::Folder => {
            let bytes = engine.pack(session, source.path.as_bytes()).await?;
            (bytes, tokio::task::spawn_blocking(move || unpack(Chunks::new(chunks), &target)))
        }
        Entry::Other => return Err(not_copied(from)),
    };
    let received = receive(bytes, sender, progress).await;
    let written = writing.await.map_err(|error| CommandError::internal(error.to_string()))?;
    received?;
    written.map_err(|error| failed(&format!("write `{shown}`"), &error))
}

/// Passes the bytes on. An error is also passed on, so that a file that is incomplete is not kept.
async fn receive(
    mut bytes: ByteSource,
    sender: mpsc::Sender<io::Result<Bytes>>,
    progress: &Progress,
) -> Result<(), CommandError> {
    loop {
        match bytes.next().await {
            Ok(Some(chunk)) => {
                progress.add(chunk.len());
                if sender.send(Ok(chunk)).await.is_err() {
                    return Ok(()); // the writer has failed and says why
                }
            }
            Ok(None) => return Ok(()),
            Err(error) => {
                let _ = sender.send(Err(io::Error::other("the transfer broke off"))).await;
                return Err(error);
            }
        }
    }
}

/// Writes a file beside its target and renames it, so that the target is never incomplete.
fn write_file(mut bytes: Chunks, target: &Path, mode: u32) -> io::Result<()> {
    let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let partial = target.with_file_name(format!(".{}.{}.part", name.to_string_lossy(), std::process::id()));
    let written = write_all(&mut bytes, &partial, mode).and_then(|()| fs::rename(&partial, target));
    if written.is_err() {
        let _ = fs::remove_file(&partial); // it may not exist
    }
    written
}

fn write_all(bytes: &mut Chunks, path: &Path, mode: u32) -> io::Result<()> {
    let mut file = File::create(path)?;
    io::copy(bytes, &mut file)?;
    file.flush()?;
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode & 0o777))?;
    #[cfg(not(unix))]
    let _ = mode;
    Ok(())
}

/// Unpacks an archive. Paths and links that lead out of the target are refused by the library.
fn unpack(bytes: Chunks, target: &Path) -> io::Result<()> {
    fs::create_dir_all(target)?;
    let mut archive = tar::Archive::new(bytes);
    archive.set_overwrite(true);
    archive.unpack(target)
}

/// Reads what was received.
struct Chunks {
    receiver: mpsc::Receiver<io::Result<Bytes>>,
    held: Bytes,
}

impl Chunks {
    const fn new(receiver: mpsc::Receiver<io::Result<Bytes>>) -> Self {
        Self { receiver, held: Bytes::new() }
    }
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.held.is_empty() {
            match self.receiver.blocking_recv() {
                Some(chunk) => self.held = chunk?,
                None => return Ok(0),
            }
        }
        let count = self.held.len().min(buffer.len());
        self.held.copy_to_slice(&mut buffer[..count]);
        Ok(count)
    }
}
