//! The events of an execution, as SSE: `GET /v1/executions/{id}/events`.

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

/// Follows an execution: everything that happened after a position, then live.
///
/// Each event is `id: <seq>`, `event: <type>`, `data: <json>`. The texts (or decoded bytes) of a stream's events, one
/// after the other, are exactly what the program wrote, however often the client comes back with the last `id`. Besides
/// those of the log there is `reconnect` (the server is about to end: come back, with the last `id`; it has none of its
/// own), `error` (the log cannot be read any further) and comments that say that the stream lives.
#[utoipa::path(get, path = "/v1/executions/{id}/events", tag = "streams",
    params(
        ("id" = String, Path, description = "the execution"),
        ("Last-Event-ID" = Option<u64>, Header, description = "go on after this `seq`; wins over `after`"),
        EventQuery,
    ),
    responses(
        (status = 200, description = "the events; the body ends after the one that `until` names",
            content_type = "text/event-stream", body = EventBody),
        (status = 204, description = "`Last-Event-ID` is the last event: nothing will follow"), Common,
        NotFound,
        (status = 410, body = ErrorBody, description = "its log was removed"),
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
    // `EventSource` comes back after every end; only this answer tells it that there is no more.
    if ends_soon && !follower.has_next().await? {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Ok(sse(&gateway, id, follower))
}

/// Whether all events that were asked for are in the log, so that looking for the next one takes no time.
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
