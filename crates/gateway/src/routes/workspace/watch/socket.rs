//! A watch by WebSocket: each event is a text frame. Messages of the client only show that it is alive.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use headwater_protocol::frames::CloseCode;
use serde::Serialize;
use tokio::time::timeout;

use super::events::{Events, Next};
use crate::auth::Identity;
use crate::serve::ConnectionPermit;
use crate::state::Gateway;
use crate::streams::socket::{Close, close_socket};
use crate::streams::sse::OpenStream;

/// The maximum size of a client's message; their content is ignored.
const MAX_MESSAGE_BYTES: usize = 4 << 10;
/// A client is closed when this many heartbeats went unanswered.
const MISSED_HEARTBEATS: u32 = 3;
pub(crate) fn respond(
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
    // A server that is shutting down waits for it, so that the socket can send its close frame.
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
    let silence = gateway.config.heartbeat * MISSED_HEARTBEATS;
    let close = tokio::select! {
        close = send_events(&mut sink, &mut events) => close,
        () = validity.ended() => Some((CloseCode::Credential, "the token is no longer valid")),
        close = receive(&mut stream, silence) => close,
    };
    close_socket(sink, stream, close).await;
}

async fn send_events(sink: &mut SplitSink<WebSocket, Message>, events: &mut Events) -> Close {
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
                return Some((CloseCode::Done, "the session has ended"));
            }
            Next::Stopping => return Some((CloseCode::Restart, "reconnect")),
            Next::Failed(error) => {
                sink.send(text(&error.body())).await.ok()?;
                return Some((CloseCode::Failed, error.code.name()));
            }
        }
    }
}

fn text(value: &impl Serialize) -> Message {
    Message::text(serde_json::to_string(value).unwrap_or_default())
}

/// Returns when the client disconnects, or has sent nothing, not even a pong, for this long.
async fn receive(stream: &mut SplitStream<WebSocket>, silence: Duration) -> Close {
    loop {
        match timeout(silence, stream.next()).await {
            Err(_) => return Some((CloseCode::Silent, "no answer to pings")),
            Ok(None | Some(Ok(Message::Close(_)))) => return None,
            Ok(Some(Err(_))) => return Some((CloseCode::TooLarge, "this socket takes no messages")),
            Ok(Some(Ok(_))) => {}
        }
    }
}
