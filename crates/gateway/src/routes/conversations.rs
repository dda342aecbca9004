//! Conversations with agents: `/v1/conversations`.

mod answers;
mod attachments;
mod export;
mod log;
mod members;
mod messages;
mod models;
mod shares;

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use headwater_protocol::api::{
    ConversationBody, ConversationDetail, ConversationPatch, ConversationRequest, ErrorBody, PageBody,
};
use headwater_protocol::conversation::ConversationId;
use headwater_store::{ConversationFilter, Role};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Identity, Need, authorise};
use crate::conversations::conversation_body;
use crate::error::ApiError;
use crate::http::extract::{Json, NoQuery, Path, Query};
use crate::http::openapi::{Common, NotFound, TakesJson};
use crate::http::paging::{page_body, page_request};
use crate::http::search_text::search_text;
use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(get, patch, delete))
        .merge(log::routes())
        .merge(messages::routes())
        .merge(answers::routes())
        .merge(attachments::routes())
        .merge(members::routes())
        .merge(shares::routes())
        .merge(models::routes())
        .merge(export::routes())
}

/// Creates a conversation with an agent.
///
/// Its log has everything that is said and done. The agent works in a session of its own, which its first call of a tool
/// creates, or in the one that `session_id` names; it has the rights of the conversation's owner, and no others.
#[utoipa::path(post, path = "/v1/conversations", operation_id = "createConversation", tag = "conversations",
    request_body(content = Option<ConversationRequest>, description = "optional"),
    responses(
        (status = 201, body = ConversationBody,
            headers(("Location" = String, description = "the URL of the conversation"))),
        (status = 409, body = ErrorBody, description = "the id is taken"),
        Common, NotFound, TakesJson,
))]
async fn create(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Json(request): Json<ConversationRequest>,
) -> Result<impl IntoResponse, ApiError> {
    let row = gateway.create_conversation(&who, request).await?;
    let location = [(header::LOCATION, format!("/v1/conversations/{}", row.id))];
    Ok((StatusCode::CREATED, location, JsonBody(conversation_body(row))))
}

/// Selects conversations.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// The maximum number of conversations on a page: 100 if absent.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page.
    #[param(pattern = "^[0-9]{1,18}$")]
    cursor: Option<String>,
    /// Only conversations with all these words in the title or in one message. Each word may be the beginning of a longer
    /// one; case and accents make no difference. At most 200 characters.
    #[param(max_length = 200)]
    q: Option<String>,
    /// Whether they are archived; both if absent.
    archived: Option<bool>,
    /// Only conversations of sub-agents of this one.
    #[param(value_type = Option<String>)]
    parent_id: Option<ConversationId>,
    /// Conversations of others that are shared with you, instead of your own.
    shared: Option<bool>,
    /// Conversations of this owner instead of your own. For operators.
    owner: Option<String>,
}

/// Lists your conversations, latest activity first, without those of sub-agents.
#[utoipa::path(get, path = "/v1/conversations", operation_id = "listConversations", tag = "conversations",
    params(ListQuery), responses((status = 200, body = PageBody<ConversationBody>), Common, NotFound))]
async fn list(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Query(query): Query<ListQuery>,
) -> Result<JsonBody<PageBody<ConversationBody>>, ApiError> {
    authorise(&who, Need::Read)?;
    let page = page_request(query.limit, query.cursor.as_deref())?;
    let filter = ConversationFilter {
        is_archived: query.archived,
        text: search_text(query.q)?,
        ..ConversationFilter::default()
    };
    let filter = if let Some(parent) = query.parent_id {
        gateway.auth.may_use_conversation(&who, Need::Read, &parent).await?;
        ConversationFilter { parent_id: Some(parent), ..filter }
    } else if let Some(only) = &who.bounds.conversation {
        ConversationFilter { id: Some(only.clone()), ..filter }
    } else if who.bounds.sessions.is_some() {
        let hint = "use a token that is not bound to sessions";
        return Err(ApiError::forbidden("this token may only use certain sessions", hint));
    } else if query.shared == Some(true) {
        ConversationFilter { member: Some(who.owner.clone()), ..filter }
    } else {
        let owner = query.owner.unwrap_or_else(|| who.owner.clone());
        if owner != who.owner && who.role != Role::Admin {
            let hint =
                "leave `owner` out to list your own; `shared=true` lists those that are shared with you";
            return Err(ApiError::forbidden("only operators may list the conversations of others", hint));
        }
        ConversationFilter { owner: Some(owner), ..filter }
    };
    let _permit = gateway.quota.lists.acquire(&who.owner).await;
    let found = gateway.store.conversations(&filter, page).await?;
    let items = found.items.into_iter().map(conversation_body).collect();
    Ok(JsonBody(page_body(items, found.next)))
}

/// Returns a conversation with the messages of all its branches.
#[utoipa::path(get, path = "/v1/conversations/{id}", operation_id = "getConversation", tag = "conversations",
    params(("id" = String, Path, description = "the conversation")),
    responses((status = 200, body = ConversationDetail), Common, NotFound))]
async fn get(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ConversationId>,
) -> Result<JsonBody<ConversationDetail>, ApiError> {
    gateway.conversation_detail(&who, &id).await.map(JsonBody)
}

/// Changes a conversation. Absent fields keep their values. Only the owner may change `approval_policy`,
/// `session_id`, `web_search` and `mcp_servers`.
///
/// Settings of the agent hold from its next turn on.
#[utoipa::path(patch, path = "/v1/conversations/{id}", operation_id = "updateConversation", tag = "conversations",
    params(("id" = String, Path, description = "the conversation")),
    request_body = Option<ConversationPatch>,
    responses((status = 200, body = ConversationBody), Common, NotFound, TakesJson))]
async fn patch(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ConversationId>,
    Json(change): Json<ConversationPatch>,
) -> Result<JsonBody<ConversationBody>, ApiError> {
    let row = gateway.patch_conversation(&who, &id, change).await?;
    Ok(JsonBody(conversation_body(row)))
}

/// Deletes a conversation with those of its sub-agents, and ends their turns. Its session stays.
#[utoipa::path(delete, path = "/v1/conversations/{id}", operation_id = "deleteConversation", tag = "conversations",
    params(("id" = String, Path, description = "the conversation")),
    responses((status = 204, description = "it was deleted"), Common, NotFound))]
async fn delete(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ConversationId>,
) -> Result<StatusCode, ApiError> {
    gateway.delete_conversation(&who, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
