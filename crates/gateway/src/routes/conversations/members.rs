//! Members of a conversation: `/v1/conversations/{id}/members`.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::StatusCode;
use headwater_protocol::api::ErrorBody;
use headwater_protocol::conversation::ConversationId;
use headwater_store::ConversationMemberRow;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::shares::{gone, of_a_person};
use crate::auth::{Identity, Need, authorise};
use crate::error::ApiError;
use crate::http::extract::{Json, NoQuery, Path};
use crate::http::openapi::{Common, NotFound, TakesJson};
use crate::now_ms;
use crate::routes::shares::members::{MAX_MEMBERS, MemberBody, MemberList, MemberRequest, no_member};
use crate::state::Gateway;

pub(super) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(put, delete))
}

/// Lists the members of a conversation. Links may not.
#[utoipa::path(get, path = "/v1/conversations/{id}/members",
    operation_id = "listConversationMembers", tag = "conversations",
    params(("id" = String, Path, description = "the conversation")),
    responses((status = 200, body = MemberList), Common, NotFound))]
async fn list(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ConversationId>,
) -> Result<JsonBody<MemberList>, ApiError> {
    let row = gateway.auth.may_use_conversation(&who, Need::Read, &id).await?;
    if who.bounds.link.is_some() {
        return Err(ApiError::forbidden("a link gives no access to the list of members", "sign in"));
    }
    let members = gateway.store.conversation_members(&row.root_id).await?;
    let items = members.into_iter().map(|row| MemberBody::new(row.member, row.role, row.added_at_ms));
    Ok(JsonBody(MemberList { owner: row.owner, items: items.collect() }))
}

/// Adds a member to a conversation, or changes its role. For its owner.
///
/// Viewers may read the conversation and the executions that belong to it; editors may also write to the agent, which
/// works with the rights of the owner. Both include the conversations of its sub-agents, and nothing else of its session.
#[utoipa::path(put, path = "/v1/conversations/{id}/members/{user}",
    operation_id = "setConversationMember", tag = "conversations",
    params(("id" = String, Path, description = "the conversation"), ("user" = String, Path, description = "id or name")),
    request_body = MemberRequest,
    responses(
        (status = 200, body = MemberBody), Common, NotFound, TakesJson,
        (status = 409, body = ErrorBody, description = "the user is the owner, or there are too many members"),
))]
async fn put(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path((id, user)): Path<(ConversationId, String)>,
    Json(request): Json<MemberRequest>,
) -> Result<JsonBody<MemberBody>, ApiError> {
    let row = gateway.auth.may_use_conversation(&who, Need::Own, &id).await?;
    of_a_person(&row)?;
    let member = gateway.member_name(&user).await?;
    if member == row.owner {
        return Err(ApiError::conflict(format!("`{member}` owns the conversation"), "choose somebody else"));
    }
    let members = gateway.store.conversation_members(&id).await?;
    let known = members.iter().find(|row| row.member == member);
    if members.len() >= MAX_MEMBERS && known.is_none() {
        let message = format!("the conversation already has {MAX_MEMBERS} members");
        return Err(ApiError::conflict(message, "remove some first"));
    }
    let added_at_ms = known.map_or_else(now_ms, |row| row.added_at_ms);
    let role = request.role.into();
    let row = ConversationMemberRow { conversation_id: id.clone(), member, role, added_at_ms };
    gateway.store.put_conversation_member(&row).await.map_err(|error| gone(error, &id))?;
    let detail = format!("{} as {}", row.member, row.role);
    gateway.audit.record(&who, "conversation.share", id.to_string(), detail);
    Ok(JsonBody(MemberBody::new(row.member, row.role, row.added_at_ms)))
}

/// Removes a member from a conversation and closes its streams. For the owner, and for the member itself.
#[utoipa::path(delete, path = "/v1/conversations/{id}/members/{user}",
    operation_id = "removeConversationMember", tag = "conversations",
    params(("id" = String, Path, description = "the conversation"), ("user" = String, Path, description = "id or name")),
    responses((status = 204, description = "it was removed"), Common, NotFound))]
async fn delete(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path((id, user)): Path<(ConversationId, String)>,
) -> Result<StatusCode, ApiError> {
    gateway.auth.may_use_conversation(&who, Need::Read, &id).await?;
    let member = gateway.member_name(&user).await?;
    if member == who.owner {
        authorise(&who, Need::Write)?;
    } else {
        gateway.auth.may_use_conversation(&who, Need::Own, &id).await?;
    }
    if !gateway.store.remove_conversation_member(&id, &member).await? {
        return Err(no_member(&user));
    }
    gateway.audit.record(&who, "conversation.unshare", id.to_string(), member);
    Ok(StatusCode::NO_CONTENT)
}
