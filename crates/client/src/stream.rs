//! One connection that carries server-sent events.

use std::time::Duration;

use headwater_protocol::api::read_event;
use headwater_protocol::{Event, ExecutionId};
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::{RequestBuilder, Response};
use tokio::time::{Instant, timeout};

use crate::Result;
use crate::client::Client;
use crate::error::{ApiError, ClientError};
use crate::sse::Parser;

/// A connection that has lasted so long was a good one, even if nothing happened on it.
pub(crate) const STABLE_AFTER: Duration = Duration::from_secs(10);

/// What was heard.
#[derive(Debug)]
pub(crate) enum Received {
    /// An event of the log.
    Event(Event),
    /// The server is about to go: come back.
    Reconnect,
    /// The server ended the stream.
    End,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct EventStream {
    client: Client,
    answer: Response,
    parser: Parser,
    opened: Instant,
    /// Whether an event has come.
    has_received: bool,
}

impl EventStream {
    /// Opens it.
    pub(crate) async fn open(client: &Client, request: RequestBuilder) -> Result<Self> {
        let request = request.header("Accept", "text/event-stream").header("Cache-Control", "no-store");
        let answer = timeout(client.idle_timeout(), client.send(request)).await.map_err(|_| silent())??;
        let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.to_ascii_lowercase().starts_with("text/event-stream") {
            return Err(ClientError::Malformed(format!("expected a stream of events, got `{kind}`")));
        }
        let (parser, opened) = (Parser::default(), Instant::now());
        Ok(Self { client: client.clone(), answer, parser, opened, has_received: false })
    }

    /// Which execution this is, if the answer's head says so.
    pub(crate) fn execution_id(&self) -> Option<ExecutionId> {
        let place = self.answer.headers().get(LOCATION)?.to_str().ok()?;
        place.split('/').find_map(|part| part.parse().ok())
    }

    /// Whether the connection was of any use.
    pub(crate) fn was_stable(&self) -> bool {
        self.has_received || self.opened.elapsed() >= STABLE_AFTER
    }

    /// Whether an event has come.
    pub(crate) const fn has_received(&self) -> bool {
        self.has_received
    }

    /// What is heard next. Cancelling this loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Received> {
        loop {
            while let Some(message) = self.parser.next().map_err(ClientError::malformed)? {
                match &message.event[..] {
                    b"started" | b"stdout" | b"stderr" | b"output" | b"gap" | b"exited" | b"closed" => {
                        self.has_received = true;
                        return read_event(&message.data)
                            .map(Received::Event)
                            .map_err(ClientError::malformed);
                    }
                    b"reconnect" => return Ok(Received::Reconnect),
                    b"error" => {
                        return Err(ClientError::Api(Box::new(ApiError::read(0, None, &message.data))));
                    }
                    // A newer server may say more than we know.
                    _ => {}
                }
            }
            match timeout(self.client.idle_timeout(), self.answer.chunk()).await {
                Err(_) => return Err(silent()),
                Ok(Ok(Some(chunk))) => self.parser.push(chunk),
                Ok(Ok(None)) => return Ok(Received::End),
                Ok(Err(error)) => return Err(self.client.request_error(&error)),
            }
        }
    }
}

pub(crate) fn silent() -> ClientError {
    ClientError::Disconnected("nothing was heard of the server for a while".into())
}
