//! The editor's routes: run code or a program of the workspace in a session, and return its status.
//!
//! They use `completed` and `failed` where the native API has the reason of the end, and return output as
//! text.

pub(crate) mod file_response;
pub(crate) mod files;

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use headwater_protocol::{
    Command, Execution, ExecutionId, ExecutionState, Reason, StartSpec, Stream, Verdict,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::executions::Patience;
use crate::executions::start::ExecutionSpec;
use crate::http::extract::{NoQuery, Path};
use crate::http::idempotency::Keyed;
use crate::http::openapi::{Common, IdempotencyKey, NotFound, SessionEnded, TakesJson, TakesKey};
use crate::packages::in_workspace;
use crate::state::Gateway;
use crate::terminals::EDITOR;

/// At most this much code is logged, at the level `HEADWATER_LOG=debug`.
const LOGGED_CHARS: usize = 100;
/// The editor gets at most this much of the end of each stream.
const TAIL_BYTES: usize = 1 << 20;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(execute)).routes(routes!(binary)).routes(routes!(status))
}

/// Code to run.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(examples(json!({"session_id": "demo", "code": "print('Hello')", "file_path": "/src/main.py"})))]
#[serde(deny_unknown_fields)]
struct ExecuteRequest {
    /// The session's id or name.
    session_id: String,
    /// The language of the path, if repeated.
    #[serde(default)]
    language: Option<String>,
    /// The source text.
    code: String,
    /// The path in the workspace at which the code is saved before it runs.
    #[serde(default)]
    file_path: Option<String>,
    /// The program's arguments.
    #[serde(default)]
    args: Vec<String>,
}

/// The status of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ExecutionStatusName)]
#[serde(rename_all = "snake_case")]
enum StatusName {
    /// Accepted, not yet started.
    Queued,
    /// The program has not ended yet.
    Running,
    /// It exited with code 0.
    Completed,
    /// It ended in any other way.
    Failed,
}

/// The started execution.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StartedExecution)]
#[schema(examples(json!({"execution_id": "exe_0123456789abcdef0123456789abcdef", "status": "running", "pid": 42})))]
struct ExecuteBody {
    /// Use it with the routes below `/v1/executions`.
    #[schema(value_type = String)]
    execution_id: ExecutionId,
    /// The execution's status.
    status: StatusName,
    /// The process id inside the session, while it is running.
    pid: Option<i32>,
}

/// Runs code of a language in a session.
///
/// The output is also sent to the viewers of the session's terminals that use JSON messages.
#[utoipa::path(post, path = "/v1/sessions/execute/{language}", operation_id = "executeCode", tag = "editor",
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
    let Keyed { value, request_key } = request;
    let session = gateway.session_named(&who, Need::Write, &value.session_id).await?;
    let language = one_language(&gateway, language, value.language.as_deref()).await?;
    let ExecuteRequest { code, file_path: file, args, .. } = value;
    tracing::debug!(%session, language, code = ?beginning(&code), "running code of the editor");
    let spec = StartSpec::new(Command::Code { language, code, file, args });
    spec.check()?;
    begin(&gateway, &who, ExecutionSpec { session: Some(session), spec, request_key }).await
}

/// The canonical name of the language in the path. The body's name must mean the same language.
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

/// The beginning of the code, for the log, which shows it escaped.
fn beginning(code: &str) -> String {
    code.chars().take(LOGGED_CHARS).collect()
}

async fn begin(
    gateway: &Arc<Gateway>,
    who: &Identity,
    mut execution: ExecutionSpec,
) -> Result<JsonBody<ExecuteBody>, ApiError> {
    execution.spec.metadata.insert(EDITOR.to_owned(), String::new());
    let execution = gateway.starts.start(who, execution).await?;
    let pid = match execution.state {
        ExecutionState::Running { pid } => Some(pid),
        _ => None,
    };
    Ok(JsonBody(ExecuteBody { execution_id: execution.id, status: status_name(&execution.state), pid }))
}

/// A program to run.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(examples(json!({"session_id": "demo", "binary_path": "/workspace/build/main", "args": ["--help"]})))]
#[serde(deny_unknown_fields)]
struct BinaryRequest {
    /// The session's id or name.
    session_id: String,
    /// The program's path in the workspace.
    binary_path: String,
    /// The program's arguments.
    #[serde(default)]
    args: Vec<String>,
}

/// Runs a program of a session's workspace.
///
/// A program that cannot be started is an execution with the status `failed`, whose `message` says why. The
/// output is also sent to the viewers of the session's terminals that use JSON messages.
#[utoipa::path(post, path = "/v1/sessions/execute/binary", operation_id = "executeBinary", tag = "editor",
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
    let Keyed { value, request_key } = request;
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
    begin(&gateway, &who, ExecutionSpec { session: Some(session), spec, request_key }).await
}

/// The status of an execution, with its output as text.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ExecutionStatus)]
struct StatusBody {
    /// Use it with the routes below `/v1/executions`.
    #[schema(value_type = String)]
    execution_id: ExecutionId,
    /// The execution's status.
    status: StatusName,
    /// The last 1 MiB of its standard output, or of its terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout: Option<String>,
    /// The last 1 MiB of its standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr: Option<String>,
    /// Whether `stdout` or `stderr` is incomplete; `output_url` has all output that is kept.
    truncated: bool,
    /// The number of bytes printed to standard output, or to the terminal.
    stdout_bytes: u64,
    /// The number of bytes printed to standard error.
    stderr_bytes: u64,
    /// The URL of all output that is kept, as raw bytes; `?stream=stdout` or `?stream=stderr` selects one
    /// stream.
    output_url: String,
    /// The exit code, or 128 plus the number of the signal that ended the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// The time from start to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    execution_time_ms: Option<u64>,
    /// Why it ended, unless the program exited by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// Returns the status of an execution and its output so far.
#[utoipa::path(get, path = "/v1/sessions/executions/{execution_id}",
    operation_id = "getExecutionStatus", tag = "editor",
    params(("execution_id" = String, Path, description = "the execution")),
    responses((status = 200, body = StatusBody), Common, NotFound))]
async fn status(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ExecutionId>,
) -> Result<JsonBody<StatusBody>, ApiError> {
    let execution = gateway.look_at_execution(&who, id, Patience::NONE).await?;
    let (out, err) = Box::pin(futures_util::future::join(
        tail(&gateway, &execution, vec![Stream::Stdout, Stream::Output]),
        tail(&gateway, &execution, vec![Stream::Stderr]),
    ))
    .await;
    let ((stdout, out_truncated), (stderr, err_truncated)) = (out?, err?);
    let verdict = execution.state.verdict();
    Ok(JsonBody(StatusBody {
        execution_id: id,
        status: status_name(&execution.state),
        truncated: out_truncated || err_truncated,
        stdout,
        stderr,
        stdout_bytes: execution.stdout_bytes + execution.output_bytes,
        stderr_bytes: execution.stderr_bytes,
        output_url: format!("/v1/executions/{id}/output"),
        exit_code: verdict.and_then(Verdict::exit_status),
        execution_time_ms: verdict.map(|verdict| verdict.duration_ms),
        message: verdict.and_then(|verdict| verdict.message.clone()),
    }))
}

fn status_name(state: &ExecutionState) -> StatusName {
    match state {
        ExecutionState::Queued => StatusName::Queued,
        ExecutionState::Running { .. } => StatusName::Running,
        ExecutionState::Exited { verdict } | ExecutionState::Closed { verdict } => {
            let is_success = verdict.reason == Reason::Exited && verdict.code == Some(0);
            if is_success { StatusName::Completed } else { StatusName::Failed }
        }
    }
}

/// The end of these streams (`None` if the log was removed), and whether there was more output.
async fn tail(
    gateway: &Gateway,
    execution: &Execution,
    streams: Vec<Stream>,
) -> Result<(Option<String>, bool), ApiError> {
    let printed = |stream: &Stream| match stream {
        Stream::Stdout => execution.stdout_bytes,
        Stream::Stderr => execution.stderr_bytes,
        Stream::Output => execution.output_bytes,
    };
    let has_printed = streams.iter().map(printed).any(|bytes| bytes > 0);
    let tail = gateway.output_tail(execution, streams, TAIL_BYTES).await?;
    Ok(tail.map_or((None, has_printed), |tail| (Some(tail.text), tail.truncated)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(reason: Reason, code: Option<i32>, signal: Option<i32>) -> (StatusName, Option<i32>) {
        let verdict = Verdict { code, signal, duration_ms: 1, ..Verdict::new(reason) };
        let code = verdict.exit_status();
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
