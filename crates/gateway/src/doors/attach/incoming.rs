//! What a client sends: frames become input, signals, sizes and credits.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use futures_util::StreamExt;
use futures_util::stream::SplitStream;
use headwater_contract::ContractError;
use headwater_protocol::ExecutionId;
use tokio::time::timeout;

use super::frames::{Command, parse_binary, parse_text};
use super::input::Input;
use super::shared::Shared;
use crate::auth::Identity;
use crate::error::ApiError;
use crate::insist::insist;
use crate::state::Gateway;

/// Why nothing more comes from a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gone {
    /// It said so, or its connection broke.
    Closed,
    /// It answers no pings.
    Silent,
    /// It sent more than a message may have.
    TooLarge,
    /// It does not speak as WebSocket clients do.
    Broken,
}

/// The receiving half of a socket.
pub(super) struct Incoming {
    pub(super) gateway: Arc<Gateway>,
    pub(super) id: ExecutionId,
    pub(super) who: Identity,
    pub(super) shared: Arc<Shared>,
    pub(super) input: Input,
    /// Why this one may only look, if it may.
    pub(super) refusal: Option<ApiError>,
    pub(super) patience: Duration,
}

impl Incoming {
    /// Takes frames until there are no more. Where input waits for room, so does the socket.
    pub(super) async fn run(&mut self, stream: &mut SplitStream<WebSocket>) -> Gone {
        loop {
            let Ok(message) = timeout(self.patience, stream.next()).await else {
                return Gone::Silent;
            };
            let command = match message {
                None | Some(Ok(Message::Close(_))) => return Gone::Closed,
                Some(Err(error)) => return why(&error),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue, // answered below us; it lives
                Some(Ok(Message::Binary(frame))) => parse_binary(&frame),
                Some(Ok(Message::Text(frame))) => parse_text(&frame),
            };
            let done = match command {
                Ok(command) => self.obey(command).await,
                Err(error) => Err(error.into()),
            };
            if let Err(error) = done {
                self.shared.tell(error);
            }
        }
    }

    async fn obey(&mut self, command: Command) -> Result<(), ApiError> {
        if let Command::Credit(bytes) = command {
            self.shared.grant(bytes);
            return Ok(());
        }
        if let Some(refusal) = &self.refusal {
            return Err(refusal.clone());
        }
        match command {
            Command::Stdin(bytes) => self.input.write(bytes).await,
            Command::Eof => self.input.end(),
            other => self.ask(other).await?,
        }
        Ok(())
    }

    async fn ask(&self, command: Command) -> Result<(), ContractError> {
        let id = self.id;
        let calls = self.gateway.worker.calls();
        match command {
            Command::Resize(size) => {
                insist(calls, |worker| async move { worker.resize(id, size).await }).await?;
            }
            Command::Signal(signal) => {
                // Not asked again: a signal that comes twice is another thing.
                calls.signal(id, signal, false).await?;
                self.gateway.audit(&self.who, "execution.signal", id.to_string(), signal.to_string());
            }
            Command::Cancel => {
                insist(calls, |worker| async move { worker.cancel(id, None).await }).await?;
                self.gateway.audit(&self.who, "execution.cancel", id.to_string(), String::new());
            }
            Command::Stdin(_) | Command::Eof | Command::Credit(_) => {}
        }
        Ok(())
    }
}

/// A connection that breaks is no news; a message that is too large or senseless is told to who sent it.
fn why(error: &axum::Error) -> Gone {
    let text = error.to_string();
    if text.contains("too long") || text.contains("too large") {
        Gone::TooLarge
    } else if text.contains("protocol") || text.contains("UTF-8") {
        Gone::Broken
    } else {
        Gone::Closed
    }
}
