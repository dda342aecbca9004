//! Sends a socket's input to the program: in order, each byte once, with a limited buffer.

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

/// The maximum input that the program has not read yet; beyond it the socket is not read further.
const MAX_BUFFERED_BYTES: usize = 1 << 20;
/// Waiting frames are written together, up to this size.
const MAX_JOINED_BYTES: usize = 256 << 10;

/// How long a server that is shutting down waits for programs to read their input.
const SHUTDOWN_WRITE_TIMEOUT: Duration = Duration::from_secs(1);

enum Item {
    Bytes(Bytes, OwnedSemaphorePermit),
    Eof,
}

/// The input of an execution. Accepted input is written even if the socket is closed.
pub(crate) struct Input {
    gateway: Arc<Gateway>,
    id: ExecutionId,
    shared: Arc<Shared>,
    permits: Arc<Semaphore>,
    /// Sends to the task that writes, which starts with the first input.
    items: Option<mpsc::UnboundedSender<Item>>,
}

impl Input {
    pub(crate) fn new(gateway: Arc<Gateway>, id: ExecutionId, shared: Arc<Shared>) -> Self {
        Self { gateway, id, shared, permits: Arc::new(Semaphore::new(MAX_BUFFERED_BYTES)), items: None }
    }

    /// Accepts input, once there is space for it.
    pub(crate) async fn write(&mut self, bytes: Bytes) {
        let wanted = u32::try_from(bytes.len().min(MAX_BUFFERED_BYTES)).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        if let Ok(permit) = Arc::clone(&self.permits).acquire_many_owned(wanted).await {
            self.put(Item::Bytes(bytes, permit));
        }
    }

    /// Accepts the end of the input.
    pub(crate) fn end(&mut self) {
        self.put(Item::Eof);
    }

    /// Whether all accepted input has reached the program's terminal or pipe.
    pub(crate) fn is_written(&self) -> bool {
        self.permits.available_permits() == MAX_BUFFERED_BYTES
    }

    fn put(&mut self, item: Item) {
        let items = self.items.get_or_insert_with(|| {
            let (sender, receiver) = mpsc::unbounded_channel();
            let writer = InputWriter {
                gateway: Arc::clone(&self.gateway),
                id: self.id,
                shared: Arc::clone(&self.shared),
                writer: None,
            };
            let stopping = self.gateway.background.stopping.clone();
            self.gateway.background.tasks.spawn(async move {
                tokio::select! {
                    () = writer.run(receiver) => {}
                    () = stopping.cancelled().then(|()| sleep(SHUTDOWN_WRITE_TIMEOUT)) => {}
                }
            });
            sender
        });
        // The task ends only when this sender is gone.
        let _ = items.send(item);
    }
}

struct InputWriter {
    gateway: Arc<Gateway>,
    id: ExecutionId,
    shared: Arc<Shared>,
    writer: Option<StdinWriter>,
}

impl InputWriter {
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
                Item::Bytes(bytes, permit) => {
                    let mut permits = vec![permit];
                    let bytes = join(bytes, &mut permits, &mut items, &mut next);
                    self.write(bytes).await
                }
            };
            if let Err(error) = result {
                self.writer = None;
                self.shared.send_error(error.into());
            }
        }
    }

    /// Writes across restarts of the worker, which knows which bytes it has. (Not if two clients write to one
    /// program at the moment it is killed: the position then counts the bytes of both.)
    async fn write(&mut self, bytes: Bytes) -> Result<(), ContractError> {
        let writer = self.open().await?;
        let at = writer.offset();
        let mut result = writer.write(bytes.clone()).await;
        let mut attempts = reconnect_backoff();
        while matches!(&result, Err(error) if error.is_disconnected()) && attempts.pause().await {
            self.writer = None;
            result = self.open().await?.write_again(at, bytes.clone()).await;
        }
        if result.is_ok() {
            self.gateway.metrics.received_stdin(bytes.len());
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

/// Joins the bytes of the waiting items, from `first` on; an item of another kind becomes `next`.
fn join(
    first: Bytes,
    permits: &mut Vec<OwnedSemaphorePermit>,
    items: &mut mpsc::UnboundedReceiver<Item>,
    next: &mut Option<Item>,
) -> Bytes {
    let mut joined: Option<BytesMut> = None;
    while joined.as_ref().map_or(first.len(), BytesMut::len) < MAX_JOINED_BYTES {
        match items.try_recv() {
            Ok(Item::Bytes(bytes, permit)) => {
                let joined = joined.get_or_insert_with(|| BytesMut::from(&first[..]));
                joined.extend_from_slice(&bytes);
                permits.push(permit);
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
