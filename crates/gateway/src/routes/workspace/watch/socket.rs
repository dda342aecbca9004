//! A watch by WebSocket: each event is a text frame. What the client says is not heard, but that it lives is.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::response::Response;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use serde::Serialize;
use tokio::time::timeout;

use super::events::{Events, Next};
use crate::auth::Identity;
use crate::serve::ConnectionPermit;
use crate::state::Gateway;
use crate::streams::sse::OpenStream;

/// Nothing that a client sends is of use.
const MAX_MESSAGE_BYTES: usize = 4 << 10;
/// A client is closed when this many heartbeats went unanswered.
const MISSED_HEARTBEATS: u32 = 3;
/// A closed client may take so long to take its last frames and say that it has closed too.
const CLOSING: Duration = Duration::from_secs(5);

/// How it ends, for a client that is still there.
type Close = Option<(u16, &'static str)>;

pub(crate) fn answer(
    upgrade: WebSocketUpgrade,
    gateway: Arc<Gateway>,
    who: Identity,
    events: Events,
    permit: Option<Extension<ConnectionPermit>>,
) -> Response {
    let upgrade = upgrade
        .max_message_size(MAX_MESSAGE_BYTES)
        .max_frame_size(MAX_MESSAGE_BYTES)
        .read_buffer_size(MAX_MESSAGE_BYTES);
    // A server that ends waits for it, so that its last word is said.
    let tracked = gateway.background.tasks.token();
    upgrade.on_upgrade(async move |socket| {
        serve(socket, &gateway, &who, events).await;
        drop((tracked, permit));
    })
}

async fn serve(socket: WebSocket, gateway: &Arc<Gateway>, who: &Identity, mut events: Events) {
    let _open = OpenStream::new(gateway, "websocket");
    let validity = gateway.auth.validity(who);
    let (mut sink, mut stream) = socket.split();
    let patience = gateway.config.heartbeat * MISSED_HEARTBEATS;
    let close = tokio::select! {
        close = tell(&mut sink, &mut events) => close,
        () = validity.ended() => Some((close_code::POLICY, "the token is no longer valid")),
        close = hear(&mut stream, patience) => close,
    };
    let farewell = async {
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

async fn tell(sink: &mut SplitSink<WebSocket, Message>, events: &mut Events) -> Close {
    loop {
        match events.next().await {
            Next::Changes(changes) => {
                for change in changes {
                    sink.send(text(&change)).await.ok()?;
                }
            }
            Next::Quiet => sink.send(Message::Ping(bytes::Bytes::new())).await.ok()?,
            Next::Ended(change) => {
                sink.send(text(&change)).await.ok()?;
                return Some((close_code::NORMAL, "the session has ended"));
            }
            Next::Stopping => return Some((close_code::RESTART, "reconnect")),
            Next::Failed(error) => {
                sink.send(text(&error.body())).await.ok()?;
                return Some((close_code::ERROR, error.code));
            }
        }
    }
}

fn text(value: &impl Serialize) -> Message {
    Message::text(serde_json::to_string(value).unwrap_or_default())
}

/// Until the client goes, or says nothing, not even that it lives, for so long.
async fn hear(stream: &mut SplitStream<WebSocket>, patience: Duration) -> Close {
    loop {
        match timeout(patience, stream.next()).await {
            Err(_) => return Some((close_code::AWAY, "no answer to pings")),
            Ok(None | Some(Ok(Message::Close(_)))) => return None,
            Ok(Some(Err(_))) => return Some((close_code::SIZE, "nothing is to be said here")),
            Ok(Some(Ok(_))) => {}
        }
    }
}
