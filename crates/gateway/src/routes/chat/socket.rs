//! The WebSocket of AI SDK front ends (`WebSocketChatTransport`): several responses over one connection.
//!
//! One task has both directions. Each response is a future that waits for its next chunk; while the client does not read,
//! nothing is asked for.

mod frames;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, SplitSink};
use futures_util::{SinkExt, StreamExt};
use headwater_protocol::api::ErrorBody;
use headwater_protocol::frames::CloseCode;
use serde::Deserialize;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::frames::{ClientFrame, ServerFrame, Work};
use super::executions::unrestricted;
use super::respond;
use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::http::extract::Query;
use crate::http::openapi::Common;
use crate::serve::ConnectionPermit;
use crate::state::Gateway;
use crate::streams::socket::{Close, bounded, close_socket};
use crate::streams::sse::OpenStream;
use crate::streams::ui_messages::{Item, UiStream};

/// The maximum size of a client's message: all messages of a chat, with the files that it sends.
const MAX_MESSAGE_BYTES: usize = 4 << 20;
/// Responses that one socket receives at once.
const MAX_RESPONSES: usize = 16;
/// A client is closed when this many heartbeats went unanswered.
const MISSED_HEARTBEATS: u32 = 3;
/// How long a client may take to read a frame.
const SEND_TIMEOUT: Duration = Duration::from_mins(1);

pub(super) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(socket))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct SocketQuery {
    /// Any value: marks a reconnection, which a ticket requires.
    #[serde(rename = "after")]
    _after: Option<String>,
    /// A token or ticket, where no header can be set. The guard has read it.
    #[serde(rename = "token")]
    _token: Option<String>,
}

/// The WebSocket of `WebSocketChatTransport`: it sends messages and resumes responses, several at once.
///
/// The frames are those of the AI SDK: `send`, `resume` and `abort` of the client; `start`, `chunk`, `end`, `error` and
/// `no-active` of the server. `body` has the fields `model`, `session_id` and `progress`; `headers` are ignored. An `abort`
/// ends a response for this client; the turn goes on.
#[utoipa::path(get, path = "/v1/chat/socket", operation_id = "openUiSocket", tag = "chat",
    params(SocketQuery),
    responses(
        (status = 101, description = "the socket is open"),
        (status = 426, body = ErrorBody, description = "the request is not an upgrade to a WebSocket"),
        Common,
))]
async fn socket(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Query(_query): Query<SocketQuery>,
    permit: Option<Extension<ConnectionPermit>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    if who.bounds.conversation.is_none() {
        unrestricted(&who, Need::Read)?;
    }
    let upgrade = bounded(upgrade)?.max_message_size(MAX_MESSAGE_BYTES).max_frame_size(MAX_MESSAGE_BYTES);
    // A server that is shutting down waits for it, so that the socket can send its close frame.
    let tracked = gateway.background.tasks.token();
    Ok(upgrade.on_upgrade(async move |socket| {
        serve(socket, &gateway, who).await;
        drop((tracked, permit));
    }))
}

async fn serve(socket: WebSocket, gateway: &Arc<Gateway>, who: Identity) {
    let (sink, mut stream) = socket.split();
    let open = OpenStream::new(gateway, "websocket");
    let mut socket =
        Socket { gateway, who, sink, open, responses: HashMap::new(), work: FuturesUnordered::new() };
    let close = loop {
        // Requests have added rights of a member, with which the socket ends.
        let validity = gateway.auth.validity(&socket.who);
        let silence = Instant::now() + gateway.config.heartbeat * MISSED_HEARTBEATS;
        let close = tokio::select! {
            close = socket.send_until_read(&mut stream, silence) => close,
            () = validity.ended() => Err(Some((CloseCode::Credential, "the token is no longer valid"))),
            () = gateway.background.stopping.cancelled() => Err(Some((CloseCode::Restart, "reconnect"))),
        };
        if let Err(close) = close {
            break close;
        }
    };
    let Socket { sink, .. } = socket;
    close_socket(sink, stream, close).await;
}

/// A response of a socket: how many chunks were sent, and how it is left.
struct Open {
    sequence: u64,
    cancel: CancellationToken,
}

/// What has happened to a response.
#[allow(clippy::large_enum_variant, reason = "it is moved once, into a box")]
enum Done {
    Began(Result<Option<UiStream>, ApiError>),
    Next(Box<UiStream>, Item),
    Left,
}

struct Socket<'a> {
    gateway: &'a Arc<Gateway>,
    who: Identity,
    sink: SplitSink<WebSocket, Message>,
    open: OpenStream,
    responses: HashMap<String, Open>,
    work: FuturesUnordered<BoxFuture<'static, (String, Done)>>,
}

impl Socket<'_> {
    /// Sends what there is, until the client has sent something; an error closes the socket.
    async fn send_until_read(
        &mut self,
        stream: &mut futures_util::stream::SplitStream<WebSocket>,
        silence: Instant,
    ) -> Result<(), Close> {
        let mut heartbeat = Instant::now() + self.gateway.config.heartbeat;
        loop {
            tokio::select! {
                read = stream.next() => return match read {
                    None | Some(Ok(Message::Close(_))) => Err(None),
                    Some(Err(_)) => Err(Some((CloseCode::TooLarge, "not a frame, or a message over 4 MiB"))),
                    Some(Ok(Message::Text(text))) => self.take(text.as_bytes()).await,
                    Some(Ok(Message::Binary(bytes))) => self.take(&bytes).await,
                    Some(Ok(_)) => Ok(()),
                },
                Some((id, done)) = self.work.next(), if !self.work.is_empty() => self.done(id, done).await?,
                () = sleep_until(heartbeat) => {
                    heartbeat = Instant::now() + self.gateway.config.heartbeat;
                    self.send(Message::Ping(bytes::Bytes::new())).await?;
                }
                () = sleep_until(silence) => return Err(Some((CloseCode::Silent, "no answer to pings"))),
            }
        }
    }

    /// Takes a frame of the client.
    async fn take(&mut self, text: &[u8]) -> Result<(), Close> {
        let frame = match frames::parse(text) {
            Ok(frame) => frame,
            Err(error) => return self.refuse(frames::request_id(text), &error).await,
        };
        match frame {
            ClientFrame::Abort { request_id } => {
                if let Some(response) = self.responses.remove(&request_id) {
                    response.cancel.cancel();
                }
                Ok(())
            }
            ClientFrame::Begin { request_id, work, sequence } => {
                let begun = self.begin(&request_id, work, sequence);
                match begun {
                    Ok(()) => Ok(()),
                    Err(error) => self.refuse(request_id, &error).await,
                }
            }
        }
    }

    fn begin(&mut self, request_id: &str, work: Work, sequence: u64) -> Result<(), ApiError> {
        if self.responses.contains_key(request_id) {
            return Err(ApiError::invalid("this `requestId` is in use"));
        }
        if self.work.len() >= MAX_RESPONSES {
            let message = format!("a socket receives at most {MAX_RESPONSES} responses at once");
            return Err(ApiError::conflict(message, "wait for one of them, or open another socket"));
        }
        self.gateway.rates.count_request(&self.who)?;
        let cancel = CancellationToken::new();
        let response = Open { sequence, cancel: cancel.clone() };
        self.responses.insert(request_id.to_owned(), response);
        let (gateway, who) = (Arc::clone(self.gateway), self.who.clone());
        self.push(request_id.to_owned(), cancel, async move {
            Done::Began(match work {
                Work::Send(request) => respond::respond(&gateway, &who, *request).await.map(Some),
                Work::Resume(id, mode) => respond::resume(&gateway, &who, &id, (None, mode)).await,
            })
        });
        Ok(())
    }

    fn push(&self, id: String, cancel: CancellationToken, work: impl Future<Output = Done> + Send + 'static) {
        self.work.push(Box::pin(async move {
            let done = tokio::select! {
                done = work => done,
                () = cancel.cancelled() => Done::Left,
            };
            (id, done)
        }));
    }

    /// Sends what has happened to a response, and waits for what follows.
    async fn done(&mut self, request_id: String, done: Done) -> Result<(), Close> {
        let Some(response) = self.responses.get_mut(&request_id) else { return Ok(()) };
        let (cancel, sequence) = (response.cancel.clone(), response.sequence);
        match done {
            // Another one has its id now.
            Done::Left => Ok(()),
            Done::Began(Ok(Some(stream))) => {
                self.frame(ServerFrame::Start { request_id: &request_id }).await?;
                self.push(request_id, cancel, next(Box::new(stream)));
                Ok(())
            }
            Done::Began(Ok(None)) => self.end(ServerFrame::NoActive { request_id: &request_id }).await,
            Done::Began(Err(error)) => {
                self.responses.remove(&request_id);
                self.refuse(request_id, &error).await
            }
            Done::Next(stream, Item::Chunk(chunk)) => {
                response.sequence += 1;
                self.frame(ServerFrame::Chunk { request_id: &request_id, sequence, chunk: &chunk }).await?;
                self.push(request_id, cancel, next(stream));
                Ok(())
            }
            Done::Next(_, Item::End) => self.end(ServerFrame::End { request_id: &request_id }).await,
            // The client opens another socket, and resumes.
            Done::Next(_, Item::Broken) => Err(Some((CloseCode::Restart, "reconnect"))),
        }
    }

    async fn end(&mut self, frame: ServerFrame<'_>) -> Result<(), Close> {
        self.responses.remove(frame.request_id());
        self.frame(frame).await
    }

    async fn refuse(&mut self, request_id: String, error: &ApiError) -> Result<(), Close> {
        let error_text = format!("{} ({})", error.message, error.hint);
        self.frame(ServerFrame::Error { request_id: &request_id, error_text }).await
    }

    async fn frame(&mut self, frame: ServerFrame<'_>) -> Result<(), Close> {
        let text = serde_json::to_string(&frame).unwrap_or_default();
        self.open.sent(text.len());
        self.send(Message::text(text)).await
    }

    async fn send(&mut self, message: Message) -> Result<(), Close> {
        match timeout(SEND_TIMEOUT, self.sink.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(None),
        }
    }
}

async fn next(mut stream: Box<UiStream>) -> Done {
    let item = stream.next().await;
    Done::Next(stream, item)
}
