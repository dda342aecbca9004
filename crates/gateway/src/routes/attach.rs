//! The WebSocket of an execution: `WS /v1/executions/{id}/attach`. It carries output as it is printed and
//! input as it is typed.
//!
//! [`crate::streams::socket`] implements the socket itself.

mod client_commands;
mod event_encoder;

use std::collections::VecDeque;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures_util::StreamExt;
use headwater_contract::{FollowOptions, Follower};
use headwater_protocol::api::{ErrorBody, EventViews};
use headwater_protocol::{ExecutionId, Seq};
use serde::Deserialize;
use tokio::time::Instant;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) use self::client_commands::SIGINT;

use self::client_commands::ClientCommands;
use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::{Common, NotFound};
use crate::serve::ConnectionPermit;
use crate::state::Gateway;
use crate::streams::socket::input::Input;
use crate::streams::socket::outgoing::Outgoing;
use crate::streams::socket::shared::Shared;
use crate::streams::socket::{self, FRAMES_SUBPROTOCOL, bounded};
use crate::streams::sse::{OpenStream, Until};

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(attach))
}

/// The format of the server's frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Frames {
    /// Binary frames.
    #[default]
    Binary,
    /// Text frames, each the JSON of an event.
    Events,
}

/// The earlier names of the formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// `frames=binary`.
    Binary,
    /// `frames=events`.
    Json,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct AttachQuery {
    /// Events after this `seq`, which must not be after the last one; 0 or absent: all.
    after: Option<u64>,
    /// Skip this many bytes of output after `after`: for a client with credits that has already received part
    /// of an event.
    skip: Option<u64>,
    /// Start about this many bytes before the end of the output. The skipped part is reported as a gap.
    tail: Option<u64>,
    /// The format of the server's frames: `binary` if absent. `events` are text frames, each the JSON of an
    /// event.
    #[param(inline)]
    frames: Option<Frames>,
    /// Deprecated: use `frames`; `json` means `events`.
    #[param(inline)]
    mode: Option<Mode>,
    /// Read-only: input is refused.
    read_only: Option<bool>,
    /// The event after which the socket is closed: `closed` if absent.
    #[param(inline)]
    until: Option<Until>,
    /// Receive every byte, as in `GET /v1/executions/{id}/events`. Requires write access to the session.
    lossless: Option<bool>,
    /// A token or ticket, where no header can be set. The guard has read it.
    #[serde(rename = "token")]
    _token: Option<String>,
}

impl AttachQuery {
    fn frames(&self) -> Result<Frames, ApiError> {
        match (self.frames, self.mode) {
            (Some(_), Some(_)) => {
                Err(ApiError::invalid("`frames` and `mode` mean the same: send only `frames`"))
            }
            (Some(frames), None) => Ok(frames),
            (None, Some(Mode::Json)) => Ok(Frames::Events),
            (None, _) => Ok(Frames::Binary),
        }
    }

    fn options(&self) -> FollowOptions {
        FollowOptions {
            after: Seq(self.after.unwrap_or(0)),
            until_closed: self.until.unwrap_or_default() == Until::Closed,
            tail_bytes: self.tail,
            tail_once: true,
            lossless: self.lossless == Some(true),
            ..FollowOptions::default()
        }
    }
}

/// Attaches to an execution by WebSocket: receives its output, and sends input, signals and sizes.
///
/// Server frames with `frames=binary`: output is `0x01`, the stream (1 stdout, 2 stderr, 3 output), its `seq`
/// as u64 LE, and its bytes. Other events are `0x02` and JSON, and so are errors (`{"type": "error", code,
/// message, hint}`), which leave the socket open. With `frames=events` each frame is a text frame with an
/// event's JSON.
///
/// Client frames, binary: `0x10` input, `0x11` end of input, `0x12` rows u16 LE cols u16 LE, `0x13` signal
/// u8, `0x14` credit u32 LE. Text: `{"type": "stdin", "text" or "base64"}`, `eof`, `resize` with `rows` and
/// `cols`, `signal`, `interrupt`, `credit` with `bytes`, `cancel`. Any number of clients may attach; their input is
/// combined in order of arrival.
///
/// After the first credit, the server sends at most as many bytes of output as were granted; other events
/// need no credit. A larger output event is divided: a frame that repeats the `seq` of the frame before it
/// carries the first part of the next event. A client that reconnects after such a frame sends `after=` that
/// seq, and `skip=` the bytes of those frames.
///
/// Close codes: 1000 after the last event; 1002 invalid WebSocket frames; 1008 the token is no longer valid;
/// 1009 a message over 1 MiB; 1011 the rest of the log cannot be read; 1012 the server is shutting down
/// (reconnect with `after=`).
#[utoipa::path(get, path = "/v1/executions/{id}/attach", operation_id = "attachToExecution", tag = "streams",
    params(("id" = String, Path, description = "the execution"), AttachQuery),
    responses(
        (status = 101, description = "the socket is open"), Common, NotFound,
        (status = 426, description = "not a WebSocket request", body = ErrorBody),
))]
async fn attach(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ExecutionId>,
    Query(query): Query<AttachQuery>,
    permit: Option<Extension<ConnectionPermit>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    gateway.auth.may_follow(&who, id, query.lossless == Some(true)).await?;
    let refusal = refusal(&gateway, &who, id, query.read_only == Some(true)).await;
    let (frames, upgrade) = (query.frames()?, bounded(upgrade)?.protocols([FRAMES_SUBPROTOCOL]));
    let follower = gateway.worker.follow(id, query.options()).await?;
    // A server that is shutting down waits for it, so that the socket can send its close frame.
    let tracked = gateway.background.tasks.token();
    Ok(upgrade.on_upgrade(async move |socket| {
        serve(socket, gateway, who, id, (frames, query.skip), follower, refusal).await;
        drop((tracked, permit));
    }))
}

/// The error for input, if this client has read-only access.
async fn refusal(
    gateway: &Arc<Gateway>,
    who: &Identity,
    id: ExecutionId,
    read_only: bool,
) -> Option<ApiError> {
    if read_only {
        let hint = "attach without `read_only=true`";
        return Some(ApiError::forbidden("this socket is read-only", hint));
    }
    gateway.auth.may_use_execution(who, Need::Write, id).await.err()
}

async fn serve(
    socket: WebSocket,
    gateway: Arc<Gateway>,
    who: Identity,
    id: ExecutionId,
    (frames, skip): (Frames, Option<u64>),
    follower: Follower,
    refusal: Option<ApiError>,
) {
    let (sink, stream) = socket.split();
    let shared = Arc::new(Shared::default());
    let outgoing = Outgoing {
        id,
        sink,
        shared: Arc::clone(&shared),
        encoder: frames,
        views: EventViews::default(),
        position: follower.position(),
        follower,
        skip: skip.unwrap_or(0),
        heartbeat: gateway.config.heartbeat,
        open: OpenStream::new(&gateway, "websocket"),
        due: VecDeque::new(),
        paced_until: Instant::now(),
        is_others_turn: false,
    };
    let validity = gateway.auth.validity(&who);
    let input = Input::new(Arc::clone(&gateway), id, Arc::clone(&shared));
    let incoming = ClientCommands { gateway, id, who, shared, input, refusal };
    socket::serve(outgoing, stream, incoming, validity.ended()).await;
}
