//! The sockets of executions and of terminals: how they are opened and closed, and their two directions.
//!
//! Each socket has one task with both directions: [`outgoing`] follows the log, [`receive`] reads frames, and
//! neither waits for the other. A second task ([`input`]) starts with the first input.

mod divide;
pub(crate) mod frames;
pub(crate) mod input;
pub(crate) mod notice;
pub(crate) mod outgoing;
pub(crate) mod receive;
pub(crate) mod shared;

use std::time::Duration;

use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use headwater_protocol::api::ErrorCode;
use headwater_protocol::frames::CloseCode;
use tokio::time::timeout;

use self::notice::Notice;
use self::outgoing::{Encoder, Ending, Outgoing};
use self::receive::{FrameHandler, Gone, receive};
use crate::error::ApiError;

/// The subprotocol that requests binary frames.
pub(crate) const FRAMES_SUBPROTOCOL: &str = "headwater.frames";
/// The maximum size of a client's message.
const MAX_MESSAGE_BYTES: usize = 1 << 20;
/// The read buffer that an idle socket holds; larger messages are read in several steps.
const READ_BUFFER_BYTES: usize = 4 << 10;
/// Frames are collected up to this size while more events are available.
const WRITE_BUFFER_BYTES: usize = 32 << 10;
/// A client is closed after this many unanswered heartbeats.
const MISSED_HEARTBEATS: u32 = 3;
/// How long a closed client may take to read its last frames and confirm the close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A request to upgrade to a WebSocket, with our size limits.
pub(crate) fn bounded(
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<WebSocketUpgrade, ApiError> {
    let upgrade = upgrade.map_err(|rejection| {
        ApiError::new(
            ErrorCode::UpgradeRequired,
            rejection.body_text().to_lowercase(),
            "open it with a WebSocket client; `/events` sends the same over plain HTTP",
        )
    })?;
    Ok(upgrade
        .max_message_size(MAX_MESSAGE_BYTES)
        .max_frame_size(MAX_MESSAGE_BYTES)
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES))
}

/// Serves a socket until one of the two sides ends it, or its token is no longer valid.
pub(crate) async fn serve<D: Encoder, L: FrameHandler>(
    mut outgoing: Outgoing<D>,
    mut stream: SplitStream<WebSocket>,
    mut handler: L,
    token_is_over: impl Future<Output = ()> + Send,
) {
    let silence = outgoing.heartbeat * MISSED_HEARTBEATS;
    let shared = outgoing.shared.clone();
    let close = tokio::select! {
        ending = outgoing.run() => closing(&mut outgoing, ending).await,
        () = token_is_over => Some((CloseCode::Credential, "the token is no longer valid")),
        gone = receive(&mut handler, &mut stream, &shared, silence) => match gone {
            Gone::Closed => None,
            Gone::Silent => Some((CloseCode::Silent, "no answer to pings")),
            Gone::TooLarge => Some((CloseCode::TooLarge, "a message may have at most 1 MiB")),
            Gone::Broken => Some((CloseCode::Protocol, "not a WebSocket frame")),
        },
    };
    drop(handler);
    close_socket(outgoing.sink, stream, close).await;
}

/// The close code and reason, for a client that is still connected.
pub(crate) type Close = Option<(CloseCode, &'static str)>;

/// Sends the close frame, if any, and waits until the client has read it.
pub(crate) async fn close_socket(
    mut sink: SplitSink<WebSocket, Message>,
    mut stream: SplitStream<WebSocket>,
    close: Close,
) {
    let farewell = async {
        if let Some((code, reason)) = close {
            let frame = CloseFrame { code: code.value(), reason: reason.into() };
            let _ = sink.send(Message::Close(Some(frame))).await;
        }
        let _ = sink.flush().await;
        // Unread data when a connection is closed would discard sent data that the client has not received
        // yet.
        while let Some(Ok(_)) = stream.next().await {}
    };
    let _ = timeout(CLOSE_TIMEOUT, farewell).await;
}

/// The close code and reason for a client that is still connected.
async fn closing<D: Encoder>(outgoing: &mut Outgoing<D>, ending: Ending) -> Close {
    match ending {
        Ending::Done => Some((CloseCode::Done, "the last event")),
        Ending::Stopping => Some((CloseCode::Restart, "reconnect")),
        Ending::Gone => None,
        Ending::Failed(error) => {
            let notice = Notice::Error(error.clone());
            let _ = timeout(CLOSE_TIMEOUT, outgoing.send_notice(&notice)).await;
            let may_pass = error.retry_after.is_some();
            Some(if may_pass {
                (CloseCode::Restart, "reconnect")
            } else {
                (CloseCode::Failed, error.code.name())
            })
        }
    }
}
