//! Work that takes long, in a thread of its own, told in messages as fast as somebody takes them.

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

use headwater_limits::permits::{Place, Places};

/// Messages that wait for their reader.
const MESSAGES: usize = 4;
/// A reader that takes nothing for so long has gone away, or might as well have. The gateway ends its own clients sooner.
const PATIENCE: Duration = Duration::from_mins(2);
/// The bytes of an archive in one message.
const CHUNK_BYTES: usize = 64 << 10;

/// What a call that streams answers with.
pub(crate) type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Where the work tells what it has found.
#[derive(Debug)]
pub(crate) struct Teller<T> {
    sender: Sender<Result<T, Status>>,
    place: RefCell<Place>,
    /// The turns that the place's is one of, ...
    turns: Option<Arc<Semaphore>>,
    /// ... and how to wait for one.
    runtime: Handle,
    patience: Duration,
    /// Set when the reader took nothing for that long: what it has is not whole.
    given_up: Arc<AtomicBool>,
}

impl<T> Teller<T> {
    /// Waits until there is room; false when nobody listens any more, or takes nothing for long.
    pub(crate) fn tell(&self, message: T) -> bool {
        match self.sender.try_send(Ok(message)) {
            Ok(()) => true,
            Err(TrySendError::Closed(_)) => false,
            Err(TrySendError::Full(message)) => self.wait(message),
        }
    }

    /// The reader is slow: others may work meanwhile.
    fn wait(&self, message: Result<T, Status>) -> bool {
        self.place.borrow_mut().turn = None;
        let sent = self.runtime.block_on(timeout(self.patience, self.sender.send(message)));
        if !matches!(sent, Ok(Ok(()))) {
            self.given_up.store(true, Ordering::Relaxed);
            return false;
        }
        if let Some(turns) = &self.turns {
            self.place.borrow_mut().turn = self.runtime.block_on(Arc::clone(turns).acquire_owned()).ok();
        }
        true
    }

    pub(crate) fn is_heard(&self) -> bool {
        !self.sender.is_closed()
    }
}

/// The messages as they come.
pub(crate) fn answers<T: Send + 'static>(mut receiver: Receiver<Result<T, Status>>) -> Answers<T> {
    Box::pin(poll_fn(move |cx| receiver.poll_recv(cx)))
}

/// Begins the work. What goes wrong with it is the last message.
pub(crate) fn work<T: Send + 'static>(
    places: &Places,
    place: Place,
    work: impl FnOnce(&Teller<T>) -> Result<(), Fault> + Send + 'static,
) -> Answers<T> {
    let (sender, receiver) = mpsc::channel(MESSAGES);
    let (turns, runtime) = (places.working.clone(), Handle::current());
    let given_up = Arc::new(AtomicBool::new(false));
    let (place, is_given_up) = (RefCell::new(place), Arc::clone(&given_up));
    let teller = Teller { sender, place, turns, runtime, patience: PATIENCE, given_up };
    tokio::task::spawn_blocking(move || {
        if let Err(fault) = work(&teller)
            && !teller.given_up.load(Ordering::Relaxed)
        {
            teller.wait(Err(fault.into()));
        }
    });
    // A reader that comes back after all must not take the end of what was sent for the end of it all.
    let end = poll_fn(move |_| {
        Poll::Ready(is_given_up.swap(false, Ordering::Relaxed).then(|| Err(unread().into())))
    });
    Box::pin(answers(receiver).chain(end))
}

fn unread() -> Fault {
    Fault::new(FaultKind::Unavailable, "the answer was not read in time").hint("ask again, and read on")
}

/// Bytes that become messages.
#[derive(Debug)]
pub(crate) struct Chunks<'a> {
    teller: &'a Teller<v1::PackResponse>,
    chunk: Vec<u8>,
}

impl<'a> Chunks<'a> {
    pub(crate) fn new(teller: &'a Teller<v1::PackResponse>) -> Self {
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use headwater_protocol::SessionId;

    use super::*;
    use headwater_limits::permits::Most;

    fn teller(places: &Places, patience: Duration) -> (Teller<u32>, Receiver<Result<u32, Status>>) {
        let (sender, receiver) = mpsc::channel(1);
        let place = RefCell::new(places.take("ann", SessionId::random(), "searches").unwrap());
        let (turns, runtime) = (places.working.clone(), Handle::current());
        (Teller { sender, place, turns, runtime, patience, given_up: Arc::default() }, receiver)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_reader_that_takes_nothing_keeps_nobody_from_working_and_is_given_up() {
        let places = Places::new(Most { all: 4, of_owner: 4, of_session: 4 }, Some(1));
        let (stuck, unread) = teller(&places, Duration::from_millis(200));
        let (said, told) = channel();
        let work = tokio::task::spawn_blocking(move || {
            said.send(stuck.tell(1)).unwrap();
            said.send(stuck.tell(2)).unwrap();
        });
        assert!(told.recv().unwrap(), "there is room for one");
        // Its turn is free while it waits, and another one works to its end.
        let (other, mut read) = loop {
            if places.working.as_ref().unwrap().available_permits() > 0 {
                break teller(&places, Duration::from_mins(1));
            }
            tokio::task::yield_now().await;
        };
        tokio::task::spawn_blocking(move || assert!(other.tell(7))).await.unwrap();
        assert_eq!(read.recv().await.unwrap().unwrap(), 7);
        assert!(!told.recv().unwrap(), "it is given up");
        work.await.unwrap();
        drop(unread);
        assert_eq!(places.all.available_permits(), 4);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_slow_reader_gets_everything() {
        let places = Places::new(Most { all: 4, of_owner: 4, of_session: 4 }, Some(1));
        let (slow, mut read) = teller(&places, Duration::from_mins(1));
        let work = tokio::task::spawn_blocking(move || (0..100).all(|n| slow.tell(n)));
        for n in 0..100 {
            tokio::task::yield_now().await;
            assert_eq!(read.recv().await.unwrap().unwrap(), n);
        }
        assert!(work.await.unwrap());
    }
}
