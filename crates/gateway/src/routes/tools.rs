//! The tools of an agent: `POST /v1/tools/code_execution` and `POST /v1/tools/run_command`.
//!
//! A call is an execution like any other: it runs on when its caller goes away, and its result can be had later from
//! the execution's routes, from the conversation's stream, or by asking again with the same `Idempotency-Key`.

mod interactive;
mod request;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use headwater_contract::FollowOptions;
use headwater_protocol::api::{ErrorBody, Timestamp};
use headwater_protocol::{
    Command, Execution, ExecutionId, ExitDetail, Reason, SessionId, StartSpec, Verdict,
};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::request::{Call, CodeExecutionRequest, RunCommandRequest};
use crate::auth::{Identity, Need, authorise};
use crate::error::ApiError;
use crate::executions::start::{Order, execution_row};
use crate::http::extract::wants_events;
use crate::http::idempotency::{Asked, Keyed};
use crate::http::openapi::{Common, IdempotencyKey, NotFound, TakesJson, TakesKey};
use crate::now_ms;
use crate::state::Gateway;
use crate::streams::feed::{Dialect, Ending, Feed, Followed, Subject, ToolEvent, ToolResult, ToolResultBody};
use crate::streams::feed::{feed_response, result_response};
use crate::streams::sse::EventQuery;

/// How long the worker is asked to wait at a time.
const LONG_POLL: Duration = Duration::from_secs(30);

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(code_execution)).routes(routes!(run_command))
}

/// Runs code for an agent: `runtime` is `terminal` (bash), `python` or `nodejs`.
///
/// With `Accept: text/event-stream` the answer is a stream, as the program prints: `TOOL_CALL_START`
/// (`{type, id, tool_name, tool_args, thread_id, timestamp, execution_id}`), a `CODE_EXECUTION_OUTPUT` for each chunk of
/// at most 4096 bytes (`{type, tool_call_id, thread_id, source, stdout | stderr, timestamp, execution_id}`; `source` is
/// `stdout`, `stderr`, `timeout` or `error`, and the text of the last two is in `stderr`), and at the end the
/// `TOOL_RESULT`. Without it the answer is that result, when the program has ended.
///
/// If the caller goes away the program runs on. With the same `Idempotency-Key` the same request is answered again from
/// the beginning, and starts nothing. Calls with the same `interactive_id` share a session, and so their files; it
/// ends after 15 minutes without a call. Other calls (that name no `session_id` either) have a session of their own that
/// ends with them, and processes that they leave behind end too.
#[utoipa::path(post, path = "/v1/tools/code_execution", tag = "tools",
    params(
        IdempotencyKey,
        ("Accept" = Option<String>, Header, description = "`text/event-stream` for a stream"),
    ),
    request_body = CodeExecutionRequest,
    responses(
        (status = 200, description = "what came of it; or the events, if they were asked for", content(
            (ToolResultBody = "application/json"), (ToolEvent = "text/event-stream"),
        )),
        Common, NotFound, TakesJson, TakesKey,
        (status = 409, body = ErrorBody),
))]
async fn code_execution(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    headers: HeaderMap,
    Keyed { value, asked }: Keyed<CodeExecutionRequest>,
) -> Result<Response, ApiError> {
    let call = Call::try_from(value)?;
    Box::pin(answer(&gateway, &who, call, asked, wants_events(&headers))).await
}

/// Runs a line in the shell (bash) for an agent, in a session of its own, and answers with what came of it.
///
/// With `Accept: text/event-stream` as `POST /v1/tools/code_execution`. With a `conversationId` its progress is at
/// `GET /tool-progress/{conversation_id}`.
#[utoipa::path(post, path = "/v1/tools/run_command", tag = "tools",
    params(
        IdempotencyKey,
        ("Accept" = Option<String>, Header, description = "`text/event-stream` for a stream"),
    ),
    request_body = RunCommandRequest,
    responses(
        (status = 200, description = "what came of it; or the events, if they were asked for", content(
            (ToolResultBody = "application/json"), (ToolEvent = "text/event-stream"),
        )),
        Common, NotFound, TakesJson, TakesKey,
        (status = 409, body = ErrorBody),
))]
async fn run_command(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    headers: HeaderMap,
    Keyed { value, asked }: Keyed<RunCommandRequest>,
) -> Result<Response, ApiError> {
    let call = Call::try_from(value)?;
    Box::pin(answer(&gateway, &who, call, asked, wants_events(&headers))).await
}

async fn answer(
    gateway: &Arc<Gateway>,
    who: &Identity,
    call: Call,
    asked: Asked,
    as_events: bool,
) -> Result<Response, ApiError> {
    authorise(who, Need::Write)?;
    let order = Order { session: call.session, spec: call.spec, asked };
    let started = match call.interactive {
        Some(id) => begin_interactive(gateway, who, &id, order.clone(), as_events).await,
        None => begin(gateway, who, order.clone(), as_events).await,
    };
    match started {
        Ok(Begun::Following(followed)) => {
            Ok(feed_response(gateway, Feed::of_one(gateway, Dialect::ToolCalls, *followed)))
        }
        Ok(Begun::Started(execution)) => {
            let (id, ended) = (execution.id, end_of(gateway, *execution).await?);
            Ok(result_response(gateway, ToolResult::ended(&subject(gateway, id).await?, &ended)))
        }
        Err(error) => match missing_runtime(gateway, &error, &order.spec).await? {
            Some(runtime) => Ok(refused(gateway, who, order.spec, &runtime, as_events)),
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
    order: Order,
    as_events: bool,
) -> Result<Begun, ApiError> {
    if !as_events {
        return Ok(Begun::Started(Box::new(gateway.starts.start(who, order).await?)));
    }
    let options = FollowOptions { until_closed: false, ..EventQuery::default().into_options()? };
    let (id, follower) = gateway.starts.run(who, order, options.clone()).await?;
    let told = Followed::new(Arc::clone(gateway), 0, subject(gateway, id).await?, options);
    Ok(Begun::Following(Box::new(told.with_follower(follower))))
}

/// The same in the session that calls of this name share. It may end between being found and being used: then the next
/// one is used.
async fn begin_interactive(
    gateway: &Arc<Gateway>,
    who: &Identity,
    name: &str,
    order: Order,
    as_events: bool,
) -> Result<Begun, ApiError> {
    let in_session = |id: SessionId| Order { session: Some(id), ..order.clone() };
    let session = interactive::session(gateway, who, name).await?;
    match begin(gateway, who, in_session(session), as_events).await {
        Err(error) if matches!(error.status, StatusCode::CONFLICT | StatusCode::NOT_FOUND) => {
            let next = interactive::session(gateway, who, name).await?;
            if next == session { Err(error) } else { begin(gateway, who, in_session(next), as_events).await }
        }
        begun => begun,
    }
}

/// What a call's execution is known by.
async fn subject(gateway: &Gateway, id: ExecutionId) -> Result<Subject, ApiError> {
    let row = gateway.store.execution(id).await?;
    row.map(Subject::new).ok_or_else(|| ApiError::not_found("execution", &id.to_string()))
}

/// Waits for an execution's end.
async fn end_of(gateway: &Arc<Gateway>, mut told: Execution) -> Result<Verdict, ApiError> {
    let id = told.id;
    loop {
        gateway.recorder.note(&told).await?;
        if let Some(verdict) = told.state.verdict() {
            return Ok(verdict.clone());
        }
        let wait = gateway.worker.wait(id, LONG_POLL, false);
        told = tokio::select! {
            told = wait => told?,
            () = gateway.background.stopping.cancelled() => {
                let hint = format!("it runs on: `GET /v1/executions/{id}` tells how it ended");
                return Err(ApiError::unavailable("the server is being restarted", hint));
            }
        };
    }
}

/// The language whose interpreter is not installed here, if that is why a start was refused.
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

/// The answer to a call whose runtime is missing: a result like any other.
fn refused(gateway: &Arc<Gateway>, who: &Identity, spec: StartSpec, name: &str, as_events: bool) -> Response {
    let (id, session) = (ExecutionId::random(), SessionId::random());
    let subject = Subject::new(execution_row(id, session, who.owner.clone(), spec, now_ms())).unaccepted();
    if !as_events {
        return result_response(
            gateway,
            ToolResult::new(&subject, Timestamp(now_ms()), Ending::missing(name)),
        );
    }
    let verdict = Verdict {
        message: Some(format!("command not found: `{name}`")),
        detail: Some(ExitDetail::command_not_found(name)),
        ..Verdict::new(Reason::SetupFailed)
    };
    let followed = Followed::refused(Arc::clone(gateway), subject, verdict);
    feed_response(gateway, Feed::of_one(gateway, Dialect::ToolCalls, followed))
}
