//! Rotation of `worker.log`. A background worker writes to it through its inherited standard error. When the file is too
//! large it is renamed, and standard output and error are redirected to a new one, so that panics are logged there too.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tracing_subscriber::fmt::MakeWriter;

use crate::escape::Log;

/// The log file and its limits.
#[derive(Debug)]
pub struct Rotation {
    path: PathBuf,
    max_bytes: u64,
    files: u32,
    written: AtomicU64,
    rotating: Mutex<()>,
}

impl Rotation {
    /// The log of a data folder, of which up to `files` files of `max_bytes` are kept.
    pub fn new(data: &Path, max_bytes: u64, files: u32) -> Arc<Self> {
        let path = data.join("worker.log");
        let written = AtomicU64::new(path.metadata().map_or(0, |meta| meta.len()));
        Arc::new(Self { path, max_bytes, files, written, rotating: Mutex::default() })
    }

    /// Rotates the file if it is full.
    fn rotate_if_full(&self) {
        if self.written.load(Ordering::Relaxed) <= self.max_bytes {
            return;
        }
        let _guard = self.rotating.lock().unwrap_or_else(PoisonError::into_inner);
        if self.written.load(Ordering::Relaxed) <= self.max_bytes {
            return; // another thread has rotated it
        }
        // If it fails it is tried again after as much has been written; the worker keeps running.
        self.written.store(0, Ordering::Relaxed);
        if let Err(error) = self.rotate() {
            let _ = writeln!(io::stderr(), "headwater: cannot rotate `{}`: {error}", self.path.display());
        }
    }

    fn rotate(&self) -> io::Result<()> {
        let file = shift(&self.path, self.files)?;
        rustix::stdio::dup2_stdout(&file)?;
        rustix::stdio::dup2_stderr(&file)?;
        Ok(())
    }
}

/// Renames `worker.log` to `worker.log.1`, that to `worker.log.2`, and so on; the last one is deleted. Returns the new
/// file.
fn shift(path: &Path, files: u32) -> io::Result<fs::File> {
    let aged = |n: u32| PathBuf::from(format!("{}.{n}", path.display()));
    for n in (1..files.saturating_sub(1)).rev() {
        match fs::rename(aged(n), aged(n + 1)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    if files > 1 {
        fs::rename(path, aged(1))?;
    } else {
        fs::remove_file(path)?;
    }
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

/// Writes log lines to standard error, rotating its file.
#[derive(Debug, Clone)]
pub struct Rotating {
    /// The file behind standard error.
    pub rotation: Arc<Rotation>,
    /// Escapes and writes the lines.
    pub log: Log,
}

impl Write for Rotating {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rotation.rotate_if_full();
        let written = self.log.write(bytes)?;
        self.rotation.written.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.log.flush()
    }
}

impl MakeWriter<'_> for Rotating {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_files_are_renumbered_and_the_last_is_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("worker.log");
        for n in 0..6 {
            fs::write(&path, n.to_string()).unwrap();
            shift(&path, 3).unwrap();
        }
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(
            (read("worker.log"), read("worker.log.1"), read("worker.log.2")),
            (String::new(), "5".into(), "4".into())
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
        shift(&path, 1).unwrap();
        assert_eq!(read("worker.log.1"), "5", "with one file no older one is kept");
    }
}
