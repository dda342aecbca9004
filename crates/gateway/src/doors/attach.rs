//! The WebSocket: `WS /v1/executions/{id}/attach`. Output comes as it is printed, input goes as it is typed.
//!
//! One task for a socket, with its two directions side by side: [`outgoing`] follows the log, [`incoming`] takes frames;
//! neither waits for the other. A second task ([`input`]) begins with the first input.

mod frames;
mod incoming;
mod input;
mod outgoing;
mod shared;

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::http::StatusCode;
use axum::response::Response;
use futures_util::{SinkExt, StreamExt};
use headwater_contract::{FollowOptions, Follower};
use headwater_protocol::api::{ErrorBody, EventViews};
use headwater_protocol::{ExecutionId, Seq};
use serde::Deserialize;
use tokio::time::timeout;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::incoming::{Gone, Incoming};
use self::input::Input;
use self::outgoing::{Ending, Outgoing};
use self::shared::Shared;
use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::extract::{Path, Query};
use crate::serve::Seat;
use crate::state::Gateway;
use crate::stream::{OpenStream, Until, follow};

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

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(attach))
}

/// What the server's frames look like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// Binary frames.
    #[default]
    Binary,
    /// Text frames, each the JSON of an event.
    Json,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct AttachQuery {
    /// Events after this `seq`; 0 or absent: all.
    after: Option<u64>,
    /// Leave out so many bytes of output after that: for a client with credits that had a part of an event.
    skip: Option<u64>,
    /// Begin so that about this many bytes of output are left to read; what is skipped is stated as a gap.
    tail: Option<u64>,
    /// What the server's frames look like: `binary` if absent.
    #[param(inline)]
    mode: Option<Mode>,
    /// Look only: input is refused.
    read_only: Option<bool>,
    /// The event after which the socket is closed: `closed` if absent.
    #[param(inline)]
    until: Option<Until>,
    /// A token or ticket, where no header can be set. The guard has read it.
    #[serde(rename = "token")]
    #[allow(dead_code)]
    token: Option<String>,
}

impl AttachQuery {
    fn options(&self) -> FollowOptions {
        FollowOptions {
            after: Seq(self.after.unwrap_or(0)),
            until_closed: self.until.unwrap_or_default() == Until::Closed,
            tail_bytes: self.tail,
            tail_once: true,
            ..FollowOptions::default()
        }
    }
}

/// Attaches to an execution by WebSocket: output as it comes, input, signals and sizes as they go.
///
/// Server, `mode=binary`: output is `0x01`, the stream (1 stdout, 2 stderr, 3 output), its `seq` as u64 LE, its bytes;
/// other events are `0x02` and JSON, as are errors (`{"type": "error", code, message, hint}`), after which the socket
/// stays open. `mode=json`: text frames, each an event's JSON.
///
/// Client, binary: `0x10` input, `0x11` end of input, `0x12` rows u16 LE cols u16 LE, `0x13` signal u8, `0x14` credit u32
/// LE. Text: `{"type": "stdin", "text" or "base64"}`, `eof`, `resize` with `rows` and `cols`, `signal`, `credit` with
/// `bytes`, `cancel`. Any number may attach; what several write is joined as it comes.
///
/// After the first credit no more bytes of output are sent than were granted; other events are free. An output event that
/// is larger is divided: a frame that repeats the `seq` of the one before it is a beginning of the next event. Who comes
/// back after such a frame says `after=` that seq and `skip=` the bytes of those frames.
///
/// Close codes: 1000 after the last event; 1012 when the server ends (come back with `after=`); 1009 a message over 1 MiB;
/// 1002 no WebSocket frames; 1008 the token is no longer good; 1011 the log cannot be read any further.
#[utoipa::path(get, path = "/v1/executions/{id}/attach", tag = "streams",
    params(("id" = String, Path, description = "the execution"), AttachQuery),
    responses(
        (status = 101, description = "the socket is open"),
        (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody),
        (status = 426, description = "not a WebSocket request", body = ErrorBody),
        (status = 429, body = ErrorBody), (status = 500, body = ErrorBody), (status = 503, body = ErrorBody),
))]
async fn attach(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ExecutionId>,
    Query(query): Query<AttachQuery>,
    seat: Option<Extension<Seat>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    gateway.may_use_execution(&who, Need::Read, id).await?;
    let refusal = refusal(&gateway, &who, id, query.read_only == Some(true)).await;
    let upgrade = upgrade.map_err(|rejection| no_upgrade(&rejection))?;
    let follower = follow(&gateway, id, query.options()).await?;
    let upgrade = upgrade
        .max_message_size(MAX_MESSAGE_BYTES)
        .max_frame_size(MAX_MESSAGE_BYTES)
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES);
    // A server that ends waits for it, so that its last word is said.
    let tracked = gateway.tasks.token();
    Ok(upgrade.on_upgrade(async move |socket| {
        serve(socket, gateway, who, id, query, follower, refusal).await;
        drop((tracked, seat));
    }))
}

/// Why this one may only look, if it may.
async fn refusal(
    gateway: &Arc<Gateway>,
    who: &Identity,
    id: ExecutionId,
    read_only: bool,
) -> Option<ApiError> {
    if read_only {
        let hint = "attach without `read_only=true`";
        return Some(ApiError::forbidden("this socket is for looking only", hint));
    }
    gateway.may_use_execution(who, Need::Write, id).await.err()
}

fn no_upgrade(rejection: &WebSocketUpgradeRejection) -> ApiError {
    ApiError::new(
        StatusCode::UPGRADE_REQUIRED,
        "upgrade_required",
        rejection.body_text().to_lowercase(),
        "open it with a WebSocket client; `/events` has the same by plain HTTP",
    )
}

async fn serve(
    socket: WebSocket,
    gateway: Arc<Gateway>,
    who: Identity,
    id: ExecutionId,
    query: AttachQuery,
    follower: Follower,
    refusal: Option<ApiError>,
) {
    let (sink, mut stream) = socket.split();
    let shared = Arc::new(Shared::default());
    let heartbeat = gateway.config.heartbeat;
    let mut outgoing = Outgoing {
        id,
        sink,
        shared: Arc::clone(&shared),
        mode: query.mode.unwrap_or_default(),
        views: EventViews::default(),
        position: follower.position(),
        follower,
        skip: query.skip.unwrap_or(0),
        heartbeat,
        open: OpenStream::new(&gateway, "websocket"),
    };
    let good = gateway.good(&who);
    let input = Input::new(Arc::clone(&gateway), id, Arc::clone(&shared));
    let patience = heartbeat * MISSED_HEARTBEATS;
    let mut incoming = Incoming { gateway, id, who, shared, input, refusal, patience };
    let close = tokio::select! {
        ending = outgoing.run() => closing(&mut outgoing, ending).await,
        () = good.over() => Some((close_code::POLICY, "the token is no longer good")),
        gone = incoming.run(&mut stream) => match gone {
            Gone::Closed => None,
            Gone::Silent => Some((close_code::AWAY, "no answer to pings")),
            Gone::TooLarge => Some((close_code::SIZE, "a message may have 1 MiB")),
            Gone::Broken => Some((close_code::PROTOCOL, "not a WebSocket frame")),
        },
    };
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
async fn closing(outgoing: &mut Outgoing, ending: Ending) -> Option<(u16, &'static str)> {
    match ending {
        Ending::Done => Some((close_code::NORMAL, "the last event")),
        Ending::Stopping => Some((close_code::RESTART, "reconnect")),
        Ending::Gone => None,
        Ending::Failed(error) => {
            let _ = timeout(CLOSING, outgoing.say(&error)).await;
            let may_pass = error.retry_after.is_some();
            Some(if may_pass { (close_code::RESTART, "reconnect") } else { (close_code::ERROR, error.code) })
        }
    }
}
