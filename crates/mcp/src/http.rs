//! The streamable HTTP transport.
//!
//! A client with a handshake gets an `Mcp-Session-Id`. The id is sealed: it contains the owner and what the client said
//! in its handshake. So a session continues after a restart of the server and on every server with the same secret,
//! without a table, and nobody else can use it. Requests of clients without a handshake (2026-07-28) stand alone.

mod sessions;
mod tasks;

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::agents::Agents;
use crate::server::Server;
use sessions::{OPENING, Opening, SessionManager};

pub use sessions::{McpSession, Seal};

/// The header with the id of a session.
const SESSION_ID: &str = "mcp-session-id";
/// Comments on a stream that has nothing to send keep proxies from closing it.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The body of a response.
pub(crate) type Body = BoxBody<Bytes, Infallible>;

/// Serves all clients of one server.
pub struct Http {
    service: StreamableHttpService<Server, SessionManager>,
    sessions: Arc<SessionManager>,
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("sessions", &self.sessions).finish_non_exhaustive()
    }
}

impl Http {
    /// A transport for these agents. Its streams end when `stop` is cancelled. The caller has checked `Host`, `Origin`,
    /// the credential and the length of the body.
    pub fn new(agents: Arc<dyn Agents>, seal: Arc<dyn Seal>, stop: CancellationToken) -> Self {
        let sessions = Arc::new(SessionManager::new(seal));
        let mut config = StreamableHttpServerConfig::default()
            .with_sse_keep_alive(Some(KEEP_ALIVE))
            .with_json_response(true)
            .with_cancellation_token(stop)
            .with_max_request_body_bytes(usize::MAX)
            .disable_allowed_hosts();
        config.session_store = Some(Arc::clone(&sessions) as _);
        let server = Server::new(agents);
        let connect = move || Ok(server.connected());
        Self { service: StreamableHttpService::new(connect, Arc::clone(&sessions), config), sessions }
    }

    /// Answers a request of this owner.
    pub async fn handle(&self, owner: &str, request: Request<Bytes>) -> Response<Body> {
        let session = match request.headers().get(SESSION_ID).map(|id| id.to_str()) {
            None => None,
            Some(Ok(id)) if self.sessions.is_of(id, owner).await => Some(id.to_owned()),
            // As if it did not exist: a client that reads this begins a new one.
            Some(_) => {
                return refused(
                    StatusCode::NOT_FOUND,
                    "this session does not exist or has ended: initialize again",
                );
            }
        };
        let request = match tasks::translated(request) {
            Ok(request) => request,
            Err(message) => return refused(StatusCode::BAD_REQUEST, &message),
        };
        let handshake = match &session {
            None if request.method() == Method::POST => handshake(request.body()),
            _ => None,
        };
        let is_end = request.method() == Method::DELETE;
        let request = request.map(Full::new);
        let Some(parameters) = handshake else {
            let mut response = self.service.handle(request).await;
            if is_end && response.status() == StatusCode::ACCEPTED {
                // The session has ended, and some clients take nothing else for an answer.
                *response.status_mut() = StatusCode::NO_CONTENT;
            }
            return response;
        };
        let opening = Opening { owner: owner.to_owned(), parameters };
        let response = OPENING.scope(opening, self.service.handle(request)).await;
        tasks::with_capability(response).await
    }
}

/// The parameters of `initialize`, if the message is one.
fn handshake(body: &[u8]) -> Option<Value> {
    let mut message: Value = serde_json::from_slice(body).ok()?;
    let is_one = message.get("method").and_then(Value::as_str) == Some("initialize");
    is_one.then(|| message.get_mut("params").map(Value::take))?
}

fn refused(status: StatusCode, message: &str) -> Response<Body> {
    let body = Full::new(Bytes::copy_from_slice(message.as_bytes())).boxed();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let text = header::HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, text);
    response
}
