//! Terminals of a session: `WS /v1/sessions/{id}/terminal`, which speaks the JSON messages of IDE front ends
//! and the binary frames of executions; and the routes over plain HTTP (in [`list`]).
//! [`crate::streams::socket`] implements the socket itself, and [`crate::terminals`] finds and opens
//! terminals.

mod editor_output;
mod messages;
mod replies;
mod rest;
mod screen;
mod viewer_commands;
mod viewer_encoder;
mod viewers;

use std::collections::VecDeque;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures_util::StreamExt;
use headwater_contract::Follower;
use headwater_protocol::api::{ErrorBody, EventViews};
use headwater_protocol::{Execution, ExecutionId, Seq, SessionId, SpecError, TtySize};
use serde::Deserialize;
use tokio::time::Instant;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::editor_output::EditorOutput;
#[cfg(test)]
pub(crate) use self::messages::{LineMessage, ServerMessage};
use self::screen::{options, screen};
use self::viewer_commands::ViewerCommands;
#[cfg(test)]
pub(crate) use self::viewer_encoder::TerminalEvent;
use self::viewer_encoder::ViewerEncoder;
use self::viewers::Registration;
pub(crate) use self::viewers::Viewers;
use crate::auth::{Area, Identity, Need};
use crate::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::{Common, NotFound, SessionEnded, TakesKey};
use crate::serve::ConnectionPermit;
use crate::state::Gateway;
use crate::streams::socket::input::Input;
use crate::streams::socket::notice::Notice;
use crate::streams::socket::outgoing::{Due, Outgoing};
use crate::streams::socket::shared::Shared;
use crate::streams::socket::{self, FRAMES_SUBPROTOCOL, bounded};
use crate::streams::sse::OpenStream;
use crate::terminals::{MAIN, Opened, TerminalSpec};

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(terminal)).merge(crate::routes::terminals::rest::routes())
}

/// The format of the server's frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Frames {
    /// The messages of editors, until the client sends a binary frame.
    #[default]
    Json,
    /// Text frames, each the JSON of an event.
    Events,
    /// Binary frames.
    Binary,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct TerminalQuery {
    /// The terminal's name: `main` if absent.
    #[param(pattern = "^[A-Za-z0-9._-]{1,64}$")]
    name: Option<String>,
    /// The viewer's rows; for a new terminal, 24 if absent.
    #[param(minimum = 1, maximum = 65535)]
    rows: Option<u16>,
    /// The viewer's columns; for a new terminal, 80 if absent.
    #[param(minimum = 1, maximum = 65535)]
    cols: Option<u16>,
    /// Continue after this `seq`. If absent, begin with the current screen.
    after: Option<u64>,
    /// Skip this many bytes of output after `after`: for a client with credits that has already received part
    /// of an event.
    skip: Option<u64>,
    /// The terminal that `after` refers to. If its name now belongs to another one, the screen is sent
    /// instead.
    execution_id: Option<String>,
    /// Read-only: input is refused.
    read_only: Option<bool>,
    /// Deprecated: use `read_only`.
    readonly: Option<bool>,
    /// The format of the server's frames: `json`, the messages of editors, if absent. `events` and `binary` are
    /// those of `attach`.
    #[param(inline)]
    frames: Option<Frames>,
    /// With `frames=json`: whether the output of executions that `POST /v1/sessions/execute/...` starts in the
    /// session is sent, too. `true` if absent.
    executions: Option<bool>,
    /// A token or ticket, where no header can be set. The guard has read it.
    #[serde(rename = "token")]
    _token: Option<String>,
}

impl TerminalQuery {
    fn size(&self) -> Result<Option<TtySize>, ApiError> {
        match (self.rows, self.cols) {
            (None, None) => Ok(None),
            (Some(0), _) | (_, Some(0)) => Err(SpecError::EmptyTerminal.into()),
            (rows, cols) => {
                let usual = TtySize::default();
                Ok(Some(TtySize { rows: rows.unwrap_or(usual.rows), cols: cols.unwrap_or(usual.cols) }))
            }
        }
    }

    /// The position to continue after, if the viewer has already seen part of this terminal.
    fn after(&self, now: &Execution) -> Option<Seq> {
        let is_same = self.execution_id.as_ref().is_none_or(|id| *id == now.id.to_string());
        self.after.map(Seq).filter(|after| is_same && *after <= now.last_seq)
    }
}

/// Opens a terminal of a session by WebSocket: a login shell that keeps running when the socket closes.
///
/// The terminal is created if none of this name is running. Any number of viewers may join a terminal; the
/// last one that typed controls its size.
///
/// Client, text: `{"type": "command", "command" or "data"}` (a line and Enter), and the messages of `attach`.
/// Binary, as in `attach`: `0x10` keys, `0x11` sends `^D`, `0x12` size, `0x13` signal, `0x14` credit.
///
/// Server: `{"type": "output", "content", "seq"}`, `{"type": "error", "message"}`, `{"type": "prompt"}`,
/// `{"type": "exit", "code"}`, `{"type": "resized", "rows", "cols"}`, and for executions that `POST
/// /v1/sessions/execute/...` starts in the session, `output` with their `execution_id` and
/// `{"type": "execution_ended", "execution_id", "code"}`. After `frames=binary`, the subprotocol
/// `headwater.frames` or the client's first binary frame, the server sends binary frames as in `attach`, with
/// the additional events `attached`, `resized`, `snapshot`, `prompt`, `command_started`, `command_ended` and
/// `directory`.
///
/// A client that reconnects with `after=` the last `seq` gets the missing output or, if that is more than 256
/// KiB, the screen: bytes that reset the viewer's terminal and draw it. A viewer that falls behind also gets
/// the screen, and so does a client without `after=`. The close codes are those of `attach`.
#[utoipa::path(get, path = "/v1/sessions/{id}/terminal", operation_id = "openTerminal", tag = "terminals",
    params(("id" = String, Path, description = "the session, or its name"), TerminalQuery),
    responses(
        (status = 101, description = "the socket is open"), Common, NotFound, SessionEnded, TakesKey,
        (status = 426, description = "not a WebSocket request", body = ErrorBody),
))]
async fn terminal(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(session): Path<String>,
    Query(query): Query<TerminalQuery>,
    permit: Option<Extension<ConnectionPermit>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let session = gateway.session_named(&who, Need::Read, &session).await?;
    let upgrade = bounded(upgrade)?.protocols([FRAMES_SUBPROTOCOL]);
    let frames = match upgrade.selected_protocol() {
        Some(chosen) if chosen == FRAMES_SUBPROTOCOL => Frames::Binary,
        _ => query.frames.unwrap_or_default(),
    };
    let viewer = Box::pin(Viewer::find(gateway, who, session, query, frames)).await?;
    // A server that is shutting down waits for it, so that the socket can send its close frame.
    let tracked = viewer.gateway.background.tasks.token();
    Ok(upgrade.on_upgrade(async move |socket| {
        Box::pin(viewer.serve(socket)).await;
        drop((tracked, permit));
    }))
}

/// Everything that is set up before the socket is open.
struct Viewer {
    gateway: Arc<Gateway>,
    who: Identity,
    id: ExecutionId,
    name: String,
    shared: Arc<Shared>,
    registration: Registration,
    /// The size of the viewer's window, if the client sent it.
    window: Option<TtySize>,
    skip: u64,
    frames: Frames,
    refusal: Option<ApiError>,
    follower: Follower,
    /// Sent before anything else.
    due: VecDeque<Due>,
    editor_output: Option<EditorOutput>,
}

impl Viewer {
    async fn find(
        gateway: Arc<Gateway>,
        who: Identity,
        session: SessionId,
        query: TerminalQuery,
        frames: Frames,
    ) -> Result<Self, ApiError> {
        let window = query.size()?;
        let name = query.name.clone().unwrap_or_else(|| MAIN.to_owned());
        let terminal = TerminalSpec { name: name.clone(), size: window.unwrap_or_default(), command: None };
        let Opened { execution, is_new } = gateway.open_terminal(&who, session, terminal).await?;
        let refusal =
            refusal(&gateway, &who, session, query.read_only.or(query.readonly) == Some(true)).await;
        let id = execution.id;
        let shared = Arc::new(Shared::default());
        // Before the size is read: a change after that is sent as `resized`.
        let registration = Registration::new(&gateway, id, &shared, refusal.is_none());
        let size = gateway.terminal_size(&execution).await?;
        registration.had_size(size);
        let after = if is_new { Some(Seq(0)) } else { query.after(&execution) };
        let skip = if after.is_some() { query.skip.unwrap_or(0) } else { 0 };
        let (follower, drawn) = match after {
            Some(after) => (gateway.worker.follow(id, options(after)).await?, None),
            None => match screen(&gateway, id, None).await? {
                Some((snapshot, follower)) => (follower, Some(snapshot)),
                None => (gateway.worker.follow(id, options(Seq(0))).await?, None),
            },
        };
        // Before the socket is open: a client that starts an execution then misses none of its output.
        let wants_executions = frames == Frames::Json && query.executions != Some(false);
        let editor_output = if wants_executions && who.bounds.allows_in(Area::Executions, Need::Read) {
            Some(EditorOutput::open(&gateway, session).await?)
        } else {
            None
        };
        let mut due = VecDeque::from([Due::Notice(Notice::Attached(size))]);
        due.extend(drawn.into_iter().flat_map(Due::screen));
        Ok(Self {
            gateway,
            who,
            id,
            name,
            shared,
            registration,
            window,
            skip,
            frames,
            refusal,
            follower,
            due,
            editor_output,
        })
    }

    async fn serve(self, socket: WebSocket) {
        let (sink, stream) = socket.split();
        let (gateway, id, shared, registration) = (self.gateway, self.id, self.shared, self.registration);
        if self.frames == Frames::Binary {
            shared.speaks_binary();
        }
        if let Some(size) = self.window
            && let Err(error) = registration.set_window(size).await
        {
            shared.send_error(error.into());
        }
        let position = self.follower.position();
        let marks = gateway.worker.follow_marks(id, position).await;
        let encoder = ViewerEncoder {
            gateway: Arc::clone(&gateway),
            id,
            name: self.name,
            shared: Arc::clone(&shared),
            sends_events: self.frames == Frames::Events,
            read_only: self.refusal.is_some(),
            came_at: position,
            marks: marks
                .inspect_err(|error| tracing::debug!(%error, %id, "the terminal's marks cannot be followed"))
                .ok(),
            held: None,
            editor_output: self.editor_output,
        };
        let outgoing = Outgoing {
            id,
            sink,
            shared: Arc::clone(&shared),
            encoder,
            views: EventViews::default(),
            position,
            follower: self.follower,
            skip: self.skip,
            heartbeat: gateway.config.heartbeat,
            open: OpenStream::new(&gateway, "terminal"),
            due: self.due,
            paced_until: Instant::now(),
            is_others_turn: false,
        };
        let validity = gateway.auth.validity(&self.who);
        let input = Input::new(Arc::clone(&gateway), id, Arc::clone(&shared));
        let (who, refusal) = (self.who, self.refusal);
        let incoming = ViewerCommands { gateway, id, who, shared, input, registration, refusal };
        Box::pin(socket::serve(outgoing, stream, incoming, validity.ended())).await;
    }
}

/// The error for input, if this viewer has read-only access.
async fn refusal(gateway: &Gateway, who: &Identity, session: SessionId, read_only: bool) -> Option<ApiError> {
    if read_only {
        let hint = "open the terminal without `read_only=true`";
        return Some(ApiError::forbidden("this socket is read-only", hint));
    }
    gateway.auth.may_use_session(who, Need::Write, session).await.err()
}
