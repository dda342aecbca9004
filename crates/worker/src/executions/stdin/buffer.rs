//! The input's buffer: a file in memory whose offset is how much of an input has been sent.
//!
//! A chunk is put into the file at its offset, which does not move the offset, and goes from there into the pipe or the
//! terminal by `sendfile(2)`, which moves the offset with the bytes in one system call. A worker that is killed between
//! the two leaves bytes past the offset, which nobody was told of; killed in the call, it still finishes it, or part of
//! it, and the offset says which. Init keeps the file open for the next worker.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;

/// The most that is put into the file at once.
const CHUNK_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub(crate) struct Buffer {
    file: OwnedFd,
    /// Whether the file may hold anything.
    filled: bool,
}

impl Buffer {
    /// Takes the file, new or left by another worker: what lies past its offset was never sent.
    pub(crate) fn new(file: OwnedFd) -> Result<Self, Errno> {
        let mut buffer = Self { file, filled: true };
        buffer.clear()?;
        Ok(buffer)
    }

    /// How much has been sent.
    pub(crate) fn sent(&self) -> Result<u64, Errno> {
        rustix::fs::tell(&self.file)
    }

    /// Puts the beginning of `data` into the file; says how much of it.
    pub(crate) fn fill(&mut self, data: &[u8]) -> Result<usize, Errno> {
        self.clear()?; // a writer that went away in the middle of a chunk left the rest of it
        let chunk = data.get(..CHUNK_BYTES).unwrap_or(data);
        self.filled = true;
        rustix::io::pwrite(&self.file, chunk, self.sent()?)
    }

    /// Sends up to `bytes` of what the file holds; says how much went, which is at least one byte.
    pub(crate) fn send(&self, target: BorrowedFd<'_>, bytes: usize) -> Result<usize, Errno> {
        match rustix::fs::sendfile(target, self.file.as_fd(), None, bytes)? {
            0 => Err(Errno::NODATA), // never, unless somebody else shortens the file
            sent => Ok(sent),
        }
    }

    /// Gives back the memory. Only ever of the whole file: what was sent lies in the pipe as the very pages of this
    /// file, which outlive it whole, while cutting the file within a page would blank the rest of that page.
    pub(crate) fn clear(&mut self) -> Result<(), Errno> {
        if std::mem::take(&mut self.filled) {
            rustix::fs::ftruncate(&self.file, 0)?;
        }
        Ok(())
    }
}
