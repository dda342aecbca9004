//! A connection that carries server-sent events.

use std::time::Duration;

use headwater_protocol::api::read_event;
use headwater_protocol::{Event, ExecutionId};
use headwater_sse::{Message, Parser};
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::{RequestBuilder, Response};
use tokio::time::{Instant, timeout};

use crate::Result;
use crate::client::Client;
use crate::error::{ApiError, ClientError};

/// A connection that has lasted this long counts as stable, even if no event came.
pub(crate) const STABLE_AFTER: Duration = Duration::from_secs(10);

/// The largest event: 4 MiB of output, each byte of which may take six in JSON, with a margin.
const MAX_EVENT_BYTES: usize = 64 << 20;

/// An event, or why there is none.
#[derive(Debug)]
pub(crate) enum Received {
    /// An event of the log.
    Event(Event),
    /// The server is shutting down: reconnect.
    Reconnect,
    /// The server ended the stream.
    End,
}

/// An open connection and its parser.
#[derive(Debug)]
pub(crate) struct Messages {
    client: Client,
    answer: Response,
    parser: Parser,
    opened: Instant,
    /// Whether an event has come.
    pub(crate) has_received: bool,
}

impl Messages {
    /// Sends the request and checks that the answer is an event stream.
    pub(crate) async fn open(client: &Client, request: RequestBuilder) -> Result<Self> {
        let request = request.header("Accept", "text/event-stream").header("Cache-Control", "no-store");
        let answer = timeout(client.idle_timeout(), client.send(request)).await.map_err(|_| silent())??;
        let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.to_ascii_lowercase().starts_with("text/event-stream") {
            return Err(ClientError::Malformed(format!("expected a stream of events, got `{kind}`")));
        }
        let (parser, opened) = (Parser::new(MAX_EVENT_BYTES), Instant::now());
        Ok(Self { client: client.clone(), answer, parser, opened, has_received: false })
    }

    /// Whether the connection worked.
    pub(crate) fn was_stable(&self) -> bool {
        self.has_received || self.opened.elapsed() >= STABLE_AFTER
    }

    /// The next message; `None` if the server ended the stream. Cancelling this future loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Option<Message>> {
        loop {
            if let Some(message) = self.parser.next().map_err(ClientError::malformed)? {
                return match &message.event[..] {
                    b"error" => Err(ClientError::Api(Box::new(ApiError::read(0, None, &message.data)))),
                    _ => Ok(Some(message)),
                };
            }
            match timeout(self.client.idle_timeout(), self.answer.chunk()).await {
                Err(_) => return Err(silent()),
                Ok(Ok(Some(chunk))) => self.parser.push(chunk),
                Ok(Ok(None)) => return Ok(None),
                Ok(Err(error)) => return Err(self.client.request_error(&error)),
            }
        }
    }
}

/// The stream of an execution's log.
#[derive(Debug)]
pub(crate) struct EventStream(Messages);

impl EventStream {
    /// Opens it.
    pub(crate) async fn open(client: &Client, request: RequestBuilder) -> Result<Self> {
        Messages::open(client, request).await.map(Self)
    }

    /// The id of the execution, if the answer's headers contain it.
    pub(crate) fn execution_id(&self) -> Option<ExecutionId> {
        let place = self.0.answer.headers().get(LOCATION)?.to_str().ok()?;
        place.split('/').find_map(|part| part.parse().ok())
    }

    /// Whether the connection worked.
    pub(crate) fn was_stable(&self) -> bool {
        self.0.was_stable()
    }

    /// Whether an event has come.
    pub(crate) const fn has_received(&self) -> bool {
        self.0.has_received
    }

    /// The next event. Cancelling this future loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Received> {
        while let Some(message) = self.0.next().await? {
            match &message.event[..] {
                b"started" | b"stdout" | b"stderr" | b"output" | b"gap" | b"exited" | b"closed" => {
                    self.0.has_received = true;
                    return read_event(&message.data).map(Received::Event).map_err(ClientError::malformed);
                }
                b"reconnect" => return Ok(Received::Reconnect),
                // A newer server may send unknown events.
                _ => {}
            }
        }
        Ok(Received::End)
    }
}

pub(crate) fn silent() -> ClientError {
    ClientError::Disconnected("the server has sent nothing for too long".into())
}
