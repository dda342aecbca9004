//! The buffer of an input: a file in memory whose offset is the number of bytes sent.
//!
//! A chunk is written to the file at its offset, which does not move the offset, and is sent from there to the pipe or
//! the terminal with `sendfile(2)`, which moves the offset with the bytes in one system call. A worker that is killed
//! between the two leaves bytes after the offset, which were never acknowledged; if it is killed in the call, the
//! kernel completes it at least partly, and the offset is exact. Init keeps the file open for the next worker.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;

/// The most bytes in the file.
const CHUNK_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub(crate) struct Buffer {
    file: OwnedFd,
    /// Whether the file may contain bytes.
    filled: bool,
}

impl Buffer {
    /// Takes the file, new or from an earlier worker: bytes after its offset were never sent.
    pub(crate) fn new(file: OwnedFd) -> Result<Self, Errno> {
        let mut buffer = Self { file, filled: true };
        buffer.clear()?;
        Ok(buffer)
    }

    /// The number of bytes sent.
    pub(crate) fn sent(&self) -> Result<u64, Errno> {
        rustix::fs::tell(&self.file)
    }

    /// Writes the beginning of `data` to the file; returns its length.
    pub(crate) fn fill(&mut self, data: &[u8]) -> Result<usize, Errno> {
        self.clear()?; // a caller that went away may have left the rest of a chunk
        let chunk = data.get(..CHUNK_BYTES).unwrap_or(data);
        self.filled = true;
        rustix::io::pwrite(&self.file, chunk, self.sent()?)
    }

    /// Sends up to `bytes` of the file; returns how many, at least one.
    pub(crate) fn send(&self, target: BorrowedFd<'_>, bytes: usize) -> Result<usize, Errno> {
        match rustix::fs::sendfile(target, self.file.as_fd(), None, bytes)? {
            0 => Err(Errno::NODATA), // never, unless the file is truncated by others
            sent => Ok(sent),
        }
    }

    /// Releases the memory, always of the whole file: the pipe contains pages of this file, which survive its truncation
    /// to zero, while truncating within a page would clear the rest of that page.
    pub(crate) fn clear(&mut self) -> Result<(), Errno> {
        if std::mem::take(&mut self.filled) {
            rustix::fs::ftruncate(&self.file, 0)?;
        }
        Ok(())
    }
}
