//! The editor's routes: run code of a language or a program of the workspace in a session, and ask how it went.
//!
//! They say `completed` and `failed` where the native API says how an execution ended, and hand out output as text.

pub(crate) mod files;
pub(crate) mod read;

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use headwater_contract::FollowOptions;
use headwater_protocol::{
    Command, EventKind, Execution, ExecutionId, ExecutionState, Reason, StartSpec, Stream, Utf8Stream,
    Verdict,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::executions::Patience;
use crate::executions::recorder::is_missing;
use crate::executions::start::Order;
use crate::http::extract::{NoQuery, Path};
use crate::http::idempotency::Keyed;
use crate::http::openapi::{Common, IdempotencyKey, NotFound, SessionEnded, TakesJson, TakesKey};
use crate::packages::in_workspace;
use crate::state::Gateway;
use crate::streams::sse::last;

/// So much of code is in the log, if that is asked for: `HEADWATER_LOG=debug`.
const LOGGED_CHARS: usize = 100;
/// So much of each stream's end is handed out.
const TAIL_BYTES: usize = 1 << 20;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(execute)).routes(routes!(binary)).routes(routes!(status))
}

/// Code to run.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ExecuteRequest {
    /// Where: a session's id, or its name.
    session_id: String,
    /// The path's, if it is said again.
    #[serde(default)]
    language: Option<String>,
    /// The source text.
    code: String,
    /// Where in the workspace it is saved before it runs.
    #[serde(default)]
    file_path: Option<String>,
    /// Its arguments.
    #[serde(default)]
    args: Vec<String>,
}

/// How an execution stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum StatusName {
    /// Accepted, not yet started.
    Queued,
    /// It runs.
    Running,
    /// It ended with the exit code 0.
    Completed,
    /// It ended otherwise.
    Failed,
}

/// What was started.
#[derive(Debug, Serialize, ToSchema)]
struct ExecuteBody {
    /// Its id.
    #[schema(value_type = String)]
    execution_id: ExecutionId,
    /// How it stands.
    status: StatusName,
    /// Its process id inside the session, while it runs.
    pid: Option<i32>,
}

/// Runs code of a language in a session.
#[utoipa::path(post, path = "/v1/sessions/execute/{language}", tag = "editor",
    params(
        ("language" = String, Path, description = "a language of `GET /v1/languages`"),
        IdempotencyKey,
    ),
    request_body = ExecuteRequest,
    responses((status = 200, body = ExecuteBody), Common, NotFound, TakesJson, TakesKey, SessionEnded))]
async fn execute(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(language): Path<String>,
    request: Keyed<ExecuteRequest>,
) -> Result<JsonBody<ExecuteBody>, ApiError> {
    let Keyed { value, asked } = request;
    let session = gateway.session_named(&who, Need::Write, &value.session_id).await?;
    let language = one_language(&gateway, language, value.language.as_deref()).await?;
    let ExecuteRequest { code, file_path: file, args, .. } = value;
    tracing::debug!(%session, language, code = ?beginning(&code), "code of the editor");
    let spec = StartSpec::new(Command::Code { language, code, file, args });
    spec.check()?;
    begin(&gateway, &who, Order { session: Some(session), spec, asked }).await
}

/// The one name of the language in the path, which the body's must mean too.
async fn one_language(gateway: &Gateway, path: String, body: Option<&str>) -> Result<String, ApiError> {
    let meant = gateway.language_named(&path).await?.map_or(path, |known| known.name);
    if let Some(body) = body.filter(|body| *body != meant) {
        let other = gateway.language_named(body).await?.map(|known| known.name);
        if other.as_ref() != Some(&meant) {
            let body: String = body.chars().take(64).collect();
            return Err(ApiError::invalid(format!("`language` is `{body}`, and the path says `{meant}`")));
        }
    }
    Ok(meant)
}

/// The beginning of code, for a log: it is shown escaped.
fn beginning(code: &str) -> String {
    code.chars().take(LOGGED_CHARS).collect()
}

async fn begin(
    gateway: &Arc<Gateway>,
    who: &Identity,
    order: Order,
) -> Result<JsonBody<ExecuteBody>, ApiError> {
    let told = gateway.starts.start(who, order).await?;
    let pid = match told.state {
        ExecutionState::Running { pid } => Some(pid),
        _ => None,
    };
    Ok(JsonBody(ExecuteBody { execution_id: told.id, status: status_name(&told.state), pid }))
}

/// A program to run.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct BinaryRequest {
    /// Where: a session's id, or its name.
    session_id: String,
    /// The program's path in the workspace.
    binary_path: String,
    /// Its arguments.
    #[serde(default)]
    args: Vec<String>,
}

/// Runs a program of a session's workspace.
///
/// One that cannot be started is an execution that has `failed`; its status tells why.
#[utoipa::path(post, path = "/v1/sessions/execute/binary", tag = "editor",
    params(
        IdempotencyKey,
    ),
    request_body = BinaryRequest,
    responses((status = 200, body = ExecuteBody), Common, NotFound, TakesJson, TakesKey, SessionEnded))]
async fn binary(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    request: Keyed<BinaryRequest>,
) -> Result<JsonBody<ExecuteBody>, ApiError> {
    let Keyed { value, asked } = request;
    let session = gateway.session_named(&who, Need::Write, &value.session_id).await?;
    let program = in_workspace(&value.binary_path).map_err(|why| {
        ApiError::invalid(format!("`binary_path` {why}"))
            .hint("name a file, for example `/workspace/build/main`")
    })?;
    let mut argv = vec![program];
    argv.extend(value.args);
    let mut spec = StartSpec::new(Command::Argv(argv));
    let longest = gateway.config.binary_max_runtime;
    spec.timeout_ms = longest.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    spec.check()?;
    begin(&gateway, &who, Order { session: Some(session), spec, asked }).await
}

/// How an execution went, with its output as text.
#[derive(Debug, Serialize, ToSchema)]
struct StatusBody {
    /// Its id.
    #[schema(value_type = String)]
    execution_id: ExecutionId,
    /// How it stands.
    status: StatusName,
    /// The last 1 MiB of its standard output, or of its terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout: Option<String>,
    /// The last 1 MiB of its standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr: Option<String>,
    /// Whether `stdout` or `stderr` is not all that was printed; `output_url` has all that is kept.
    truncated: bool,
    /// All bytes that it printed to its standard output, or to its terminal.
    stdout_bytes: u64,
    /// All bytes that it printed to its standard error.
    stderr_bytes: u64,
    /// Where all output that is kept is, raw: with `?stream=stdout` or `?stream=stderr` one stream of it.
    output_url: String,
    /// Its exit code, or 128 and the number of the signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// From start to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    execution_time_ms: Option<u64>,
    /// Why it ended, if not by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// Tells how an execution stands, and what it has printed.
#[utoipa::path(get, path = "/v1/sessions/executions/{execution_id}", tag = "editor",
    params(("execution_id" = String, Path, description = "the execution")),
    responses((status = 200, body = StatusBody), Common, NotFound))]
async fn status(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ExecutionId>,
) -> Result<JsonBody<StatusBody>, ApiError> {
    let told = gateway.look_at_execution(&who, id, Patience::NONE).await?;
    let (out, err) = Box::pin(futures_util::future::join(
        tail(&gateway, &told, vec![Stream::Stdout, Stream::Output]),
        tail(&gateway, &told, vec![Stream::Stderr]),
    ))
    .await;
    let (out, err) = (out?, err?);
    let verdict = told.state.verdict();
    Ok(JsonBody(StatusBody {
        execution_id: id,
        status: status_name(&told.state),
        truncated: out.truncated || err.truncated,
        stdout: out.text,
        stderr: err.text,
        stdout_bytes: told.stdout_bytes + told.output_bytes,
        stderr_bytes: told.stderr_bytes,
        output_url: format!("/v1/executions/{id}/output"),
        exit_code: verdict.and_then(exit_code),
        execution_time_ms: verdict.map(|verdict| verdict.duration_ms),
        message: verdict.and_then(|verdict| verdict.message.clone()),
    }))
}

fn status_name(state: &ExecutionState) -> StatusName {
    match state {
        ExecutionState::Queued => StatusName::Queued,
        ExecutionState::Running { .. } => StatusName::Running,
        ExecutionState::Exited { verdict } | ExecutionState::Closed { verdict } => {
            let is_well = verdict.reason == Reason::Exited && verdict.code == Some(0);
            if is_well { StatusName::Completed } else { StatusName::Failed }
        }
    }
}

fn exit_code(verdict: &Verdict) -> Option<i32> {
    verdict.code.or_else(|| verdict.signal.map(|signal| 128 + signal))
}

/// The last of an output.
struct Tail {
    /// None if its log is no longer there.
    text: Option<String>,
    /// Whether there was more.
    truncated: bool,
}

/// The last of these streams, as text.
async fn tail(gateway: &Gateway, told: &Execution, streams: Vec<Stream>) -> Result<Tail, ApiError> {
    let printed = |stream: &Stream| match stream {
        Stream::Stdout => told.stdout_bytes,
        Stream::Stderr => told.stderr_bytes,
        Stream::Output => told.output_bytes,
    };
    let has_printed = streams.iter().map(printed).any(|bytes| bytes > 0);
    let options = FollowOptions {
        until_closed: true,
        tail_bytes: Some(TAIL_BYTES as u64),
        tail_once: true,
        streams,
        no_wait: true,
        ..FollowOptions::default()
    };
    let mut follower = match gateway.worker.follow(told.id, options).await {
        Ok(follower) => follower,
        Err(error) if is_missing(&error) => return Ok(Tail { text: None, truncated: has_printed }),
        Err(error) => return Err(error.into()),
    };
    let (mut text, mut decoder, mut truncated) = (String::new(), Utf8Stream::default(), false);
    while let Some(event) = follower.next().await? {
        match event.kind {
            EventKind::Output { bytes, .. } => text.push_str(&decoder.push(&bytes)),
            EventKind::Gap { .. } => truncated = true,
            _ => {}
        }
    }
    if told.state.verdict().is_some() {
        text.push_str(&decoder.finish());
    }
    let truncated = truncated || text.len() > TAIL_BYTES;
    Ok(Tail { text: Some(last(text, TAIL_BYTES)), truncated })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(reason: Reason, code: Option<i32>, signal: Option<i32>) -> (StatusName, Option<i32>) {
        let verdict = Verdict { code, signal, duration_ms: 1, ..Verdict::new(reason) };
        let code = exit_code(&verdict);
        (status_name(&ExecutionState::Exited { verdict }), code)
    }

    #[test]
    fn only_the_exit_code_0_is_completed() {
        assert_eq!(ended(Reason::Exited, Some(0), None), (StatusName::Completed, Some(0)));
        assert_eq!(ended(Reason::Exited, Some(2), None), (StatusName::Failed, Some(2)));
        assert_eq!(ended(Reason::TimedOut, None, Some(15)), (StatusName::Failed, Some(143)));
        assert_eq!(ended(Reason::SetupFailed, None, None), (StatusName::Failed, None));
        assert_eq!(status_name(&ExecutionState::Queued), StatusName::Queued);
    }
}
