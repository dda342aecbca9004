//! What the sockets of executions and of terminals share: how they are opened and closed, and their two directions.
//!
//! One task for a socket, with its two directions side by side: [`outgoing`] follows the log, [`incoming`] takes frames;
//! neither waits for the other. A second task ([`input`]) begins with the first input.

pub(crate) mod frames;
pub(crate) mod incoming;
pub(crate) mod input;
pub(crate) mod note;
pub(crate) mod outgoing;
pub(crate) mod shared;

use std::time::Duration;

use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::http::StatusCode;
use futures_util::stream::SplitStream;
use futures_util::{SinkExt, StreamExt};
use tokio::time::timeout;

use self::incoming::{Gone, Listener, receive};
use self::note::Note;
use self::outgoing::{Dialect, Ending, Outgoing};
use crate::error::ApiError;

/// The largest message of a client.
const MAX_MESSAGE_BYTES: usize = 1 << 20;
/// What a socket holds even when it is idle; larger messages are read in more than one go.
const READ_BUFFER_BYTES: usize = 4 << 10;
/// Frames are gathered up to so much while more events are there.
const WRITE_BUFFER_BYTES: usize = 32 << 10;
/// A client is closed when this many heartbeats went unanswered.
const MISSED_HEARTBEATS: u32 = 3;
/// A closed client may take so long to take its last frames and say that it has closed too.
const CLOSING: Duration = Duration::from_secs(5);

/// A request that can become a WebSocket, with our bounds.
pub(crate) fn bounded(
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<WebSocketUpgrade, ApiError> {
    let upgrade = upgrade.map_err(|rejection| {
        ApiError::new(
            StatusCode::UPGRADE_REQUIRED,
            "upgrade_required",
            rejection.body_text().to_lowercase(),
            "open it with a WebSocket client; `/events` has the same by plain HTTP",
        )
    })?;
    Ok(upgrade
        .max_message_size(MAX_MESSAGE_BYTES)
        .max_frame_size(MAX_MESSAGE_BYTES)
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES))
}

/// Serves a socket until one of the two sides has had enough, or its token is no longer good.
pub(crate) async fn serve<D: Dialect, L: Listener>(
    mut outgoing: Outgoing<D>,
    mut stream: SplitStream<WebSocket>,
    mut listener: L,
    token_is_over: impl Future<Output = ()> + Send,
) {
    let patience = outgoing.heartbeat * MISSED_HEARTBEATS;
    let shared = outgoing.shared.clone();
    let close = tokio::select! {
        ending = outgoing.run() => closing(&mut outgoing, ending).await,
        () = token_is_over => Some((close_code::POLICY, "the token is no longer good")),
        gone = receive(&mut listener, &mut stream, &shared, patience) => match gone {
            Gone::Closed => None,
            Gone::Silent => Some((close_code::AWAY, "no answer to pings")),
            Gone::TooLarge => Some((close_code::SIZE, "a message may have 1 MiB")),
            Gone::Broken => Some((close_code::PROTOCOL, "not a WebSocket frame")),
        },
    };
    drop(listener);
    let farewell = async {
        let Outgoing { mut sink, .. } = outgoing;
        if let Some((code, reason)) = close {
            let frame = CloseFrame { code, reason: reason.into() };
            let _ = sink.send(Message::Close(Some(frame))).await;
        }
        let _ = sink.flush().await;
        // Whatever is unread when a connection is closed takes back what was sent and not yet received.
        while let Some(Ok(_)) = stream.next().await {}
    };
    let _ = timeout(CLOSING, farewell).await;
}

/// The last words for a client that is still there.
async fn closing<D: Dialect>(outgoing: &mut Outgoing<D>, ending: Ending) -> Option<(u16, &'static str)> {
    match ending {
        Ending::Done => Some((close_code::NORMAL, "the last event")),
        Ending::Stopping => Some((close_code::RESTART, "reconnect")),
        Ending::Gone => None,
        Ending::Failed(error) => {
            let note = Note::Error(error.clone());
            let _ = timeout(CLOSING, outgoing.say(&note)).await;
            let may_pass = error.retry_after.is_some();
            Some(if may_pass { (close_code::RESTART, "reconnect") } else { (close_code::ERROR, error.code) })
        }
    }
}
