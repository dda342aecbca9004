//! Actions on a running execution: signal, cancel, resize; and the list of its processes.

use std::sync::Arc;
use std::time::Duration;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::StatusCode;
use headwater_protocol::api::{ErrorBody, ResizeRequest, SignalRequest};
use headwater_protocol::{ExecutionId, SpecError, TtySize};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::http::extract::{Json, NoQuery, Path};
use crate::http::openapi::{Common, Conflict, NotFound, TakesJson};
use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new()
        .routes(routes!(signal))
        .routes(routes!(cancel))
        .routes(routes!(resize))
        .routes(routes!(processes))
}

/// Sends a signal to an execution's foreground process group, or to all its processes.
#[utoipa::path(post, path = "/v1/executions/{id}/signal",
    operation_id = "signalExecution", tag = "executions",
    params(("id" = String, Path, description = "the execution")),
    request_body = SignalRequest,
    responses(
        (status = 204, description = "the signal was sent"), Common, NotFound, TakesJson,
        (status = 409, body = ErrorBody, description = "it has ended"),
))]
async fn signal(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ExecutionId>,
    Json(request): Json<SignalRequest>,
) -> Result<StatusCode, ApiError> {
    gateway.auth.may_use_execution(&who, Need::Write, id).await?;
    let number = request.signal.number()?;
    // Not retried: a repeated signal is a second signal.
    if let Err(error) = gateway.worker.once().signal(id, number, request.tree).await {
        return Err(gateway.recorder.unreachable(id, error).await);
    }
    gateway.audit.record(
        &who,
        "execution.signal",
        id.to_string(),
        format!("signal={number} tree={}", request.tree),
    );
    Ok(StatusCode::NO_CONTENT)
}

/// Options for cancelling.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(examples(json!({"grace_ms": 1000})))]
#[serde(deny_unknown_fields, default)]
struct CancelRequest {
    /// The time between SIGTERM and SIGKILL; 0 kills immediately. If absent, the execution's own grace
    /// period.
    grace_ms: Option<u64>,
}

/// Cancels an execution: sends SIGTERM to all its processes, and SIGKILL after a grace period.
///
/// Cancelling an execution that has ended has no effect.
#[utoipa::path(post, path = "/v1/executions/{id}/cancel",
    operation_id = "cancelExecution", tag = "executions",
    params(("id" = String, Path, description = "the execution")),
    request_body(content = Option<CancelRequest>, description = "optional"),
    responses(
        (status = 204, description = "it is being cancelled"), Common, NotFound, TakesJson, Conflict,
))]
async fn cancel(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ExecutionId>,
    Json(request): Json<CancelRequest>,
) -> Result<StatusCode, ApiError> {
    gateway.auth.may_use_execution(&who, Need::Write, id).await?;
    let grace = request.grace_ms.map(Duration::from_millis);
    let cancelled = gateway.worker.cancel(id, grace).await;
    if let Err(error) = cancelled
        && !gateway.recorder.is_over(id, &error).await
    {
        return Err(error.into());
    }
    gateway.audit.record(&who, "execution.cancel", id.to_string(), String::new());
    Ok(StatusCode::NO_CONTENT)
}

/// Resizes an execution's terminal.
#[utoipa::path(post, path = "/v1/executions/{id}/resize",
    operation_id = "resizeExecution", tag = "executions",
    params(("id" = String, Path, description = "the execution")),
    request_body = ResizeRequest,
    responses(
        (status = 204, description = "the terminal was resized"), Common, NotFound, TakesJson,
        (status = 409, body = ErrorBody, description = "it has no terminal"),
))]
async fn resize(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ExecutionId>,
    Json(ResizeRequest { rows, cols }): Json<ResizeRequest>,
) -> Result<StatusCode, ApiError> {
    gateway.auth.may_use_execution(&who, Need::Write, id).await?;
    if rows == 0 || cols == 0 {
        return Err(SpecError::EmptyTerminal.into());
    }
    let size = TtySize { rows, cols };
    let resized = gateway.worker.resize(id, size).await;
    if let Err(error) = resized {
        return Err(gateway.recorder.unreachable(id, error).await);
    }
    gateway.viewers.resized(id, size);
    Ok(StatusCode::NO_CONTENT)
}

/// A process of an execution.
#[derive(Debug, Serialize, ToSchema)]
struct ProcessBody {
    /// The process id, as seen inside the session.
    pid: i32,
    /// The parent's process id, as seen inside the session.
    ppid: i32,
    /// The name known to the kernel: at most 15 bytes, chosen by the program.
    name: String,
}

/// The processes of an execution.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ProcessList)]
struct ProcessesBody {
    /// All current processes, including background children.
    processes: Vec<ProcessBody>,
}

/// Lists the current processes of an execution.
#[utoipa::path(get, path = "/v1/executions/{id}/processes",
    operation_id = "listExecutionProcesses", tag = "executions",
    params(("id" = String, Path, description = "the execution")),
    responses(
        (status = 200, body = ProcessesBody, description = "empty if it has ended"), Common, NotFound, Conflict,
))]
async fn processes(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ExecutionId>,
) -> Result<JsonBody<ProcessesBody>, ApiError> {
    gateway.auth.may_use_execution(&who, Need::Read, id).await?;
    let listed = gateway.worker.processes(id).await;
    let processes = match listed {
        Ok(processes) => processes,
        Err(error) if gateway.recorder.is_over(id, &error).await => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let body = |process: headwater_protocol::Process| ProcessBody {
        pid: process.pid,
        ppid: process.ppid,
        name: process.name,
    };
    Ok(JsonBody(ProcessesBody { processes: processes.into_iter().map(body).collect() }))
}
