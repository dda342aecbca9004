//! What a client sends: frames, one after the other, for whoever listens.

use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::SplitStream;
use tokio::time::timeout;
use tungstenite::Error;
use tungstenite::error::ProtocolError;

use super::shared::Shared;
use crate::error::ApiError;

/// Why nothing more comes from a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gone {
    /// It said so, or its connection broke.
    Closed,
    /// It answers no pings.
    Silent,
    /// It sent more than a message may have.
    TooLarge,
    /// It does not speak as WebSocket clients do.
    Broken,
}

/// Does what frames ask for. An error is told to the client, and the socket stays open.
pub(crate) trait Listener: Send {
    /// A binary frame.
    fn binary(&mut self, frame: Bytes) -> impl Future<Output = Result<(), ApiError>> + Send;
    /// A text frame.
    fn text(&mut self, frame: &str) -> impl Future<Output = Result<(), ApiError>> + Send;
}

/// Takes frames until there are no more. Where input waits for room, so does the socket.
pub(crate) async fn receive<L: Listener>(
    listener: &mut L,
    stream: &mut SplitStream<WebSocket>,
    shared: &Shared,
    patience: Duration,
) -> Gone {
    loop {
        let Ok(message) = timeout(patience, stream.next()).await else {
            return Gone::Silent;
        };
        let done = match message {
            None | Some(Ok(Message::Close(_))) => return Gone::Closed,
            Some(Err(error)) => return why(error),
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue, // answered below us; it lives
            Some(Ok(Message::Binary(frame))) => listener.binary(frame).await,
            Some(Ok(Message::Text(frame))) => listener.text(&frame).await,
        };
        if let Err(error) = done {
            shared.tell(error);
        }
    }
}

/// A connection that breaks is no news; a message that is too large or senseless is told to who sent it.
fn why(error: axum::Error) -> Gone {
    match error.into_inner().downcast::<Error>().as_deref() {
        Ok(Error::Capacity(_)) => Gone::TooLarge,
        Ok(Error::Protocol(ProtocolError::ResetWithoutClosingHandshake)) => Gone::Closed,
        Ok(Error::Protocol(_) | Error::Utf8(_)) => Gone::Broken,
        _ => Gone::Closed,
    }
}

#[cfg(test)]
mod tests {
    use tungstenite::error::CapacityError;

    use super::*;

    #[test]
    fn the_type_of_an_error_says_why_a_client_is_gone() {
        let of = |error: Error| why(axum::Error::new(error));
        let large = CapacityError::MessageTooLong { size: 2, max_size: 1 };
        assert_eq!(of(Error::Capacity(large)), Gone::TooLarge);
        assert_eq!(of(Error::Protocol(ProtocolError::UnmaskedFrameFromClient)), Gone::Broken);
        assert_eq!(of(Error::Utf8("words".into())), Gone::Broken);
        assert_eq!(of(Error::Protocol(ProtocolError::ResetWithoutClosingHandshake)), Gone::Closed);
        assert_eq!(of(Error::Io(std::io::Error::other("message too long"))), Gone::Closed);
        assert_eq!(why(axum::Error::new(std::io::Error::other("protocol"))), Gone::Closed);
    }
}
