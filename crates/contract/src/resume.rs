//! A stream from the worker that continues over restarts of the worker.

use std::time::Duration;

use tokio::time::Instant;
use tonic::Streaming;

use crate::backoff::Backoff;
use crate::client::Client;
use crate::error::ContractError;
use crate::retry::reconnect_backoff;

type Result<T> = std::result::Result<T, ContractError>;

/// A stream that lasted this long counts as stable: the next failure starts a new series of attempts.
const STABLE_AFTER: Duration = Duration::from_secs(1);

/// A stream that is opened again when the connection breaks. The caller knows the position to continue from.
#[derive(Debug)]
pub(crate) struct ResumingStream<T> {
    client: Client,
    stream: Option<Streaming<T>>,
    /// Whether the stream has to be replaced; it stays open until the new one is open.
    is_stale: bool,
    /// Limits reopening of streams that break at once.
    attempts: Backoff,
    opened: Instant,
}

impl<T> ResumingStream<T> {
    /// Continues an open stream; without one, the first call of [`next`](Self::next) opens it.
    pub(crate) fn new(client: Client, stream: Option<Streaming<T>>) -> Self {
        Self { client, stream, is_stale: false, attempts: reconnect_backoff(), opened: Instant::now() }
    }

    /// Makes the next message come from a new stream.
    pub(crate) const fn replace(&mut self) {
        self.is_stale = true;
    }

    /// The next message, or `None` after the last. `open` opens the stream at the caller's position. Dropping
    /// the future loses nothing.
    pub(crate) async fn next<F>(&mut self, open: impl Fn(Client) -> F) -> Result<Option<T>>
    where
        F: Future<Output = Result<Streaming<T>>>,
    {
        loop {
            // Rare branches are boxed: thousands of followers wait here, and a future is as large as its
            // largest branch.
            let stream = match &mut self.stream {
                Some(stream) if !self.is_stale => stream,
                _ => {
                    Box::pin(self.open(&open)).await?;
                    continue;
                }
            };
            match stream.message().await.map_err(ContractError::from) {
                Err(error) if error.is_disconnected() => {
                    self.stream = None;
                    if self.opened.elapsed() >= STABLE_AFTER {
                        self.attempts.reset();
                    }
                    Box::pin(self.client.recover(&mut self.attempts, error)).await?;
                }
                message => return message,
            }
        }
    }

    async fn open<F>(&mut self, open: impl Fn(Client) -> F) -> Result<()>
    where
        F: Future<Output = Result<Streaming<T>>>,
    {
        let stream = self.client.retry_within(&mut self.attempts, |client| open(client.clone())).await?;
        (self.stream, self.is_stale, self.opened) = (Some(stream), false, Instant::now());
        Ok(())
    }
}
