//! Terminals by plain HTTP: which there are, making and ending one, and what one shows.

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
use crate::http::openapi::{Common, NotFound, SessionEnded, TakesJson};
use crate::state::Gateway;
use crate::terminals::{MAIN, TerminalOrder, check_name, is_running, name_of};

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(delete)).routes(routes!(snapshot))
}

/// A terminal of a session.
#[derive(Debug, Serialize, ToSchema)]
struct TerminalBody {
    /// How it is called in its session.
    name: String,
    /// The execution that it is.
    execution_id: String,
    /// Its lines.
    rows: u16,
    /// Its columns.
    cols: u16,
    /// What its program called it; text of the program's.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Whether its shell runs.
    running: bool,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

/// The terminals of a session.
#[derive(Debug, Serialize, ToSchema)]
struct TerminalsBody {
    /// The newest of each name.
    terminals: Vec<TerminalBody>,
}

/// What a terminal is to be.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
struct TerminalRequest {
    /// How it is called: `main` if absent.
    #[schema(pattern = "^[A-Za-z0-9._-]{1,64}$")]
    name: Option<String>,
    /// Its lines: 24 if absent.
    #[schema(minimum = 1, maximum = 65_535)]
    rows: Option<u16>,
    /// Its columns: 80 if absent.
    #[schema(minimum = 1, maximum = 65_535)]
    cols: Option<u16>,
    /// A line for the shell, in the place of a login shell.
    command: Option<String>,
}

/// What a terminal shows.
#[derive(Debug, Serialize, ToSchema)]
struct TerminalSnapshotBody {
    /// The execution that it is.
    execution_id: String,
    /// All events up to this one are in it.
    seq: u64,
    /// Its lines.
    rows: u16,
    /// Its columns.
    cols: u16,
    /// What its program called it; text of the program's.
    title: String,
    /// What draws it on an empty terminal of that size, where that is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The same, where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

/// Lists the terminals of a session.
#[utoipa::path(get, path = "/v1/sessions/{id}/terminals", tag = "terminals",
    params(("id" = String, Path, description = "the session, or its name")),
    responses((status = 200, body = TerminalsBody), Common, NotFound, (status = 409, body = ErrorBody)))]
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

/// Makes a terminal, if none of its name runs.
#[utoipa::path(post, path = "/v1/sessions/{id}/terminals", tag = "terminals",
    params(("id" = String, Path, description = "the session, or its name")),
    request_body(content = Option<TerminalRequest>, description = "all of it may be left out"),
    responses(
        (status = 200, body = TerminalBody, description = "it runs already, and is as it was"),
        (status = 201, body = TerminalBody, headers(("Location" = String, description = "its execution"))),
        Common, NotFound, TakesJson, SessionEnded,
        (status = 422, body = ErrorBody),
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
    let order = TerminalOrder { name, size, command: request.command };
    let opened = gateway.open_terminal(&who, session, order).await?;
    let place = [(header::LOCATION, format!("/v1/executions/{}", opened.execution.id))];
    let status = if opened.is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, place, JsonBody(body(&gateway, opened.execution).await?)))
}

/// Ends a terminal: it hangs up, and what does not end by that is cancelled.
#[utoipa::path(delete, path = "/v1/sessions/{id}/terminals/{name}", tag = "terminals",
    params(
        ("id" = String, Path, description = "the session, or its name"),
        ("name" = String, Path, description = "the terminal"),
    ),
    responses(
        (status = 204, description = "it has ended, or is about to"), Common, NotFound,
        (status = 409, body = ErrorBody),
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

/// What a terminal shows now: bytes that draw it, scrollback included.
#[utoipa::path(get, path = "/v1/sessions/{id}/terminals/{name}/snapshot", tag = "terminals",
    params(
        ("id" = String, Path, description = "the session, or its name"),
        ("name" = String, Path, description = "the terminal"),
    ),
    responses(
        (status = 200, body = TerminalSnapshotBody), Common, NotFound,
        (status = 409, body = ErrorBody),
        (status = 410, body = ErrorBody, description = "its log was removed"),
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
    let told = match gateway.worker.snapshot(id, None).await {
        Ok(told) => told,
        Err(ContractError::Malformed(_)) => {
            let hint = "a newer worker does: start it again";
            return Err(ApiError::conflict("this worker keeps no screens", hint));
        }
        Err(error) => return Err(gateway.recorder.unreadable(id, error).await),
    };
    let text = std::str::from_utf8(&told.data).ok().map(str::to_owned);
    let base64 = text.is_none().then(|| STANDARD.encode(&told.data));
    let (rows, cols) = (told.size.rows, told.size.cols);
    let execution_id = id.to_string();
    Ok(JsonBody(TerminalSnapshotBody {
        execution_id,
        seq: told.seq.0,
        rows,
        cols,
        title: told.title,
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

/// The title of a terminal that runs, from its screen without the scrollback.
async fn title(gateway: &Gateway, id: ExecutionId) -> Option<String> {
    gateway.worker.snapshot(id, Some(0)).await.ok().map(|told| told.title).filter(|title| !title.is_empty())
}
