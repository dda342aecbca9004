//! A program's standard input: a pipe or a terminal, and how much was written to it.
//!
//! Positions make a chunk that is sent twice count once. The position is kept in a small file beside the log, written
//! right after the bytes, so that a worker that takes over knows it. A kill that falls between the two (about a
//! microsecond) makes the last chunk, if its sender sends it again, arrive twice: the one window of this kind.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use headwater_contract::{Fault, FaultKind};
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;
use tokio::sync::Mutex;

use crate::ready::register;

/// The byte that a terminal takes as the end of input when it stands alone on a line.
const EOT: u8 = 0x04;

/// The way to a program's input.
#[derive(Debug)]
pub(crate) struct StdinPipe {
    inner: Mutex<Inner>,
    terminal: bool,
}

#[derive(Debug)]
struct Inner {
    /// `None` once its end was sent.
    target: Option<AsyncFd<Arc<OwnedFd>>>,
    written: u64,
    /// Where the position is kept; a full disk may have no room for it.
    count: Option<File>,
}

impl StdinPipe {
    /// Takes the writing end (nonblocking) of an execution's input. To be called within a runtime.
    pub(crate) fn new(target: Arc<OwnedFd>, execution: &Path, terminal: bool) -> io::Result<Self> {
        let path = execution.join("stdin_bytes");
        let count = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).ok();
        let mut bytes = [0; 8];
        let read = count.as_ref().is_some_and(|count| count.read_exact_at(&mut bytes, 0).is_ok());
        let written = if read { u64::from_le_bytes(bytes) } else { 0 };
        let target = Some(register(target, tokio::io::Interest::WRITABLE)?);
        Ok(Self { inner: Mutex::new(Inner { target, written, count }), terminal })
    }

    /// How much was written.
    pub(crate) async fn written(&self) -> u64 {
        self.inner.lock().await.written
    }

    /// Writes what is new of `data`, which belongs at `offset` (the end, if none is given); answers with the position
    /// after it. Waits while the program does not read.
    pub(crate) async fn write(&self, offset: Option<u64>, mut data: Bytes) -> Result<u64, Fault> {
        let mut inner = self.inner.lock().await;
        if let Some(offset) = offset {
            let ahead = |()| Fault::new(FaultKind::Invalid, "these bytes would leave a hole in the input");
            let known = inner.written.checked_sub(offset).ok_or(()).map_err(ahead)?;
            let known = usize::try_from(known).unwrap_or(usize::MAX).min(data.len());
            data = data.slice(known..);
        }
        while !data.is_empty() {
            let n = inner.write_some(&data).await?;
            data = data.slice(n..);
        }
        Ok(inner.written)
    }

    /// Sends the end. Answers whether init has to let go of the pipe as well, however often it was told to.
    pub(crate) async fn end(&self) -> Result<bool, Fault> {
        let mut inner = self.inner.lock().await;
        if self.terminal {
            inner.write_some(&[EOT]).await?;
        } else {
            inner.target = None;
        }
        Ok(!self.terminal)
    }
}

impl Inner {
    async fn write_some(&mut self, data: &[u8]) -> Result<usize, Fault> {
        let closed = || Fault::new(FaultKind::Conflict, "the program reads no more input");
        let target = self.target.as_ref().ok_or_else(closed)?;
        loop {
            let mut guard = target.writable().await.map_err(|_| closed())?;
            match rustix::io::write(target.get_ref().as_fd(), data) {
                Ok(n) => {
                    self.written += n as u64;
                    if let Some(count) = &self.count {
                        // A position that cannot be kept only matters if the worker dies too.
                        let _ = count.write_all_at(&self.written.to_le_bytes(), 0);
                    }
                    return Ok(n);
                }
                Err(Errno::AGAIN) => guard.clear_ready(),
                Err(Errno::INTR) => {}
                Err(_) => return Err(closed()),
            }
        }
    }
}
