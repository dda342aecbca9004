//! The endpoint: its routes, and its life.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, State as Shared};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::serve::ListenerExt;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;

use crate::answer::{self, Wire};
use crate::dialect::{Answer, Dialect};
use crate::pieces::{Piece, pieces};
use crate::script::{Failure, Finish, Script, Turn};
use crate::state::{Recorded, State, now_ms};

/// The largest request: a long conversation with images.
const MAX_REQUEST_BYTES: usize = 256 << 20;

/// A running endpoint; it ends when this is dropped.
#[derive(Debug)]
pub struct ScriptedModel {
    state: Arc<State>,
    address: SocketAddr,
    server: JoinHandle<()>,
}

impl ScriptedModel {
    /// Starts an endpoint on a free port of loopback.
    pub async fn start(script: Script) -> io::Result<Self> {
        Self::start_at(script, 0).await
    }

    /// Starts an endpoint on this port of loopback.
    pub async fn start_at(script: Script, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        // A token is one small packet: it must not wait until the reader has acknowledged the one before.
        let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
        let state = Arc::new(State::new(script));
        let router = router(Arc::clone(&state));
        let server = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await; // never returns
        });
        Ok(Self { state, address, server })
    }

    /// The address, for `base_url`: `http://127.0.0.1:PORT/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The address of the server: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests that it got.
    pub fn requests(&self) -> Vec<Recorded> {
        self.state.requests()
    }

    /// How many answers wait for a release.
    pub fn waiting(&self) -> usize {
        self.state.gate.waiting()
    }

    /// Releases everything that waits, as soon as something does; returns how much it was.
    pub async fn release(&self) -> usize {
        self.state.gate.release().await
    }

    /// Replaces the script.
    pub fn set_script(&self, script: Script) {
        self.state.set_script(script);
    }

    /// Serves until the process ends.
    pub async fn serve(mut self) {
        let _ = (&mut self.server).await;
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn router(state: Arc<State>) -> Router {
    let models = |Shared(state): Shared<Arc<State>>, headers: HeaderMap| async move {
        match unauthorized(&state.script(), &headers, Dialect::Chat) {
            Some(refusal) => refusal,
            None => Json(json!({"object": "list", "data": [{"id": "scripted", "object": "model"}]}))
                .into_response(),
        }
    };
    let script = |Shared(state): Shared<Arc<State>>, text: String| async move {
        text.parse().map(|script| state.set_script(script)).map_err(|why| (StatusCode::BAD_REQUEST, why))
    };
    Router::new()
        .route("/v1/models", get(models))
        .route("/v1/chat/completions", route(Dialect::Chat))
        .route("/v1/responses", route(Dialect::Responses))
        .route("/v1/messages", route(Dialect::Messages))
        .route(
            "/control/release",
            post(|Shared(state): Shared<Arc<State>>| async move {
                Json(json!({"released": state.gate.release().await}))
            }),
        )
        .route(
            "/control/requests",
            get(|Shared(state): Shared<Arc<State>>| async move { Json(state.requests()) }),
        )
        .route("/control/script", put(script))
        .layer(DefaultBodyLimit::max(MAX_REQUEST_BYTES))
        .with_state(state)
}

fn route(dialect: Dialect) -> axum::routing::MethodRouter<Arc<State>> {
    post(
        move |Shared(state): Shared<Arc<State>>, uri: Uri, headers: HeaderMap, body: bytes::Bytes| async move {
            respond(state, dialect, uri.path(), &headers, &body).await
        },
    )
}

async fn respond(
    state: Arc<State>,
    dialect: Dialect,
    path: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> Response {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let names = headers.keys().map(ToString::to_string).collect();
    let script = state.script();
    let request = dialect.request(&body);
    let title = script.title_turn(&request);
    // A script without a title does not know that titles are asked for.
    if title.is_none() || script.title.is_some() {
        state.record(Recorded { path: path.to_owned(), headers: names, body, at_ms: now_ms() });
    }
    if let Some(refusal) = unauthorized(&script, headers, dialect) {
        return refusal;
    }
    let (position, turn) = match title.map_or_else(|| script.turn(&request), Ok) {
        Ok(found) => found,
        Err((_, turn)) => {
            let message = format!("script_ended: the script has no turn {} for this request", turn + 1);
            return failure(dialect, 400, &message);
        }
    };
    if let Some(fail) = turn.fail.as_ref().filter(|_| state.fails(position, turn, &request)) {
        return failed(dialect, fail);
    }
    let breaks = state.breaks(position, turn, &request);
    let is_plain = turn.is_plain || !request.is_stream;
    send(state, dialect, request.model, turn, breaks, is_plain).await
}

async fn send(
    state: Arc<State>,
    dialect: Dialect,
    model: String,
    turn: &Turn,
    breaks: bool,
    is_plain: bool,
) -> Response {
    let pieces = pieces(turn, || state.id("call"));
    let default = if turn.tool_calls.is_empty() { Finish::Stop } else { Finish::ToolCalls };
    let finish = turn.finish.unwrap_or(default);
    let mut answer = Answer { id: state.id("answer"), model, finish, usage: turn.usage, parts: Vec::new() };
    let (sender, receiver) = mpsc::channel(1);
    let mut wire = Wire::new(sender, turn, breaks);
    let kind = if is_plain { "application/json" } else { "text/event-stream" };
    if let Some(raw) = turn.raw.clone() {
        let is_held = pieces.first() == Some(&Piece::Hold);
        tokio::spawn(async move {
            if is_held {
                state.gate.wait().await;
            }
            wire.send(raw.as_bytes()).await
        });
    } else if is_plain {
        answer::collect(&state, &mut answer, pieces).await;
        let text = dialect.whole(&answer).to_string();
        tokio::spawn(async move { wire.send(text.as_bytes()).await });
    } else {
        let error = turn.error.clone();
        tokio::spawn(answer::stream(state, answer, dialect.encoder(), pieces, error, wire));
    }
    ([("content-type", kind)], Body::from_stream(ReceiverStream::new(receiver))).into_response()
}

fn unauthorized(script: &Script, headers: &HeaderMap, dialect: Dialect) -> Option<Response> {
    let key = script.key.as_ref()?;
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let is_right = header("x-api-key") == Some(key.as_str())
        || header("authorization").and_then(|value| value.strip_prefix("Bearer ")) == Some(key.as_str());
    (!is_right).then(|| failure(dialect, 401, "the key is wrong"))
}

fn failure(dialect: Dialect, status: u16, message: &str) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, Json(dialect.failure(status.as_u16(), message))).into_response()
}

fn failed(dialect: Dialect, fail: &Failure) -> Response {
    let mut response =
        failure(dialect, fail.status, fail.message.as_deref().unwrap_or("it fails as scripted"));
    let retry_after = fail.retry_after.as_ref().map(|value| match value {
        Value::String(text) => ("retry-after", text.clone()),
        other => ("retry-after", other.to_string()),
    });
    let more = fail.headers.iter().map(|(name, value)| (name.as_str(), value.clone()));
    for (name, value) in retry_after.into_iter().chain(more) {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}
