//! Work that takes long, in a thread of its own, told in messages as fast as somebody takes them.

use std::io::{self, Write};
use std::pin::Pin;

use bytes::Bytes;
use futures_util::Stream;
use headwater_contract::{Fault, v1};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tonic::Status;

use super::Place;

/// Messages that wait for their reader.
const MESSAGES: usize = 4;
/// The bytes of an archive in one message.
const CHUNK_BYTES: usize = 64 << 10;

/// What a call that streams answers with.
pub(super) type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Where the work tells what it has found.
#[derive(Debug, Clone)]
pub(super) struct Teller<T>(Sender<Result<T, Status>>);

impl<T> Teller<T> {
    /// Waits until there is room; false when nobody listens any more.
    pub(super) fn tell(&self, message: T) -> bool {
        self.0.blocking_send(Ok(message)).is_ok()
    }

    pub(super) fn is_heard(&self) -> bool {
        !self.0.is_closed()
    }
}

/// The messages as they come.
pub(super) fn answers<T: Send + 'static>(mut receiver: Receiver<Result<T, Status>>) -> Answers<T> {
    Box::pin(futures_util::stream::poll_fn(move |cx| receiver.poll_recv(cx)))
}

/// Begins the work. What goes wrong with it is the last message.
pub(super) fn work<T: Send + 'static>(
    permit: Place,
    work: impl FnOnce(&Teller<T>) -> Result<(), Fault> + Send + 'static,
) -> Answers<T> {
    let (sender, receiver) = mpsc::channel(MESSAGES);
    tokio::task::spawn_blocking(move || {
        let teller = Teller(sender);
        if let Err(fault) = work(&teller) {
            // Nobody may listen any more.
            let _ = teller.0.blocking_send(Err(fault.into()));
        }
        drop(permit);
    });
    answers(receiver)
}

/// Bytes that become messages.
#[derive(Debug)]
pub(super) struct Chunks<'a> {
    teller: &'a Teller<v1::PackResponse>,
    chunk: Vec<u8>,
}

impl<'a> Chunks<'a> {
    pub(super) fn new(teller: &'a Teller<v1::PackResponse>) -> Self {
        Self { teller, chunk: Vec::with_capacity(CHUNK_BYTES) }
    }

    fn send(&mut self) -> io::Result<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        let data = Bytes::from(std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK_BYTES)));
        let heard = self.teller.tell(v1::PackResponse { data, ..v1::PackResponse::default() });
        if heard { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    }
}

impl Write for Chunks<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = bytes.len().min(CHUNK_BYTES - self.chunk.len());
        self.chunk.extend_from_slice(bytes.get(..n).unwrap_or_default());
        if self.chunk.len() == CHUNK_BYTES {
            self.send()?;
        }
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()
    }
}
