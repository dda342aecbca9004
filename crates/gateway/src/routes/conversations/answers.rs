//! Consent of a person, and answers to questions of the agent.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use headwater_protocol::api::{AnswersRequest, ApprovalRequest};
use headwater_protocol::conversation::{Approval, ConversationId, InputRequest};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::Identity;
use crate::error::ApiError;
use crate::http::extract::{Json, NoQuery, Path};
use crate::http::openapi::{Common, Conflict, NotFound, TakesJson};
use crate::state::Gateway;

pub(super) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(approve)).routes(routes!(answer))
}

/// Answers a request for consent. Only the owner may allow; editors may refuse.
#[utoipa::path(post, path = "/v1/conversations/{id}/approvals/{approval_id}",
    operation_id = "answerApproval", tag = "conversations",
    params(("id" = String, Path, description = "the conversation"), ("approval_id" = String, Path, description = "the request")),
    request_body = ApprovalRequest,
    responses((status = 200, body = Approval), Common, NotFound, Conflict, TakesJson))]
async fn approve(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path((id, approval)): Path<(ConversationId, String)>,
    Json(request): Json<ApprovalRequest>,
) -> Result<JsonBody<Approval>, ApiError> {
    gateway.answer_approval(&who, &id, approval, request).await.map(JsonBody)
}

/// Answers questions of the agent.
#[utoipa::path(post, path = "/v1/conversations/{id}/answers/{tool_call_id}",
    operation_id = "answerQuestions", tag = "conversations",
    params(("id" = String, Path, description = "the conversation"), ("tool_call_id" = String, Path, description = "the call")),
    request_body = AnswersRequest,
    responses((status = 200, body = InputRequest), Common, NotFound, Conflict, TakesJson))]
async fn answer(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path((id, call)): Path<(ConversationId, String)>,
    Json(request): Json<AnswersRequest>,
) -> Result<JsonBody<InputRequest>, ApiError> {
    gateway.answer_questions(&who, &id, call, request).await.map(JsonBody)
}
