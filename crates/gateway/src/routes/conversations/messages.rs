//! Messages: send, withdraw, answer again, select a branch, stop.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::StatusCode;
use headwater_protocol::api::{
    BranchBody, MessageAccepted, MessageRef, MessageRequest, StopBody, TurnAccepted,
};
use headwater_protocol::conversation::{ConversationId, MessageId};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::Identity;
use crate::conversations::NewRequest;
use crate::error::ApiError;
use crate::http::extract::{Json, NoQuery, Path};
use crate::http::openapi::{Common, Conflict, NotFound, TakesJson};
use crate::state::Gateway;

pub(super) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new()
        .routes(routes!(send))
        .routes(routes!(withdraw))
        .routes(routes!(regenerate))
        .routes(routes!(branch))
        .routes(routes!(stop))
}

/// Sends a message to the agent.
///
/// A turn begins; its events are in the log. While a turn runs, the message waits: for the next step of this turn
/// (`steer`), or for its end (`queue`). `parent_id` says where the message belongs: with the parent of an earlier message
/// it is that message, edited, in a new branch. Messages into another branch are refused while a turn runs (409).
#[utoipa::path(post, path = "/v1/conversations/{id}/messages", operation_id = "sendMessage", tag = "conversations",
    params(("id" = String, Path, description = "the conversation")),
    request_body = MessageRequest,
    responses((status = 202, body = MessageAccepted), Common, NotFound, Conflict, TakesJson))]
async fn send(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ConversationId>,
    Json(request): Json<MessageRequest>,
) -> Result<(StatusCode, JsonBody<MessageAccepted>), ApiError> {
    let request = NewRequest::new(&who, request)?;
    let accepted = gateway.send_message(&who, &id, request).await?;
    Ok((StatusCode::ACCEPTED, JsonBody(accepted)))
}

/// Withdraws a message that waits for the agent.
#[utoipa::path(delete, path = "/v1/conversations/{id}/queue/{message_id}",
    operation_id = "withdrawMessage", tag = "conversations",
    params(("id" = String, Path, description = "the conversation"), ("message_id" = String, Path, description = "the message")),
    responses((status = 204, description = "the agent does not get it"), Common, NotFound, Conflict))]
async fn withdraw(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path((id, message)): Path<(ConversationId, MessageId)>,
) -> Result<StatusCode, ApiError> {
    gateway.withdraw_message(&who, &id, message).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lets the agent answer the same message again. The new answer is a branch; the old one is kept.
#[utoipa::path(post, path = "/v1/conversations/{id}/regenerate",
    operation_id = "regenerateAnswer", tag = "conversations",
    params(("id" = String, Path, description = "the conversation")),
    request_body = MessageRef,
    responses((status = 202, body = TurnAccepted), Common, NotFound, Conflict, TakesJson))]
async fn regenerate(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ConversationId>,
    Json(MessageRef { message_id }): Json<MessageRef>,
) -> Result<(StatusCode, JsonBody<TurnAccepted>), ApiError> {
    let began = gateway.regenerate(&who, &id, message_id, None).await?;
    Ok((StatusCode::ACCEPTED, JsonBody(began)))
}

/// Makes the newest branch with this message the current one: the next message belongs to it.
#[utoipa::path(post, path = "/v1/conversations/{id}/branch", operation_id = "selectBranch", tag = "conversations",
    params(("id" = String, Path, description = "the conversation")),
    request_body = MessageRef,
    responses((status = 200, body = BranchBody), Common, NotFound, Conflict, TakesJson))]
async fn branch(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ConversationId>,
    Json(MessageRef { message_id }): Json<MessageRef>,
) -> Result<JsonBody<BranchBody>, ApiError> {
    gateway.select_branch(&who, &id, message_id).await.map(JsonBody)
}

/// Stops the turn that runs: the agent's programs end, and what they have printed is kept.
#[utoipa::path(post, path = "/v1/conversations/{id}/stop", operation_id = "stopTurn", tag = "conversations",
    params(("id" = String, Path, description = "the conversation")),
    responses((status = 200, body = StopBody), Common, NotFound))]
async fn stop(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ConversationId>,
) -> Result<JsonBody<StopBody>, ApiError> {
    let was_running = gateway.stop_turn(&who, &id, None).await?;
    Ok(JsonBody(StopBody { was_running }))
}
