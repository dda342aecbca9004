//! Following a log: each event exactly once, over any number of connections.
//!
//! A follower continues by itself over broken connections and restarts of the server: it requests the events
//! after the last one that it delivered. A follower that also starts the execution repeats the same request
//! with the same key until the first event has come, so that nothing starts twice.

use bytes::Bytes;
use headwater_protocol::{Event, EventKind, ExecutionId, Seq};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, RequestBuilder};

use crate::Result;
use crate::client::Client;
use crate::error::ClientError;
use crate::executions::IdempotencyKey;
use crate::options::FollowOptions;
use crate::position::Position;
use crate::retry::Retry;
use crate::stream::{EventStream, Received};

/// A start request that is repeated until it is known to have succeeded.
#[derive(Debug)]
pub(crate) struct Start {
    /// The path of the route.
    pub(crate) path: String,
    /// The request, as JSON.
    pub(crate) body: Bytes,
    /// The key that makes repeating it safe.
    pub(crate) key: IdempotencyKey,
}

/// The events of one log, each exactly once, over any number of connections.
#[derive(Debug)]
pub struct Follower {
    client: Client,
    id: Option<ExecutionId>,
    start: Option<Start>,
    options: FollowOptions,
    position: Position,
    stream: Option<EventStream>,
    /// The first event, if it was read ahead.
    first: Option<Event>,
    retry: Retry,
    ended: bool,
}

impl Follower {
    /// Opens the stream; with `start`, starts the execution.
    ///
    /// Fails at once if the server cannot be reached: nothing was sent. A connection that breaks later is
    /// opened again.
    pub(crate) async fn open(
        client: Client,
        id: Option<ExecutionId>,
        options: FollowOptions,
        start: Option<Start>,
    ) -> Result<Self> {
        let (position, retry) = (Position::after(options.after), client.new_retry());
        let mut follower =
            Self { client, id, start, options, position, stream: None, first: None, retry, ended: false };
        match follower.reopen().await {
            Err(error @ ClientError::Disconnected(_)) => follower.retry.pause(error).await?,
            Err(error) if error.retry_after().is_some() && !error.is_disconnected() => {
                follower.retry.pause(error).await?;
            }
            opened => return opened.map(|()| follower),
        }
        follower.reconnect().await?;
        Ok(follower)
    }

    /// The id of the execution: known at once for a log, from the first answer for a run.
    pub const fn execution_id(&self) -> Option<ExecutionId> {
        self.id
    }

    /// The same, waiting for the first event if the first answer did not contain it.
    pub async fn identify(&mut self) -> Result<ExecutionId> {
        if self.id.is_none() && self.first.is_none() {
            self.first = self.advance().await?;
        }
        self.id.ok_or_else(|| ClientError::Malformed("the answer has no execution id".into()))
    }

    /// The last event that was delivered, after which to continue.
    pub const fn position(&self) -> Seq {
        self.position.seq()
    }

    /// The next event; `None` after the last requested one, or if the requested position is past the end of
    /// the log. Cancelling this future loses nothing.
    pub async fn next(&mut self) -> Result<Option<Event>> {
        match self.first.take() {
            Some(event) => Ok(Some(event)),
            None => self.advance().await,
        }
    }

    async fn advance(&mut self) -> Result<Option<Event>> {
        while !self.ended {
            let Some(stream) = self.stream.as_mut() else {
                self.reconnect().await?;
                continue;
            };
            match stream.next().await {
                Ok(Received::Event(event)) => {
                    if let Some(event) = self.deliver(event) {
                        return Ok(Some(event));
                    }
                }
                Ok(Received::Reconnect) => self.reconnect_later().await?,
                Ok(Received::End) => self.handle_end().await?,
                Err(error) if error.is_transient() => self.leave(),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn deliver(&mut self, event: Event) -> Option<Event> {
        self.retry.reset();
        if let EventKind::Started { execution_id, .. } = event.kind {
            self.id.get_or_insert(execution_id);
        }
        let event = self.position.pass(event)?;
        self.options.after = self.position.seq();
        if self.id.is_some() {
            self.start = None;
        }
        self.ended = self.options.ends_with(&event);
        if matches!(event.kind, EventKind::Output { .. }) {
            self.options.tail_bytes = None;
        }
        Some(event)
    }

    fn leave(&mut self) {
        if self.stream.take().is_some_and(|stream| stream.was_stable()) {
            self.retry.reset();
        }
    }

    /// The server asked to reconnect: at once, unless it sends nothing else.
    async fn reconnect_later(&mut self) -> Result<()> {
        let has_received = self.stream.as_ref().is_some_and(EventStream::has_received);
        self.leave();
        if has_received {
            return Ok(());
        }
        self.retry.pause(ClientError::Disconnected("the server is not ready".into())).await
    }

    /// The server ended the stream before the last requested event: it has no more events, or a proxy closed
    /// the connection. If it has no more, another request returns none.
    async fn handle_end(&mut self) -> Result<()> {
        let has_received = self.stream.as_ref().is_some_and(EventStream::has_received);
        self.leave();
        if has_received {
            return Ok(());
        }
        if let Some(id) = self.id {
            self.ended = self.client.has_ended(id, self.options.until_closed).await?;
        }
        if !self.ended {
            self.retry.pause(ClientError::Disconnected("the stream ended before the program".into())).await?;
        }
        Ok(())
    }

    /// Continues after the last event when the server is running again.
    async fn reconnect(&mut self) -> Result<()> {
        loop {
            match self.reopen().await {
                Err(error) if error.is_transient() => self.retry.pause(error).await?,
                opened => return opened,
            }
        }
    }

    async fn reopen(&mut self) -> Result<()> {
        let stream = EventStream::open(&self.client, self.request()?).await?;
        self.id = self.id.or_else(|| stream.execution_id());
        self.stream = Some(stream);
        Ok(())
    }

    fn request(&self) -> Result<RequestBuilder> {
        if let Some(start) = &self.start {
            let mut url = self.client.route(&start.path)?;
            self.options.write(&mut url);
            let request = self.client.request(Method::POST, url).header(CONTENT_TYPE, "application/json");
            return Ok(IdempotencyKey::on(Some(&start.key), request.body(start.body.clone())));
        }
        let id = self.id.ok_or_else(|| ClientError::Malformed("no answer had the execution id".into()))?;
        let mut url = self.client.route(&format!("v1/executions/{id}/events"))?;
        self.options.write(&mut url);
        Ok(self.client.request(Method::GET, url))
    }
}
