//! `POST /v1/tools/{tool}`: an agent calls a tool in a session.
//!
//! The body has the arguments and nothing else, so that a loop can pass on what the model wrote. The query string says
//! where and for whom the tool works.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use headwater_protocol::Session;
use headwater_protocol::api::ErrorCode;
use headwater_tools::policy::ApprovalPolicy;
use headwater_tools::schema::{ArgumentError, Call, Tool, tool_named};
use headwater_tools::{Outcome, Request};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::outcome::{ToolEvents, ToolOutcomeBody};
use super::place::Place;
use crate::auth::{Identity, own_origin, unauthenticated};
use crate::error::ApiError;
use crate::executions::tool_call::checked_id;
use crate::http::extract::{Json, Path, Query, wants_events};
use crate::http::openapi::{Common, Conflict, NotFound, TakesJson};
use crate::state::Gateway;
use crate::tools::{Caller, Recording};

/// The name of an agent that has none.
const DEFAULT_AGENT: &str = "default";
/// How much of an unknown name an error shows.
const MAX_SHOWN_CHARS: usize = 64;

/// Where and for whom a tool works.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct CallQuery {
    /// The session: its id, its name or a unique prefix of its id. If absent: the session of the conversation, or else
    /// of the agent, which is created by the first call.
    session: Option<String>,
    /// The name of the agent: `default` if absent. Each agent has its own positions in the output of executions.
    #[param(min_length = 1, max_length = 256)]
    agent: Option<String>,
    /// The conversation whose streams show what the tool starts.
    #[param(min_length = 1, max_length = 256)]
    conversation_id: Option<String>,
    /// The id that the model gave the call.
    #[param(min_length = 1, max_length = 256)]
    tool_call_id: Option<String>,
}

/// The arguments of a tool, as its schema in `GET /v1/tools` describes them.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(examples(json!({})))]
pub(super) struct ToolArguments {
    #[serde(flatten)]
    #[schema(value_type = HashMap<String, Value>)]
    fields: Map<String, Value>,
}

/// A call that may begin.
pub(super) struct Prepared {
    pub(super) gateway: Arc<Gateway>,
    pub(super) who: Identity,
    pub(super) session: Session,
    /// The address by which the caller knows this server.
    origin: String,
    tool: &'static Tool,
    caller: Caller,
    tool_call_id: Option<String>,
    arguments: Value,
    recording: Recording,
}

/// Calls a tool for an agent, in a session, and returns its result for the model.
///
/// The body has the arguments of the tool (`GET /v1/tools` lists them); the query string has everything else. A tool that
/// fails, or refuses its arguments, is a result with `is_error` that the model should read. Other responses than
/// 200 are for the caller: an unknown tool or session, a missing right, a body that is not a JSON object.
///
/// With `Accept: text/event-stream` the response is a stream: `progress` events with the newest output while the tool
/// waits for a program, at most ten in a second, and the `result` at the end. If the caller disconnects, the waiting ends;
/// the program continues, unless the arguments say `"on_disconnect": "kill"`.
///
/// A token with scopes needs `files:read` or `files:write` for tools that work on files, and `executions:read` or
/// `executions:write` for all others. Viewers of a session may call the tools that only read.
#[utoipa::path(post, path = "/v1/tools/{tool}", operation_id = "callTool", tag = "tools",
    params(
        ("tool" = String, Path, description = "the name of the tool"),
        CallQuery,
        ("Accept" = Option<String>, Header, description = "`text/event-stream` for a stream"),
    ),
    request_body = ToolArguments,
    responses(
        (status = 200, description = "the result, or the events if requested", content(
            (ToolOutcomeBody = "application/json"), (ToolEvents = "text/event-stream"),
        )),
        Common, NotFound, TakesJson, Conflict,
))]
pub(super) async fn call_tool(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(name): Path<String>,
    Query(query): Query<CallQuery>,
    headers: HeaderMap,
    Json(ToolArguments { fields: arguments }): Json<ToolArguments>,
) -> Result<Response, ApiError> {
    let origin = own_origin(&headers);
    let call = Box::pin(prepare(&gateway, who, origin, &name, query, arguments)).await?;
    if wants_events(&headers) {
        return Ok(super::outcome::events(call));
    }
    let stopping = gateway.background.stopping.clone();
    // A call can take an hour: it lasts no longer than its credential.
    let validity = gateway.auth.validity(&call.who);
    tokio::select! {
        body = call.run(None) => Ok(axum::Json(body).into_response()),
        () = stopping.cancelled() => Err(restarting()),
        () = validity.ended() => Err(unauthenticated()),
    }
}

/// The server stops while a tool waits (503).
pub(super) fn restarting() -> ApiError {
    let hint = "programs continue to run: call the tool `list_executions`, `wait` or `read_output` next";
    ApiError::unavailable("the server is being restarted", hint)
}

async fn prepare(
    gateway: &Arc<Gateway>,
    who: Identity,
    origin: String,
    name: &str,
    query: CallQuery,
    arguments: Map<String, Value>,
) -> Result<Prepared, ApiError> {
    let tool = tool_named(name).map_err(|error| unknown_tool(name, &error))?;
    let check = |field, value: Option<String>| value.map(|value| checked_id(field, value)).transpose();
    let agent = check("agent", query.agent)?.unwrap_or_else(|| DEFAULT_AGENT.to_owned());
    let conversation_id = check("conversation_id", query.conversation_id)?;
    let tool_call_id = check("tool_call_id", query.tool_call_id)?;
    // A call over plain HTTP has nobody to ask.
    let caller = Caller { agent, conversation_id, approvals: ApprovalPolicy::Never };
    let place = Place { session: query.session.as_deref(), caller: &caller };
    let arguments = Value::Object(arguments);
    let (session, recording) = place.begin(gateway, &who, tool, tool_call_id.as_deref(), &arguments).await?;
    let gateway = Arc::clone(gateway);
    Ok(Prepared { gateway, who, session, origin, tool, caller, tool_call_id, arguments, recording })
}

fn unknown_tool(name: &str, error: &ArgumentError) -> ApiError {
    let name: String = name.chars().take(MAX_SHOWN_CHARS).collect();
    let hint = format!("{}; `GET /v1/tools` has their schemas", error.hint);
    ApiError::new(ErrorCode::NotFound, format!("there is no tool `{name}`"), hint)
}

impl Prepared {
    /// Calls the tool and records the call, even if the future is dropped.
    pub(super) async fn run(self, live: Option<super::outcome::Live>) -> ToolOutcomeBody {
        let Self { gateway, who, session, origin, tool, caller, tool_call_id, arguments, recording } = self;
        let session_id = session.id;
        let outcome = match Call::parse(tool.name, arguments) {
            Ok(call) => {
                let agent = gateway.tools.agent(&who, &origin, session, &caller);
                agent.call(Request { call, tool_call_id, approved: None }, live).await
            }
            Err(error) => Outcome::from(headwater_tools::ToolError::from(error)),
        };
        let took = recording.finish(&outcome);
        ToolOutcomeBody::new(outcome, session_id, took)
    }
}
