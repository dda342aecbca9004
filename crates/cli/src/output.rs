//! Writes to standard output and standard error.
//!
//! A dedicated thread writes, so that a slow reader blocks neither Ctrl+C nor the connection. The channel to it is
//! bounded, so that memory does not grow.

use std::io;
use std::thread;

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::error::{CommandError, ErrorKind};
use crate::escape;
use crate::system::write_all;
use crate::view;

/// Chunks that may be queued; one is at most a few MiB, and usually far less.
const QUEUE: usize = 4;

/// Standard output or standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Writes chunks in order.
#[derive(Debug)]
pub struct Printer {
    chunks: mpsc::Sender<(Target, Bytes)>,
    done: oneshot::Receiver<io::Result<()>>,
}

impl Printer {
    /// Starts the thread.
    pub fn start() -> Self {
        let (chunks, mut receiver) = mpsc::channel::<(Target, Bytes)>(QUEUE);
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
            let _ = finished.send(result); // the receiver may be gone
        });
        Self { chunks, done }
    }

    /// Queues a chunk; waits while the queue is full.
    pub async fn print(&mut self, to: Target, bytes: Bytes) -> Result<(), CommandError> {
        if self.chunks.send((to, bytes)).await.is_ok() {
            return Ok(());
        }
        match (&mut self.done).await {
            Ok(Err(error)) => Err(cannot_write(&error)),
            _ => Err(CommandError::internal("the writer thread has stopped")),
        }
    }

    /// Waits until everything is written.
    pub async fn finish(self) -> Result<(), CommandError> {
        drop(self.chunks);
        match self.done.await {
            Ok(Err(error)) => Err(cannot_write(&error)),
            _ => Ok(()),
        }
    }
}

/// Writes a line to standard output.
pub fn print_line(line: &str) -> Result<(), CommandError> {
    let line = format!("{line}\n");
    write_all(Target::Stdout, line.as_bytes()).map_err(|error| cannot_write(&error))
}

/// Writes bytes to standard output.
pub fn print_bytes(bytes: &[u8]) -> Result<(), CommandError> {
    write_all(Target::Stdout, bytes).map_err(|error| cannot_write(&error))
}

/// Writes a line to standard error. A note that cannot be written is lost: nobody reads it.
pub fn print_note(line: &str) {
    let _ = write_all(Target::Stderr, format!("{line}\n").as_bytes());
}

/// Writes a question to standard error, without the end of a line.
pub fn print_prompt(text: &str) {
    let _ = write_all(Target::Stderr, text.as_bytes());
}

/// Writes a JSON value as one line.
pub fn print_json(value: &Value) -> Result<(), CommandError> {
    print_line(&escape::json(value))
}

/// Writes a list: a JSON object on each line, or these lines.
pub fn print_list<T: Serialize>(
    all: &[T],
    json: bool,
    lines: impl FnOnce(&[T]) -> Vec<String>,
) -> Result<(), CommandError> {
    if json {
        return all.iter().try_for_each(|one| print_json(&view::object(one)));
    }
    lines(all).iter().try_for_each(|line| print_line(line))
}

fn cannot_write(error: &io::Error) -> CommandError {
    if error.kind() == io::ErrorKind::BrokenPipe {
        CommandError::new(ErrorKind::ReaderGone, "the reader of the output has closed it")
    } else {
        CommandError::internal(format!("cannot write the output: {error}"))
    }
}
