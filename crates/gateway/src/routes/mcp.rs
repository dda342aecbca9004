//! `/mcp`: the Model Context Protocol over streamable HTTP, in sessions of this server.
//!
//! The guard has checked `Host`, `Origin` and the credential. Each call of a tool needs the same rights as
//! `POST /v1/tools/{tool}`, and is recorded like it.

use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::response::Response;
use axum::routing::any;
use headwater_mcp::{Access, Agents, Caller as McpCaller, Http, McpSession, NewCall, Record, Seal};
use headwater_protocol::SessionState;
use headwater_protocol::api::ErrorCode;
use headwater_tools::policy::ApprovalPolicy;
use headwater_tools::{Agent, Outcome, ToolError};

use super::tools::place::Place;
use crate::auth::{Area, Identity, Need, out_of_scope, own_origin};
use crate::error::ApiError;
use crate::executions::tool_call::checked_id;
use crate::http::extract::body;
use crate::quota::owner_permits::{OwnerPermit, OwnerPermits};
use crate::state::Gateway;
use crate::tools::{Caller, FILE_TOOLS, Recording, tool_error};

/// The headers that a client can be configured with.
const SESSION: &str = "headwater-session";
const CONVERSATION: &str = "headwater-conversation";
const APPROVALS: &str = "headwater-approvals";
/// Calls that run at the same time, of one owner and of all. Each takes some ten kilobytes.
const MAX_CALLS_OF_OWNER: usize = 512;
const MAX_CALLS: usize = 8_192;
/// The name of an agent whose client says none.
const DEFAULT_AGENT: &str = "mcp";

/// The route. It is not part of the OpenAPI document: its messages are those of the protocol.
pub(crate) fn routes(gateway: &Arc<Gateway>) -> Router<Arc<Gateway>> {
    let calls = OwnerPermits::new(MAX_CALLS, MAX_CALLS_OF_OWNER);
    let server = Arc::new(Mcp { gateway: Arc::clone(gateway), calls });
    let stop = gateway.background.stopping.clone();
    let http = Arc::new(Http::new(Arc::clone(&server) as _, server, stop));
    let handle = move |who: Identity, request: Request| {
        let http = Arc::clone(&http);
        async move {
            let (parts, sent) = request.into_parts();
            let bytes = body(Request::from_parts(parts.clone(), sent), &()).await?;
            let request = Request::from_parts(parts, bytes);
            Ok::<Response, ApiError>(http.handle(&who.owner, request).await.map(Body::new))
        }
    };
    Router::new().route("/mcp", any(handle))
}

/// The agents of this server.
#[derive(Debug)]
struct Mcp {
    gateway: Arc<Gateway>,
    /// Calls that run: a client that disconnects does not end the calls of its session.
    calls: OwnerPermits,
}

/// The sender of a request, and what the headers of the client say.
struct Sender {
    who: Identity,
    origin: String,
    session: Option<String>,
    caller: Caller,
}

impl Sender {
    fn of(caller: &McpCaller) -> Result<Self, ApiError> {
        let parts = caller.extensions.get::<Parts>();
        let parts = parts.ok_or_else(|| ApiError::internal(&"a request without its head"))?;
        let who = parts.extensions.get::<Identity>().cloned();
        let who = who.ok_or_else(|| ApiError::internal(&"a request without its identity"))?;
        let client = caller.client.clone().and_then(|name| checked_id("name", name).ok());
        let session = match &caller.session {
            Some(session) => Some(session.clone()),
            None => value(&parts.headers, SESSION)?,
        };
        let approvals = match value(&parts.headers, APPROVALS)? {
            Some(name) => {
                name.parse().map_err(|error| ApiError::invalid(format!("`{APPROVALS}`: {error}")))?
            }
            None => ApprovalPolicy::Never,
        };
        let caller = Caller {
            agent: client.unwrap_or_else(|| DEFAULT_AGENT.to_owned()),
            conversation_id: value(&parts.headers, CONVERSATION)?,
            approvals,
        };
        Ok(Self { who, origin: own_origin(&parts.headers), session, caller })
    }

    fn place(&self) -> Place<'_> {
        Place { session: self.session.as_deref(), caller: &self.caller }
    }

    /// Requires a scope, and makes it the area of the request.
    fn enter(&mut self, area: Area, need: Need) -> Result<(), ApiError> {
        self.who.bounds.area = area;
        if self.who.bounds.allows(need) { Ok(()) } else { Err(out_of_scope(area, need)) }
    }
}

fn too_many_calls() -> ApiError {
    ApiError::new(
        ErrorCode::Exhausted,
        format!("{MAX_CALLS_OF_OWNER} calls of yours, or too many of all users, run at this moment"),
        "wait for one of them to end",
    )
}

/// A header that a client sends.
fn value(headers: &HeaderMap, name: &str) -> Result<Option<String>, ApiError> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    let text = value.to_str().map_err(|_| ApiError::invalid(format!("`{name}` must be ASCII text")))?;
    checked_id(name, text.to_owned()).map(Some)
}

impl Mcp {
    async fn reader(&self, caller: &McpCaller, access: Access) -> Result<Agent, ApiError> {
        let mut sender = Sender::of(caller)?;
        let (areas, need): (&[Area], _) = match access {
            Access::Output => (&[Area::Executions], Need::Read),
            Access::Files => (&[Area::Files], Need::Read),
            Access::Both => (&[Area::Files, Area::Executions], Need::Read),
            Access::Cancel => (&[Area::Executions], Need::Write),
        };
        for area in areas {
            sender.enter(*area, need)?;
        }
        let session = sender.place().session(&self.gateway, &sender.who, need).await?;
        if matches!(session.state, SessionState::Ended { .. }) && access != Access::Output {
            let message = format!("the session `{}` has ended", session.id);
            return Err(ApiError::conflict(message, "create another session"));
        }
        Ok(self.gateway.tools.agent(&sender.who, &sender.origin, session, &sender.caller))
    }

    async fn caller_of(&self, caller: &McpCaller, call: NewCall<'_>) -> Result<(Agent, Recorded), ApiError> {
        let mut sender = Sender::of(caller)?;
        let permit = self.calls.try_acquire(&sender.who.owner).ok_or_else(too_many_calls)?;
        let area = if FILE_TOOLS.contains(&call.tool.name) { Area::Files } else { Area::Executions };
        sender.enter(area, Need::Read)?;
        let (gateway, who) = (&self.gateway, &sender.who);
        let begun = sender.place().begin(gateway, who, call.tool, call.id, call.arguments).await?;
        let (session, recording) = begun;
        let recorded = Recorded { recording, _permit: permit };
        Ok((gateway.tools.agent(who, &sender.origin, session, &sender.caller), recorded))
    }
}

#[async_trait]
impl Agents for Mcp {
    async fn agent(&self, caller: &McpCaller, access: Access) -> Result<Agent, ToolError> {
        Box::pin(self.reader(caller, access)).await.map_err(|error| tool_error(&error))
    }

    async fn begin(
        &self,
        caller: &McpCaller,
        call: NewCall<'_>,
    ) -> Result<(Agent, Option<Box<dyn Record>>), ToolError> {
        let begun = Box::pin(self.caller_of(caller, call)).await.map_err(|error| tool_error(&error))?;
        Ok((begun.0, Some(Box::new(begun.1))))
    }

    fn takes_session(&self) -> bool {
        true
    }
}

/// The record of a call in the history of its session.
#[derive(Debug)]
struct Recorded {
    recording: Recording,
    _permit: OwnerPermit,
}

impl Record for Recorded {
    fn finish(self: Box<Self>, outcome: &Outcome) {
        self.recording.finish(outcome);
    }
}

impl Seal for Mcp {
    fn seal(&self, session: &McpSession) -> Option<String> {
        self.gateway.auth.jwts.seal(session).ok()
    }

    fn unseal(&self, text: &str) -> Option<McpSession> {
        self.gateway.auth.jwts.unseal(text)
    }
}
