//! A program's standard input: a pipe or a terminal, and how much was written to it.
//!
//! Because of its offset, a chunk that is sent twice is written once, even if the worker is killed in between: the
//! offset advances in the same system call as the bytes (see [`buffer`]), and init keeps it for the next worker.

mod buffer;
#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use bytes::Bytes;
use headwater_contract::{Fault, FaultKind};
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;
use tokio::sync::Mutex;

use self::buffer::Buffer;
use crate::async_fd::register;

/// The byte that a terminal interprets as the end of input at the beginning of a line.
const EOT: u8 = 0x04;

/// The input of a program.
#[derive(Debug)]
pub(crate) struct StdinPipe {
    inner: Mutex<Inner>,
    terminal: bool,
}

#[derive(Debug)]
struct Inner {
    /// `None` after the end of input.
    target: Option<AsyncFd<Arc<OwnedFd>>>,
    buffer: Buffer,
}

impl StdinPipe {
    /// Takes the write end (nonblocking) and the buffer of an execution's input. Must be called within a runtime.
    pub(crate) fn new(target: Arc<OwnedFd>, buffer: OwnedFd, terminal: bool) -> io::Result<Self> {
        let target = Some(register(target, tokio::io::Interest::WRITABLE)?);
        Ok(Self { inner: Mutex::new(Inner { target, buffer: Buffer::new(buffer)? }), terminal })
    }

    /// The number of bytes written.
    pub(crate) async fn written(&self) -> Result<u64, Fault> {
        self.inner.lock().await.written()
    }

    /// Writes the part of `data` that is new, where `data` begins at `offset` (by default at the end); returns the offset
    /// after it. Waits while the program does not read.
    pub(crate) async fn write(&self, offset: Option<u64>, mut data: Bytes) -> Result<u64, Fault> {
        let mut inner = self.inner.lock().await;
        if let Some(offset) = offset {
            let ahead = |()| Fault::new(FaultKind::Invalid, "these bytes would leave a hole in the input");
            let known = inner.written()?.checked_sub(offset).ok_or(()).map_err(ahead)?;
            let known = usize::try_from(known).unwrap_or(usize::MAX).min(data.len());
            data = data.slice(known..);
        }
        while !data.is_empty() {
            let n = inner.write_some(&data).await?;
            data = data.slice(n..);
        }
        inner.written()
    }

    /// Ends the input. Returns whether init has to close the pipe as well; it may be asked to repeatedly.
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
    fn written(&self) -> Result<u64, Fault> {
        self.buffer.sent().map_err(no_buffer)
    }

    /// Writes one chunk from the beginning of `data`; returns its length. If the caller goes away meanwhile, a part of it
    /// may have been sent.
    async fn write_some(&mut self, data: &[u8]) -> Result<usize, Fault> {
        let closed = || Fault::new(FaultKind::Conflict, "the program no longer reads input");
        let target = self.target.as_ref().ok_or_else(closed)?;
        let length = self.buffer.fill(data).map_err(no_buffer)?;
        let mut left = length;
        while left > 0 {
            let mut guard = target.writable().await.map_err(|_| closed())?;
            match self.buffer.send(target.get_ref().as_fd(), left) {
                Ok(n) => left -= n,
                Err(Errno::AGAIN) => guard.clear_ready(),
                Err(Errno::INTR) => {}
                Err(Errno::NOMEM) => return Err(no_buffer(Errno::NOMEM)),
                Err(_) => return Err(closed()),
            }
        }
        self.buffer.clear().map_err(no_buffer)?;
        Ok(length)
    }
}

fn no_buffer(error: Errno) -> Fault {
    let fault = Fault::new(FaultKind::Unavailable, format!("cannot buffer the input: {error}"));
    fault.hint("send it again: nothing is written twice")
}
