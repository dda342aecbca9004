//! Long work on a blocking thread, whose results are streamed as fast as the reader takes them.

use std::cell::RefCell;
use std::io::{self, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::poll_fn;
use futures_util::{Stream, StreamExt};
use headwater_contract::{Fault, FaultKind, v1};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::timeout;
use tonic::Status;

use headwater_limits::permits::{Permit, Permits};

/// Messages that wait for the reader.
const MAX_QUEUED_MESSAGES: usize = 4;
/// A reader that takes no message for this long is given up. The gateway ends its own clients sooner.
const READ_TIMEOUT: Duration = Duration::from_mins(2);
/// The bytes of an archive in one message.
const CHUNK_BYTES: usize = 64 << 10;

/// The response of a streaming call.
pub(crate) type ResponseStream<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Sends the results of the work to the reader.
#[derive(Debug)]
pub(crate) struct ResponseSender<T> {
    queue: Sender<Result<T, Status>>,
    permit: RefCell<Permit>,
    /// The semaphore of `permit.work`, to acquire it again after a wait.
    work_permits: Option<Arc<Semaphore>>,
    runtime: Handle,
    read_timeout: Duration,
    /// Set when the reader was given up: what it has is not complete.
    timed_out: Arc<AtomicBool>,
}

impl<T> ResponseSender<T> {
    /// Sends a message, waiting while the queue is full. False if the reader is gone or was given up.
    pub(crate) fn send(&self, message: T) -> bool {
        match self.queue.try_send(Ok(message)) {
            Ok(()) => true,
            Err(TrySendError::Closed(_)) => false,
            Err(TrySendError::Full(message)) => self.wait(message),
        }
    }

    /// The reader is slow: releases the work permit while it waits.
    fn wait(&self, message: Result<T, Status>) -> bool {
        self.permit.borrow_mut().work = None;
        let sent = self.runtime.block_on(timeout(self.read_timeout, self.queue.send(message)));
        if !matches!(sent, Ok(Ok(()))) {
            self.timed_out.store(true, Ordering::Relaxed);
            return false;
        }
        if let Some(work_permits) = &self.work_permits {
            self.permit.borrow_mut().work =
                self.runtime.block_on(Arc::clone(work_permits).acquire_owned()).ok();
        }
        true
    }

    /// Whether the reader is still connected.
    pub(crate) fn is_open(&self) -> bool {
        !self.queue.is_closed()
    }
}

/// The messages of a queue as a stream.
pub(crate) fn responses<T: Send + 'static>(mut receiver: Receiver<Result<T, Status>>) -> ResponseStream<T> {
    Box::pin(poll_fn(move |cx| receiver.poll_recv(cx)))
}

/// Runs `work` on a blocking thread. If it fails, the fault is the last message.
pub(crate) fn run<T: Send + 'static>(
    permits: &Permits,
    permit: Permit,
    work: impl FnOnce(&ResponseSender<T>) -> Result<(), Fault> + Send + 'static,
) -> ResponseStream<T> {
    let (queue, receiver) = mpsc::channel(MAX_QUEUED_MESSAGES);
    let (work_permits, runtime) = (permits.work.clone(), Handle::current());
    let timed_out = Arc::new(AtomicBool::new(false));
    let (permit, has_timed_out) = (RefCell::new(permit), Arc::clone(&timed_out));
    let sender =
        ResponseSender { queue, permit, work_permits, runtime, read_timeout: READ_TIMEOUT, timed_out };
    tokio::task::spawn_blocking(move || {
        if let Err(fault) = work(&sender)
            && !sender.timed_out.load(Ordering::Relaxed)
        {
            sender.wait(Err(fault.into()));
        }
    });
    // A reader that comes back must not take the end of the messages for the end of the result.
    let end = poll_fn(move |_| {
        Poll::Ready(has_timed_out.swap(false, Ordering::Relaxed).then(|| Err(unread().into())))
    });
    Box::pin(responses(receiver).chain(end))
}

fn unread() -> Fault {
    Fault::new(FaultKind::Unavailable, "the response was not read in time")
        .hint("try again and read continuously")
}

/// Writes bytes as messages of [`CHUNK_BYTES`].
#[derive(Debug)]
pub(crate) struct Chunks<'a> {
    sender: &'a ResponseSender<v1::PackResponse>,
    chunk: Vec<u8>,
}

impl<'a> Chunks<'a> {
    pub(crate) fn new(sender: &'a ResponseSender<v1::PackResponse>) -> Self {
        Self { sender, chunk: Vec::with_capacity(CHUNK_BYTES) }
    }

    fn send(&mut self) -> io::Result<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        let data = Bytes::from(std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK_BYTES)));
        let sent = self.sender.send(v1::PackResponse { data, ..v1::PackResponse::default() });
        if sent { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use headwater_protocol::SessionId;

    use super::*;
    use headwater_limits::permits::PermitLimits;

    fn sender(
        permits: &Permits,
        read_timeout: Duration,
    ) -> (ResponseSender<u32>, Receiver<Result<u32, Status>>) {
        let (queue, receiver) = mpsc::channel(1);
        let permit = RefCell::new(permits.try_acquire("ann", SessionId::random(), "searches").unwrap());
        let (work_permits, runtime) = (permits.work.clone(), Handle::current());
        (
            ResponseSender { queue, permit, work_permits, runtime, read_timeout, timed_out: Arc::default() },
            receiver,
        )
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_reader_that_takes_nothing_keeps_nobody_from_working_and_is_given_up() {
        let permits = Permits::new(PermitLimits { total: 4, per_owner: 4, per_session: 4 }, Some(1));
        let (stuck, unread) = sender(&permits, Duration::from_millis(200));
        let (report, reported) = channel();
        let work = tokio::task::spawn_blocking(move || {
            report.send(stuck.send(1)).unwrap();
            report.send(stuck.send(2)).unwrap();
        });
        assert!(reported.recv().unwrap(), "the queue holds one message");
        // Its work permit is free while it waits, and another call completes.
        let (other, mut read) = loop {
            if permits.work.as_ref().unwrap().available_permits() > 0 {
                break sender(&permits, Duration::from_mins(1));
            }
            tokio::task::yield_now().await;
        };
        tokio::task::spawn_blocking(move || assert!(other.send(7))).await.unwrap();
        assert_eq!(read.recv().await.unwrap().unwrap(), 7);
        assert!(!reported.recv().unwrap(), "the reader is given up");
        work.await.unwrap();
        drop(unread);
        assert_eq!(permits.total.available_permits(), 4);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_slow_reader_gets_everything() {
        let permits = Permits::new(PermitLimits { total: 4, per_owner: 4, per_session: 4 }, Some(1));
        let (slow, mut read) = sender(&permits, Duration::from_mins(1));
        let work = tokio::task::spawn_blocking(move || (0..100).all(|n| slow.send(n)));
        for n in 0..100 {
            tokio::task::yield_now().await;
            assert_eq!(read.recv().await.unwrap().unwrap(), n);
        }
        assert!(work.await.unwrap());
    }
}
