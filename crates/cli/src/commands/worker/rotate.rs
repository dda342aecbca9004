//! Rotation of `worker.log`: a background worker writes to it through its standard error, which it inherits. When the
//! file is large it is moved aside and standard output and error are led to a new one, so that a panic lands there, too.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tracing_subscriber::fmt::MakeWriter;

use crate::escape::Log;

/// The log file and its bounds.
#[derive(Debug)]
pub struct Rotation {
    path: PathBuf,
    max_bytes: u64,
    files: u32,
    written: AtomicU64,
    turn: Mutex<()>,
}

impl Rotation {
    /// The log file of a data folder, of which this many files of this size are kept.
    pub fn new(data: &Path, max_bytes: u64, files: u32) -> Arc<Self> {
        let path = data.join("worker.log");
        let written = AtomicU64::new(path.metadata().map_or(0, |meta| meta.len()));
        Arc::new(Self { path, max_bytes, files, written, turn: Mutex::default() })
    }

    /// Moves the file aside if it is full.
    fn make_room(&self) {
        if self.written.load(Ordering::Relaxed) <= self.max_bytes {
            return;
        }
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if self.written.load(Ordering::Relaxed) <= self.max_bytes {
            return; // somebody was faster
        }
        // Tried again after as much has been written: a log that cannot be moved is no reason to stop.
        self.written.store(0, Ordering::Relaxed);
        if let Err(error) = self.rotate() {
            let _ = writeln!(io::stderr(), "headwater: `{}` cannot be rotated: {error}", self.path.display());
        }
    }

    fn rotate(&self) -> io::Result<()> {
        let file = shift(&self.path, self.files)?;
        rustix::stdio::dup2_stdout(&file)?;
        rustix::stdio::dup2_stderr(&file)?;
        Ok(())
    }
}

/// `worker.log` becomes `worker.log.1`, that one `worker.log.2`, and so on; the last of them goes. Answers the new file.
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

/// Writes lines of the log to standard error.
#[derive(Debug, Clone)]
pub struct Rotating {
    /// The file behind it.
    pub rotation: Arc<Rotation>,
    /// Escapes what is written.
    pub log: Log,
}

impl Write for Rotating {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rotation.make_room();
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
    fn old_files_move_up_by_one_and_the_last_goes() {
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
        assert_eq!(read("worker.log.1"), "5", "one file means that no other is kept from now on");
    }
}
