//! Runs an execution again: `POST /v1/executions/{id}/rerun`. The values of its variables never leave the server.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::IntoResponse;
use headwater_protocol::api::{ErrorBody, ExecutionBody};
use headwater_protocol::{CALL_METADATA, Execution, ExecutionId, SessionId, StartSpec, Stdin};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::location;
use crate::auth::{Identity, Need};
use crate::bodies::{execution_body, is_reserved};
use crate::error::ApiError;
use crate::executions::Patience;
use crate::executions::start::ExecutionSpec;
use crate::http::extract::{NoQuery, Path};
use crate::http::idempotency::{RequestKey, hash, key};
use crate::http::openapi::{Common, IdempotencyKey, NotFound, TakesKey};
use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(rerun))
}

/// Runs an execution again, with the same command, working directory, variables, limits and terminal.
///
/// It runs in the same session or, if that has ended, in a dedicated one. Its input is not kept: input that was part
/// of the request is empty, and input that was sent later can be sent again.
#[utoipa::path(post, path = "/v1/executions/{id}/rerun", operation_id = "rerunExecution", tag = "executions",
    params(("id" = String, Path, description = "the execution"), IdempotencyKey),
    responses(
        (status = 201, body = ExecutionBody, headers(("Location" = String, description = "the URL of the new execution"))),
        Common, NotFound, TakesKey,
        (status = 409, body = ErrorBody, description = "its command is no longer kept in full"),
))]
async fn rerun(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ExecutionId>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, ApiError> {
    let info = gateway.auth.may_use_execution(&who, Need::Write, id).await?;
    let path = format!("/v1/executions/{id}/rerun");
    let request_key = RequestKey { key: key(&headers)?, hash: hash(&Method::POST, &path, b"") };
    let patience = Patience { at_most: std::time::Duration::ZERO, closed: false };
    let earlier = gateway.look_at_execution(&who, id, patience).await?;
    let session = live_session(&gateway, earlier.session_id).await?;
    if session.is_none() && info.owner != who.owner {
        let hint = "ask the owner to run it again, or start the command in a session of yours";
        return Err(ApiError::forbidden(
            "its session has ended, and its variables belong to its owner",
            hint,
        ));
    }
    let execution = ExecutionSpec { session, spec: spec_of(earlier)?, request_key };
    let started = gateway.starts.start(&who, execution).await?;
    let location = [(header::LOCATION, location(started.id))];
    let owner = gateway.owner_of_execution(&started).await;
    Ok((StatusCode::CREATED, location, JsonBody(execution_body(started, owner))))
}

/// The session, if others can run in it.
async fn live_session(gateway: &Gateway, id: SessionId) -> Result<Option<SessionId>, ApiError> {
    let row = gateway.store.session(id).await?;
    Ok(row.filter(|row| row.ended_at_ms.is_none() && !row.spec.one_shot).map(|row| row.id))
}

/// The spec of the next run. It belongs to no tool call, whose results would change.
fn spec_of(earlier: Execution) -> Result<StartSpec, ApiError> {
    let mut spec = earlier.spec;
    if spec.command.is_shortened() {
        let message = "the log of this execution was removed, and with it most of its command";
        return Err(ApiError::conflict(message, "start it with its whole command"));
    }
    if matches!(spec.stdin, Stdin::Given(_)) {
        spec.stdin = Stdin::None;
    }
    spec.metadata.retain(|name, _| !CALL_METADATA.contains(&name.as_str()) && !is_reserved(name));
    Ok(spec)
}
