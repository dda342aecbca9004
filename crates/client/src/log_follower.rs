//! Following the log of a conversation: each entry exactly once, over any number of connections.

use headwater_protocol::conversation::{ConversationId, LogEntry};
use reqwest::Method;

use crate::Result;
use crate::client::Client;
use crate::error::ClientError;
use crate::retry::Retry;
use crate::stream::Messages;

/// The entries of one log, each exactly once. It does not end: a conversation may always go on.
#[derive(Debug)]
pub struct LogFollower {
    client: Client,
    id: ConversationId,
    after: u64,
    stream: Option<Messages>,
    retry: Retry,
}

impl LogFollower {
    /// Opens the stream. Fails at once if the server cannot be reached; a connection that breaks later is opened again.
    pub(crate) async fn open(client: Client, id: ConversationId, after: u64) -> Result<Self> {
        let retry = client.new_retry();
        let mut follower = Self { client, id, after, stream: None, retry };
        follower.connect().await?;
        Ok(follower)
    }

    /// The last entry that was returned, after which to continue.
    pub const fn position(&self) -> u64 {
        self.after
    }

    /// The next entry. Cancelling this future loses nothing.
    pub async fn next(&mut self) -> Result<LogEntry> {
        loop {
            let Some(stream) = self.stream.as_mut() else {
                self.reconnect().await?;
                continue;
            };
            match stream.next().await {
                Ok(Some(message)) if message.event[..] == *b"entry" => {
                    let entry: LogEntry =
                        serde_json::from_slice(&message.data).map_err(ClientError::malformed)?;
                    stream.has_received = true;
                    self.retry.reset();
                    if entry.seq > self.after {
                        self.after = entry.seq;
                        return Ok(entry);
                    }
                }
                Ok(Some(message)) if message.event[..] == *b"reconnect" => self.leave().await?,
                // A newer server may send unknown events.
                Ok(Some(_)) => {}
                Ok(None) => self.leave().await?,
                Err(error) if error.is_transient() => self.leave().await?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Leaves a connection that the server has ended; waits before the next one, unless this one worked.
    async fn leave(&mut self) -> Result<()> {
        if self.stream.take().is_some_and(|stream| stream.was_stable()) {
            self.retry.reset();
            return Ok(());
        }
        self.retry.pause(ClientError::Disconnected("the server is not ready".into())).await
    }

    /// Continues after the last entry when the server is running again.
    async fn reconnect(&mut self) -> Result<()> {
        loop {
            match self.connect().await {
                Err(error) if error.is_transient() => self.retry.pause(error).await?,
                opened => return opened,
            }
        }
    }

    async fn connect(&mut self) -> Result<()> {
        let url = self.client.route(&format!("v1/conversations/{}/log?after={}", self.id, self.after))?;
        self.stream = Some(Messages::open(&self.client, self.client.request(Method::GET, url)).await?);
        Ok(())
    }
}
