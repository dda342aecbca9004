//! The lock of a data folder: one worker for each.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::FlockOperation;

use crate::layout::Folder;

/// Why a data folder is not locked.
pub(crate) enum LockError {
    /// Another worker holds the lock.
    Held,
    /// The lock file cannot be opened.
    Io(io::Error),
}

/// Locks a data folder. The lock is released with the process, however it ends.
pub(crate) fn lock(folder: &Folder) -> Result<File, LockError> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(folder.lock()).map_err(LockError::Io)?;
    // A lock of the process, not of the open file: if a worker is killed while it launches an init, the init keeps the
    // open file for a moment, and the next worker would find it locked.
    rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| LockError::Held)?;
    Ok(file)
}
