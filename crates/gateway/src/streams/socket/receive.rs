//! Receives the frames of a client, one after the other, and passes them to a handler.

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

/// Why the client sends nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gone {
    /// It closed the socket, or the connection was lost.
    Closed,
    /// It did not answer pings.
    Silent,
    /// It sent a message that is too large.
    TooLarge,
    /// It violated the WebSocket protocol.
    Broken,
}

/// Handles frames. An error is sent to the client, and the socket stays open.
pub(crate) trait FrameHandler: Send {
    /// Handles a binary frame of the client.
    fn binary(&mut self, frame: Bytes) -> impl Future<Output = Result<(), ApiError>> + Send;
    /// Handles a text frame of the client.
    fn text(&mut self, frame: &str) -> impl Future<Output = Result<(), ApiError>> + Send;
}

/// Receives frames until there are no more. While input waits for space, the socket is not read.
pub(crate) async fn receive<L: FrameHandler>(
    handler: &mut L,
    stream: &mut SplitStream<WebSocket>,
    shared: &Shared,
    silence: Duration,
) -> Gone {
    loop {
        let Ok(message) = timeout(silence, stream.next()).await else {
            return Gone::Silent;
        };
        let done = match message {
            None | Some(Ok(Message::Close(_))) => return Gone::Closed,
            Some(Err(error)) => return reason(error),
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue, // the library answers them; the client is alive
            Some(Ok(Message::Binary(frame))) => handler.binary(frame).await,
            Some(Ok(Message::Text(frame))) => handler.text(&frame).await,
        };
        if let Err(error) = done {
            shared.send_error(error);
        }
    }
}

/// A lost connection needs no reply; a message that is too large or invalid gets a close code.
fn reason(error: axum::Error) -> Gone {
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
        let of = |error: Error| reason(axum::Error::new(error));
        let large = CapacityError::MessageTooLong { size: 2, max_size: 1 };
        assert_eq!(of(Error::Capacity(large)), Gone::TooLarge);
        assert_eq!(of(Error::Protocol(ProtocolError::UnmaskedFrameFromClient)), Gone::Broken);
        assert_eq!(of(Error::Utf8("words".into())), Gone::Broken);
        assert_eq!(of(Error::Protocol(ProtocolError::ResetWithoutClosingHandshake)), Gone::Closed);
        assert_eq!(of(Error::Io(std::io::Error::other("message too long"))), Gone::Closed);
        assert_eq!(reason(axum::Error::new(std::io::Error::other("protocol"))), Gone::Closed);
    }
}
