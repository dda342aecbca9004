//! The events of an execution as SSE: `GET /v1/executions/{id}/events`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use headwater_contract::{ContractError, FollowOptions};
use headwater_protocol::api::{ErrorBody, EventBody};
use headwater_protocol::{ExecutionId, ExecutionState};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::Identity;
use crate::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::{Common, NotFound};
use crate::state::Gateway;
use crate::streams::sse::{EventQuery, sse};

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(events))
}

/// Follows an execution: sends all events after a position, then new events as they happen.
///
/// Each event is `id: <seq>`, `event: <type>`, `data: <json>`. The texts (or decoded bytes) of a stream's
/// events, joined, are exactly the bytes that the program wrote, however often the client reconnects with the
/// last `id`. The server also sends `reconnect` (it is shutting down: reconnect with the last `id`; this
/// event has no id), `error` (the rest of the log cannot be read), and comments as heartbeats.
#[utoipa::path(get, path = "/v1/executions/{id}/events", operation_id = "followExecution", tag = "streams",
    params(
        ("id" = String, Path, description = "the execution"),
        ("Last-Event-ID" = Option<u64>, Header, description = "continue after this `seq`; takes precedence over `after`"),
        EventQuery,
    ),
    responses(
        (status = 200, description = "the events; the body ends after the one that `until` names",
            content_type = "text/event-stream", body = EventBody),
        (status = 204, description = "`Last-Event-ID` is the last event: nothing will follow"), Common,
        NotFound,
        (status = 410, body = ErrorBody, description = "the log was removed"),
))]
async fn events(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ExecutionId>,
    Query(mut query): Query<EventQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let resumes = query.resume(&headers)?;
    let options = query.into_options()?;
    gateway.auth.may_follow(&who, id, options.lossless).await?;
    let opened = async {
        let ends_soon = resumes && has_ended(&gateway, id, &options).await?;
        Ok::<_, ContractError>((ends_soon, gateway.worker.follow(id, options).await?))
    };
    let (ends_soon, mut follower) = match opened.await {
        Ok(opened) => opened,
        Err(error) => return Err(gateway.recorder.unreadable(id, error).await),
    };
    // `EventSource` reconnects after every end; only this response stops it.
    if ends_soon && !follower.has_next().await? {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Ok(sse(&gateway, id, follower))
}

/// Whether the log has all requested events, so that reading the next one does not wait.
async fn has_ended(
    gateway: &Gateway,
    id: ExecutionId,
    options: &FollowOptions,
) -> Result<bool, ContractError> {
    let execution = gateway.worker.execution(id).await?;
    Ok(match execution.state {
        ExecutionState::Closed { .. } => true,
        ExecutionState::Exited { .. } => !options.until_closed,
        _ => false,
    })
}
