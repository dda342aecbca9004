//! From here to a session: everything is sent as one tar archive, which is unpacked completely or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use headwater_protocol::SessionId;
use tokio::sync::mpsc;

use super::path::InWorkspace;
use super::progress::Progress;
use super::{failed, missing, not_copied};
use crate::engine::{Engine, Entry};
use crate::error::CommandError;

/// Bytes of the archive that are sent at a time.
const CHUNK_BYTES: usize = 256 << 10;
/// Chunks that may wait to be sent.
const QUEUE: usize = 4;

/// Copies a file or a folder into a session.
pub async fn upload(
    engine: &Engine,
    from: &Path,
    session: SessionId,
    to: &str,
    progress: &Arc<Progress>,
) -> Result<(), CommandError> {
    let shown = from.display().to_string();
    let kind = match fs::metadata(from) {
        Ok(found) if found.is_dir() || found.is_file() => found,
        Ok(_) => return Err(not_copied(&shown)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing(&shown)),
        Err(error) => return Err(failed(&format!("read `{shown}`"), &error)),
    };
    let to = InWorkspace::new(to);
    let names_contents = shown.ends_with("/.") || (cfg!(windows) && shown.ends_with("\\."));
    let contents = kind.is_dir() && names_contents;
    let at = engine.entry(session, to.path.as_bytes()).await?;
    let into_folder = at == Some(Entry::Folder) || (to.folder && kind.is_file());
    let target = if into_folder && !contents { to.join(&name_of(from)?) } else { to };
    progress.set_total(size(from, &kind));
    let (folder, name) = if kind.is_dir() { (target.path.as_str(), "") } else { target.split() };
    let (sender, archive) = mpsc::channel(QUEUE);
    let packing = {
        let (from, name, progress) = (from.to_owned(), name.to_owned(), Arc::clone(progress));
        tokio::task::spawn_blocking(move || pack(&from, &name, sender, &progress))
    };
    let unpacked = engine.unpack(session, folder.as_bytes(), archive).await;
    // The reason why the archive ended is more useful than that it ended.
    let packed = packing.await.map_err(|error| CommandError::internal(error.to_string()))?;
    match packed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(failed(&format!("read `{shown}`"), &error))
        }
        _ => unpacked,
    }
}

/// The name of a file or a folder, for `.` and `..` as well.
fn name_of(path: &Path) -> Result<String, CommandError> {
    let name = path.file_name().map(ToOwned::to_owned);
    let name = name.or_else(|| fs::canonicalize(path).ok()?.file_name().map(ToOwned::to_owned));
    let name = name.and_then(|name| name.into_string().ok());
    name.ok_or_else(|| {
        CommandError::usage(format!("`{}` has no name that a session can use", path.display()))
            .hint("name the target: SESSION:PATH")
    })
}

/// The bytes of all files; what cannot be read counts as nothing.
fn size(path: &Path, kind: &fs::Metadata) -> u64 {
    if !kind.is_dir() {
        return kind.len();
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| entry.metadata().map_or(0, |kind| size(&entry.path(), &kind))).sum()
}

/// Writes the archive. An error is also sent, so that nothing is unpacked.
fn pack(
    from: &Path,
    name: &str,
    sender: mpsc::Sender<io::Result<Bytes>>,
    progress: &Progress,
) -> io::Result<()> {
    let mut chunks = Chunks { sender, held: Vec::with_capacity(CHUNK_BYTES), progress };
    let written = write_archive(from, name, &mut chunks);
    if let Err(error) = &written {
        let _ = chunks.sender.blocking_send(Err(io::Error::other(error.to_string()))); // the receiver may be gone
    }
    written
}

fn write_archive(from: &Path, name: &str, chunks: &mut Chunks<'_>) -> io::Result<()> {
    let mut archive = tar::Builder::new(&mut *chunks);
    archive.follow_symlinks(false);
    archive.sparse(false);
    if name.is_empty() {
        append_folder(&mut archive, from, &PathBuf::new())?;
    } else {
        archive.append_file(name, &mut File::open(from)?)?;
    }
    archive.finish()?;
    drop(archive);
    chunks.flush()
}

/// Adds the contents of a folder, without FIFOs, sockets and devices.
fn append_folder(archive: &mut tar::Builder<&mut Chunks<'_>>, folder: &Path, below: &Path) -> io::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<io::Result<_>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name, kind) = (entry.path(), below.join(entry.file_name()), entry.file_type()?);
        if kind.is_dir() {
            archive.append_dir(&name, &path)?;
            append_folder(archive, &path, &name)?;
        } else if kind.is_file() || kind.is_symlink() {
            archive.append_path_with_name(&path, &name)?;
        }
    }
    Ok(())
}

/// Sends what is written in chunks.
struct Chunks<'a> {
    sender: mpsc::Sender<io::Result<Bytes>>,
    held: Vec<u8>,
    progress: &'a Progress,
}

impl Write for Chunks<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        if self.held.len() >= CHUNK_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::replace(&mut self.held, Vec::with_capacity(CHUNK_BYTES));
        self.progress.add(chunk.len());
        self.sender.blocking_send(Ok(chunk.into())).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
