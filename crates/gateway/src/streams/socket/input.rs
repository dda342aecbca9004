//! A socket's input on its way to the program: in order, each byte once, and no more in hand than a bound.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use headwater_contract::{ContractError, StdinWriter, reconnect_backoff};
use headwater_protocol::ExecutionId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::sleep;

use super::shared::Shared;
use crate::state::Gateway;

/// Input that the program has not taken yet; with so much in hand the socket is not read further.
const MAX_BYTES: usize = 1 << 20;
/// Frames that wait are written together, up to so much.
const JOIN_BYTES: usize = 256 << 10;

/// A server that ends does not wait any longer for a program to take its input.
const LAST_WRITES: Duration = Duration::from_secs(1);

enum Item {
    Bytes(Bytes, OwnedSemaphorePermit),
    Eof,
}

/// The way to the input of an execution. What was taken is written also when the socket is gone.
pub(crate) struct Input {
    gateway: Arc<Gateway>,
    id: ExecutionId,
    shared: Arc<Shared>,
    room: Arc<Semaphore>,
    /// To the task that writes; it begins with the first input.
    items: Option<mpsc::UnboundedSender<Item>>,
}

impl Input {
    pub(crate) fn new(gateway: Arc<Gateway>, id: ExecutionId, shared: Arc<Shared>) -> Self {
        Self { gateway, id, shared, room: Arc::new(Semaphore::new(MAX_BYTES)), items: None }
    }

    /// Takes input, when there is room for it.
    pub(crate) async fn write(&mut self, bytes: Bytes) {
        let wanted = u32::try_from(bytes.len().min(MAX_BYTES)).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        if let Ok(room) = Arc::clone(&self.room).acquire_many_owned(wanted).await {
            self.put(Item::Bytes(bytes, room));
        }
    }

    /// Takes the end of the input.
    pub(crate) fn end(&mut self) {
        self.put(Item::Eof);
    }

    /// Whether all that was taken is with the program's terminal or pipe.
    pub(crate) fn is_through(&self) -> bool {
        self.room.available_permits() == MAX_BYTES
    }

    fn put(&mut self, item: Item) {
        let items = self.items.get_or_insert_with(|| {
            let (sender, receiver) = mpsc::unbounded_channel();
            let feeder = Feeder {
                gateway: Arc::clone(&self.gateway),
                id: self.id,
                shared: Arc::clone(&self.shared),
                writer: None,
            };
            let stopping = self.gateway.background.stopping.clone();
            self.gateway.background.tasks.spawn(async move {
                tokio::select! {
                    () = feeder.run(receiver) => {}
                    () = stopping.cancelled().then(|()| sleep(LAST_WRITES)) => {}
                }
            });
            sender
        });
        // The task ends only when this sender is gone.
        let _ = items.send(item);
    }
}

struct Feeder {
    gateway: Arc<Gateway>,
    id: ExecutionId,
    shared: Arc<Shared>,
    writer: Option<StdinWriter>,
}

impl Feeder {
    async fn run(mut self, mut items: mpsc::UnboundedReceiver<Item>) {
        let mut next = None;
        loop {
            let item = match next.take() {
                Some(item) => item,
                None => match items.recv().await {
                    Some(item) => item,
                    None => return,
                },
            };
            let result = match item {
                Item::Eof => self.end().await,
                Item::Bytes(bytes, room) => {
                    let mut rooms = vec![room];
                    let bytes = join(bytes, &mut rooms, &mut items, &mut next);
                    self.write(bytes).await
                }
            };
            if let Err(error) = result {
                self.writer = None;
                self.shared.tell(error.into());
            }
        }
    }

    /// Writes over restarts of the worker: it knows which bytes it has. (Not where two write to one program at the very
    /// time it is killed: then the position is that of both.)
    async fn write(&mut self, bytes: Bytes) -> Result<(), ContractError> {
        let writer = self.open().await?;
        let at = writer.offset();
        let mut result = writer.write(bytes.clone()).await;
        let mut attempts = reconnect_backoff();
        while matches!(&result, Err(error) if error.is_disconnected()) && attempts.pause().await {
            self.writer = None;
            result = self.open().await?.write_again(at, bytes.clone()).await;
        }
        result
    }

    async fn end(&mut self) -> Result<(), ContractError> {
        let mut result = self.open().await?.end().await;
        let mut attempts = reconnect_backoff();
        while matches!(&result, Err(error) if error.is_disconnected()) && attempts.pause().await {
            self.writer = None;
            result = self.open().await?.end().await;
        }
        result
    }

    async fn open(&mut self) -> Result<&mut StdinWriter, ContractError> {
        let writer = if let Some(writer) = self.writer.take() {
            writer
        } else {
            self.gateway.worker.stdin(self.id).await?
        };
        Ok(self.writer.insert(writer))
    }
}

/// The bytes of the items that wait, from `first` on; what is not bytes is put by.
fn join(
    first: Bytes,
    rooms: &mut Vec<OwnedSemaphorePermit>,
    items: &mut mpsc::UnboundedReceiver<Item>,
    next: &mut Option<Item>,
) -> Bytes {
    let mut joined: Option<BytesMut> = None;
    while joined.as_ref().map_or(first.len(), BytesMut::len) < JOIN_BYTES {
        match items.try_recv() {
            Ok(Item::Bytes(bytes, room)) => {
                let joined = joined.get_or_insert_with(|| BytesMut::from(&first[..]));
                joined.extend_from_slice(&bytes);
                rooms.push(room);
            }
            Ok(item) => {
                *next = Some(item);
                break;
            }
            Err(_) => break,
        }
    }
    joined.map_or(first, BytesMut::freeze)
}
