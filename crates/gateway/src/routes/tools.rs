//! Tools for agents: `GET /v1/tools` and `POST /v1/tools/{tool}`, whose handlers are in the files of this folder, and
//! `POST /v1/tools/code_execution` and `POST /v1/tools/run_command` (or `runCommand`) below.
//!
//! A call of these two is an execution like any other: it continues if the caller disconnects, and its result is available
//! later from the execution's routes, from the conversation's stream, or by repeating the request with the
//! same `Idempotency-Key`.

mod call;
mod history;
pub(crate) mod interactive;
mod list;
mod outcome;
pub(crate) mod place;
mod request;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use headwater_contract::FollowOptions;
use headwater_protocol::api::Timestamp;
use headwater_protocol::{
    Command, Execution, ExecutionId, ExitDetail, Reason, SessionId, StartSpec, Verdict,
};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::request::{Call, CodeExecutionRequest, RunCommandName, RunCommandRequest};
use crate::auth::{Identity, Need, authorise};
use crate::error::ApiError;
use crate::executions::start::{ExecutionSpec, execution_row};
use crate::http::extract::{Query, wants_events};
use crate::http::idempotency::Keyed;
use crate::http::openapi::{Common, Conflict, IdempotencyKey, NotFound, TakesJson, TakesKey};
use crate::now_ms;
use crate::state::Gateway;
use crate::streams::feed::{Dialect, Ending, Feed, Followed, Subject, ToolEvent, ToolResult, ToolResultBody};
use crate::streams::feed::{feed_response, result_response};
use crate::streams::sse::EventQuery;

/// How long one call to the worker waits for the end of an execution.
const LONG_POLL: Duration = Duration::from_secs(30);

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    // The document lists a route once; `runCommand` is the other name of `run_command`.
    OpenApiRouter::new()
        .routes(routes!(list::list_tools))
        .routes(routes!(call::call_tool))
        .routes(routes!(history::list_calls))
        .routes(routes!(code_execution))
        .routes(routes!(run_command))
        .route("/v1/tools/runCommand", axum::routing::post(run_command_in_camel_case))
}

/// The query parameters of a tool.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ToolQuery {
    /// The format of the events: `tool_calls` if absent.
    #[param(inline)]
    dialect: Option<CallDialect>,
}

/// The format of the events of a call.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum CallDialect {
    /// The fields are in `payload`.
    #[default]
    ToolCalls,
    /// The fields are beside `type`.
    ToolCallsFlat,
}

impl From<ToolQuery> for Dialect {
    fn from(query: ToolQuery) -> Self {
        match query.dialect.unwrap_or_default() {
            CallDialect::ToolCalls => Self::ToolCalls,
            CallDialect::ToolCallsFlat => Self::ToolCallsFlat,
        }
    }
}

/// Runs code for an agent: `runtime` is `terminal` (bash), `python` or `nodejs`.
///
/// With `Accept: text/event-stream` the response is a stream of `{type, thread_id, timestamp, payload}`. The payload
/// of `TOOL_CALL_START` is `{id, tool_name, tool_args, thread_id, timestamp, execution_id}`. A
/// `CODE_EXECUTION_OUTPUT` follows for each chunk of at most 4096 bytes: `{tool_call_id, thread_id, source, stdout |
/// stderr, timestamp, execution_id}`; `source` is `stdout`, `stderr`, `timeout` or `error`, and the text of the last
/// two is in `stderr`, that of `error` in `error` too. The last event is the `TOOL_RESULT`. With
/// `dialect=tool_calls_flat` the fields of the payload are beside `type`. Without `Accept: text/event-stream` the
/// response is the payload of the `TOOL_RESULT`, after the program has ended.
///
/// The program continues if the caller disconnects. The same request with the same `Idempotency-Key` is
/// answered again from the beginning, and starts nothing. Calls with the same `interactive_id` share a
/// session, which hibernates when it is idle. The session keeps files, installed packages and running
/// background processes between calls. It does not keep variables, imports or the working directory, because
/// every call is a new process: save in files what the next call needs. Other calls without a `session_id` get
/// a dedicated session, which ends with them, including background processes.
#[utoipa::path(post, path = "/v1/tools/code_execution", operation_id = "runCodeExecutionTool", tag = "tools",
    params(
        IdempotencyKey,
        ToolQuery,
        ("Accept" = Option<String>, Header, description = "`text/event-stream` for a stream"),
    ),
    request_body = CodeExecutionRequest,
    responses(
        (status = 200, description = "the result, or the events if requested", content(
            (ToolResultBody = "application/json"), (ToolEvent = "text/event-stream"),
        )),
        Common, NotFound, TakesJson, TakesKey, Conflict,
))]
async fn code_execution(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Query(query): Query<ToolQuery>,
    headers: HeaderMap,
    request: Keyed<CodeExecutionRequest>,
) -> Result<Response, ApiError> {
    Box::pin(answer(&gateway, &who, request, events(query, &headers))).await
}

/// Runs a shell command (bash) for an agent and returns the result.
///
/// It runs in the session `sessionId`, in the session of its `interactiveId`, or in a dedicated session. With
/// `Accept: text/event-stream` the response is a stream, as in `POST /v1/tools/code_execution`. With a
/// `conversationId` the progress is at `GET /tool-progress/{conversation_id}`. This route is also at
/// `/v1/tools/runCommand`; the tool's name in the events is then `runCommand`.
#[utoipa::path(post, path = "/v1/tools/run_command", operation_id = "runCommandTool", tag = "tools",
    params(
        IdempotencyKey,
        ToolQuery,
        ("Accept" = Option<String>, Header, description = "`text/event-stream` for a stream"),
    ),
    request_body = RunCommandRequest,
    responses(
        (status = 200, description = "the result, or the events if requested", content(
            (ToolResultBody = "application/json"), (ToolEvent = "text/event-stream"),
        )),
        Common, NotFound, TakesJson, TakesKey, Conflict,
))]
async fn run_command(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Query(query): Query<ToolQuery>,
    headers: HeaderMap,
    request: Keyed<RunCommandRequest>,
) -> Result<Response, ApiError> {
    Box::pin(answer(&gateway, &who, request, events(query, &headers))).await
}

/// The same as [`run_command`], with the tool's name in camel case.
async fn run_command_in_camel_case(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Query(query): Query<ToolQuery>,
    headers: HeaderMap,
    mut request: Keyed<RunCommandRequest>,
) -> Result<Response, ApiError> {
    request.value.tool = RunCommandName::Camel;
    Box::pin(answer(&gateway, &who, request, events(query, &headers))).await
}

/// The format of the events, if the caller requests events.
fn events(query: ToolQuery, headers: &HeaderMap) -> Option<Dialect> {
    wants_events(headers).then(|| query.into())
}

async fn answer<T>(
    gateway: &Arc<Gateway>,
    who: &Identity,
    Keyed { value, request_key }: Keyed<T>,
    events: Option<Dialect>,
) -> Result<Response, ApiError>
where
    Call: TryFrom<T, Error = ApiError>,
{
    let call = Call::try_from(value)?;
    authorise(who, Need::Write)?;
    let session = match &call.session {
        Some(text) => Some(gateway.session_named(who, Need::Write, text).await?),
        None => None,
    };
    let execution = ExecutionSpec { session, spec: call.spec, request_key };
    let as_events = events.is_some();
    let started = match call.interactive {
        Some(id) => begin_interactive(gateway, who, &id, execution.clone(), as_events).await,
        None => begin(gateway, who, execution.clone(), as_events).await,
    };
    match started {
        Ok(Begun::Following(followed)) => {
            let dialect = events.unwrap_or(Dialect::ToolCalls);
            Ok(feed_response(gateway, Feed::of_one(gateway, dialect, *followed)))
        }
        Ok(Begun::Started(execution)) => {
            let (id, ended) = (execution.id, end_of(gateway, *execution).await?);
            Ok(result_response(gateway, ToolResult::ended(&subject(gateway, id).await?, &ended)))
        }
        Err(error) => match missing_runtime(gateway, &error, &execution.spec).await? {
            Some(runtime) => Ok(refused(gateway, who, execution.spec, &runtime, events)),
            None => Err(error),
        },
    }
}

enum Begun {
    Started(Box<Execution>),
    Following(Box<Followed>),
}

async fn begin(
    gateway: &Arc<Gateway>,
    who: &Identity,
    execution: ExecutionSpec,
    as_events: bool,
) -> Result<Begun, ApiError> {
    if !as_events {
        return Ok(Begun::Started(Box::new(gateway.starts.start(who, execution).await?)));
    }
    let options = FollowOptions { until_closed: false, ..EventQuery::default().into_options()? };
    let (id, follower) = gateway.starts.run(who, execution, options.clone()).await?;
    let execution = Followed::new(Arc::clone(gateway), 0, subject(gateway, id).await?, options);
    Ok(Begun::Following(Box::new(execution.with_follower(follower))))
}

/// Like [`begin`], in the session that calls with this id share. The session may end between being found and
/// being used; the next one is used then.
async fn begin_interactive(
    gateway: &Arc<Gateway>,
    who: &Identity,
    name: &str,
    execution: ExecutionSpec,
    as_events: bool,
) -> Result<Begun, ApiError> {
    let in_session = |id: SessionId| ExecutionSpec { session: Some(id), ..execution.clone() };
    let session = interactive::session(gateway, who, name).await?;
    match begin(gateway, who, in_session(session), as_events).await {
        Err(error) if matches!(error.status, StatusCode::CONFLICT | StatusCode::NOT_FOUND) => {
            let next = interactive::session(gateway, who, name).await?;
            if next == session { Err(error) } else { begin(gateway, who, in_session(next), as_events).await }
        }
        begun => begun,
    }
}

/// The metadata of a call's execution.
async fn subject(gateway: &Gateway, id: ExecutionId) -> Result<Subject, ApiError> {
    let row = gateway.store.execution(id).await?;
    row.map(Subject::new).ok_or_else(|| ApiError::not_found("execution", &id.to_string()))
}

/// Waits for the end of an execution.
async fn end_of(gateway: &Arc<Gateway>, mut execution: Execution) -> Result<Verdict, ApiError> {
    let id = execution.id;
    loop {
        gateway.recorder.note(&execution).await?;
        if let Some(verdict) = execution.state.verdict() {
            return Ok(verdict.clone());
        }
        let wait = gateway.worker.wait(id, LONG_POLL, false);
        execution = tokio::select! {
            execution = wait => execution?,
            () = gateway.background.stopping.cancelled() => {
                let hint = format!("it continues to run: `GET /v1/executions/{id}` returns its end");
                return Err(ApiError::unavailable("the server is being restarted", hint));
            }
        };
    }
}

/// The language whose interpreter is not installed, if that is why the start was refused.
async fn missing_runtime(
    gateway: &Gateway,
    error: &ApiError,
    spec: &StartSpec,
) -> Result<Option<String>, ApiError> {
    let Command::Code { language, .. } = &spec.command else {
        return Ok(None);
    };
    if error.status != StatusCode::BAD_REQUEST {
        return Ok(None);
    }
    let known = gateway.language_named(language).await?;
    Ok(known.filter(|known| known.interpreter.is_none()).map(|known| known.name))
}

/// The response to a call whose runtime is not installed: a result like any other.
fn refused(
    gateway: &Arc<Gateway>,
    who: &Identity,
    spec: StartSpec,
    name: &str,
    events: Option<Dialect>,
) -> Response {
    let (id, session) = (ExecutionId::random(), SessionId::random());
    let subject = Subject::new(execution_row(id, session, who.owner.clone(), spec, now_ms())).unaccepted();
    let Some(dialect) = events else {
        return result_response(
            gateway,
            ToolResult::new(&subject, Timestamp(now_ms()), Ending::missing(name)),
        );
    };
    let verdict = Verdict {
        message: Some(format!("command not found: `{name}`")),
        detail: Some(ExitDetail::command_not_found(name)),
        ..Verdict::new(Reason::SetupFailed)
    };
    let followed = Followed::refused(Arc::clone(gateway), subject, verdict);
    feed_response(gateway, Feed::of_one(gateway, dialect, followed))
}
