//! Terminals over plain HTTP: list, create, end, and return the screen.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use headwater_contract::ContractError;
use headwater_protocol::api::{ErrorBody, Timestamp};
use headwater_protocol::{Execution, ExecutionId, SpecError, TtySize};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::http::extract::{Json, NoQuery, Path};
use crate::http::openapi::{Common, Conflict, NotFound, SessionEnded, TakesJson, TakesKey};
use crate::state::Gateway;
use crate::terminals::{MAIN, TerminalSpec, check_name, is_running, name_of};

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(delete)).routes(routes!(snapshot))
}

/// A terminal of a session.
#[derive(Debug, Serialize, ToSchema)]
struct TerminalBody {
    /// The name in its session.
    name: String,
    /// The execution that runs the terminal's shell.
    execution_id: String,
    /// The number of rows.
    rows: u16,
    /// The number of columns.
    cols: u16,
    /// The title that the program set; untrusted text.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Whether its shell is running.
    running: bool,
    /// When it was created.
    created_at: Timestamp,
}

/// The terminals of a session.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TerminalList)]
struct TerminalsBody {
    /// The newest terminal of each name.
    terminals: Vec<TerminalBody>,
}

/// A request for a terminal.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(examples(json!({"name": "main", "rows": 24, "cols": 80})))]
#[serde(deny_unknown_fields, default)]
struct TerminalRequest {
    /// The name: `main` if absent.
    #[schema(pattern = "^[A-Za-z0-9._-]{1,64}$")]
    name: Option<String>,
    /// The number of rows: 24 if absent.
    #[schema(minimum = 1, maximum = 65_535)]
    rows: Option<u16>,
    /// The number of columns: 80 if absent.
    #[schema(minimum = 1, maximum = 65_535)]
    cols: Option<u16>,
    /// A shell command to run instead of a login shell.
    command: Option<String>,
}

/// The screen of a terminal.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TerminalScreen)]
struct TerminalSnapshotBody {
    /// The execution that runs the terminal's shell.
    execution_id: String,
    /// The `seq` of the last event that is included.
    seq: u64,
    /// The number of rows.
    rows: u16,
    /// The number of columns.
    cols: u16,
    /// The title that the program set; untrusted text.
    title: String,
    /// Output that draws the screen on an empty terminal of that size, if it is valid UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The same as base64, if it is not valid UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

/// Lists the terminals of a session. Does not count as use of them.
#[utoipa::path(get, path = "/v1/sessions/{id}/terminals", operation_id = "listTerminals", tag = "terminals",
    params(("id" = String, Path, description = "the session, or its name")),
    responses((status = 200, body = TerminalsBody), Common, NotFound, Conflict))]
async fn list(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(session): Path<String>,
) -> Result<JsonBody<TerminalsBody>, ApiError> {
    let session = gateway.session_named(&who, Need::Read, &session).await?;
    let mut terminals = Vec::new();
    for execution in gateway.terminals(session).await?.into_values() {
        terminals.push(body(&gateway, execution).await?);
    }
    Ok(JsonBody(TerminalsBody { terminals }))
}

/// Creates a terminal, if none of its name is running.
#[utoipa::path(post, path = "/v1/sessions/{id}/terminals", operation_id = "createTerminal", tag = "terminals",
    params(("id" = String, Path, description = "the session, or its name")),
    request_body(content = Option<TerminalRequest>, description = "optional"),
    responses(
        (status = 200, body = TerminalBody, description = "it is already running, and was not changed"),
        (status = 201, body = TerminalBody, headers(("Location" = String, description = "its execution"))),
        Common, NotFound, TakesJson, SessionEnded, TakesKey,
))]
async fn create(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(session): Path<String>,
    Json(request): Json<TerminalRequest>,
) -> Result<impl IntoResponse, ApiError> {
    let session = gateway.session_named(&who, Need::Write, &session).await?;
    let usual = TtySize::default();
    let size = TtySize { rows: request.rows.unwrap_or(usual.rows), cols: request.cols.unwrap_or(usual.cols) };
    if size.rows == 0 || size.cols == 0 {
        return Err(SpecError::EmptyTerminal.into());
    }
    let name = request.name.unwrap_or_else(|| MAIN.to_owned());
    let terminal = TerminalSpec { name, size, command: request.command };
    let opened = gateway.open_terminal(&who, session, terminal).await?;
    if !opened.is_new {
        // To open it again is to use it: it must not end as idle at this moment. If it fails, it has ended.
        let _ = gateway.worker.snapshot(opened.execution.id, Some(0)).await;
    }
    let location = [(header::LOCATION, format!("/v1/executions/{}", opened.execution.id))];
    let status = if opened.is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, location, JsonBody(body(&gateway, opened.execution).await?)))
}

/// Ends a terminal: hangs it up, and cancels the processes that remain.
#[utoipa::path(delete, path = "/v1/sessions/{id}/terminals/{name}",
    operation_id = "deleteTerminal", tag = "terminals",
    params(
        ("id" = String, Path, description = "the session, or its name"),
        ("name" = String, Path, description = "the terminal"),
    ),
    responses(
        (status = 204, description = "it has ended, or is ending"), Common, NotFound, Conflict,
))]
async fn delete(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path((session, name)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let session = gateway.session_named(&who, Need::Write, &session).await?;
    check_name(&name)?;
    gateway.end_terminal(&who, session, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the screen of a terminal: bytes that draw it, including the scrollback.
#[utoipa::path(get, path = "/v1/sessions/{id}/terminals/{name}/snapshot",
    operation_id = "getTerminalScreen", tag = "terminals",
    params(
        ("id" = String, Path, description = "the session, or its name"),
        ("name" = String, Path, description = "the terminal"),
    ),
    responses(
        (status = 200, body = TerminalSnapshotBody), Common, NotFound, Conflict,
        (status = 410, body = ErrorBody, description = "the log was removed"),
))]
async fn snapshot(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path((session, name)): Path<(String, String)>,
) -> Result<JsonBody<TerminalSnapshotBody>, ApiError> {
    let session = gateway.session_named(&who, Need::Read, &session).await?;
    check_name(&name)?;
    let id = gateway.terminal(session, &name).await?.id;
    let screen = match gateway.worker.snapshot(id, None).await {
        Ok(screen) => screen,
        Err(ContractError::Malformed(_)) => {
            let hint = "restart the worker with the current version";
            return Err(ApiError::conflict("this worker is too old to return screens", hint));
        }
        Err(error) => return Err(gateway.recorder.unreadable(id, error).await),
    };
    let text = std::str::from_utf8(&screen.data).ok().map(str::to_owned);
    let base64 = text.is_none().then(|| STANDARD.encode(&screen.data));
    let (rows, cols) = (screen.size.rows, screen.size.cols);
    let execution_id = id.to_string();
    Ok(JsonBody(TerminalSnapshotBody {
        execution_id,
        seq: screen.seq.0,
        rows,
        cols,
        title: screen.title,
        text,
        base64,
    }))
}

async fn body(gateway: &Gateway, execution: Execution) -> Result<TerminalBody, ContractError> {
    let (id, running) = (execution.id, is_running(&execution));
    let size = gateway.terminal_size(&execution).await?;
    let title = if running { title(gateway, id).await } else { None };
    Ok(TerminalBody {
        name: name_of(&execution).unwrap_or_default().to_owned(),
        execution_id: id.to_string(),
        rows: size.rows,
        cols: size.cols,
        title,
        running,
        created_at: Timestamp(execution.started_at_ms),
    })
}

/// The title of a running terminal.
async fn title(gateway: &Gateway, id: ExecutionId) -> Option<String> {
    gateway.worker.terminal_title(id).await.ok().filter(|title| !title.is_empty())
}
