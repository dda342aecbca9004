//! Writing to our standard output and standard error.
//!
//! A thread of its own writes: a reader of ours that is slow holds up neither Ctrl+C nor the connection. The channel to
//! it is bounded, so that a slow reader costs no memory that grows.

use std::io;
use std::os::fd::BorrowedFd;
use std::thread;

use bytes::Bytes;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, retry_on_intr, write};
use rustix::stdio::{stderr, stdout};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::error::{CommandError, ErrorKind};
use crate::escape;

/// Pieces on the way to the thread; one is at most a few MiB, and mostly far less.
const QUEUE: usize = 4;

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Writes, in order, what it is given.
#[derive(Debug)]
pub struct Printer {
    pieces: mpsc::Sender<(Target, Bytes)>,
    done: oneshot::Receiver<io::Result<()>>,
}

impl Printer {
    /// Starts the thread.
    pub fn start() -> Self {
        let (pieces, mut receiver) = mpsc::channel::<(Target, Bytes)>(QUEUE);
        let (finished, done) = oneshot::channel();
        thread::spawn(move || {
            let mut result = Ok(());
            while let Some((to, bytes)) = receiver.blocking_recv() {
                result = write_all(to, &bytes);
                if result.is_err() {
                    break;
                }
            }
            drop(receiver);
            let _ = finished.send(result); // nobody may want to know any more
        });
        Self { pieces, done }
    }

    /// Writes; returns when there is room for more.
    pub async fn print(&mut self, to: Target, bytes: Bytes) -> Result<(), CommandError> {
        if self.pieces.send((to, bytes)).await.is_ok() {
            return Ok(());
        }
        match (&mut self.done).await {
            Ok(Err(error)) => Err(cannot_write(&error)),
            _ => Err(CommandError::internal("the thread that writes is gone")),
        }
    }

    /// Waits until all is written.
    pub async fn finish(self) -> Result<(), CommandError> {
        drop(self.pieces);
        match self.done.await {
            Ok(Err(error)) => Err(cannot_write(&error)),
            _ => Ok(()),
        }
    }
}

/// Writes a line to standard output: what a command answers with.
pub fn say(line: &str) -> Result<(), CommandError> {
    let line = format!("{line}\n");
    write_all(Target::Stdout, line.as_bytes()).map_err(|error| cannot_write(&error))
}

/// Writes a JSON value on a line.
pub fn say_json(value: &Value) -> Result<(), CommandError> {
    say(&escape::json(value))
}

fn cannot_write(error: &io::Error) -> CommandError {
    if error.kind() == io::ErrorKind::BrokenPipe {
        CommandError::new(ErrorKind::ReaderGone, "whoever read the output has gone")
    } else {
        CommandError::internal(format!("cannot write the output: {error}"))
    }
}

fn write_all(to: Target, mut bytes: &[u8]) -> io::Result<()> {
    let fd: BorrowedFd<'static> = match to {
        Target::Stdout => stdout(),
        Target::Stderr => stderr(),
    };
    while !bytes.is_empty() {
        match retry_on_intr(|| write(fd, bytes)) {
            Ok(count) => bytes = &bytes[count..],
            // Somebody who shares the descriptor with us made it non-blocking.
            Err(Errno::AGAIN) => wait(fd, PollFlags::OUT)?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Waits until a descriptor is ready.
pub fn wait(fd: BorrowedFd<'_>, flags: PollFlags) -> io::Result<()> {
    retry_on_intr(|| poll(&mut [PollFd::new(&fd, flags)], None))?;
    Ok(())
}
