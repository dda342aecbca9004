//! Links to a conversation: `/v1/conversations/{id}/shares`.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::StatusCode;
use headwater_protocol::api::{ErrorBody, Timestamp};
use headwater_protocol::conversation::ConversationId;
use headwater_store::{ConversationRow, ConversationShareRow, StoreError};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::conversations::no_conversation;
use crate::auth::{Identity, LINK_PREFIX, Need, hash, random_hex, secret};
use crate::error::ApiError;
use crate::http::extract::{Json, NoQuery, Path};
use crate::http::openapi::{Common, NotFound, TakesJson};
use crate::now_ms;
use crate::routes::shares::{Access, MAX_SHARES, ShareRequest};
use crate::state::Gateway;

pub(super) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(create, list)).routes(routes!(revoke))
}

/// A link to a conversation.
#[derive(Debug, Serialize, ToSchema)]
struct ConversationShareBody {
    /// `shr_` and 32 hexadecimal digits.
    id: String,
    /// The conversation that the link opens.
    conversation_id: String,
    #[schema(inline)]
    access: Access,
    /// The user who created the link.
    made_by: String,
    created_at: Timestamp,
    expires_at: Timestamp,
    /// When the link was revoked; absent while it is valid.
    revoked_at: Option<Timestamp>,
    /// The secret that opens the conversation, for `Authorization: Bearer` or `?token=`; returned only when the link is
    /// created.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

impl From<ConversationShareRow> for ConversationShareBody {
    fn from(row: ConversationShareRow) -> Self {
        Self {
            id: row.id,
            conversation_id: row.conversation_id.to_string(),
            access: row.role.into(),
            made_by: row.made_by,
            created_at: Timestamp(row.created_at_ms),
            expires_at: Timestamp(row.expires_at_ms),
            revoked_at: row.revoked_at_ms.map(Timestamp),
            token: None,
        }
    }
}

/// All links to a conversation.
#[derive(Debug, Serialize, ToSchema)]
struct ConversationShareList {
    /// Oldest first.
    items: Vec<ConversationShareBody>,
}

/// The conversation of a sub-agent is shared with that of its person (409).
pub(super) fn of_a_person(row: &ConversationRow) -> Result<(), ApiError> {
    if row.parent_id.is_some() {
        let message = format!("`{}` is the conversation of a sub-agent", row.id);
        return Err(ApiError::conflict(message, format!("share `{}`, which includes it", row.root_id)));
    }
    Ok(())
}

/// The store refuses rows of a conversation that was deleted in the meantime.
pub(super) fn gone(error: StoreError, id: &ConversationId) -> ApiError {
    match error {
        StoreError::Conflict { .. } => no_conversation(id),
        other => other.into(),
    }
}

/// Creates a link to a conversation: the holder of its token may use this conversation and those of its sub-agents, read
/// the executions that belong to them, and nothing else. For its owner.
#[utoipa::path(post, path = "/v1/conversations/{id}/shares",
    operation_id = "createConversationShare", tag = "conversations",
    params(("id" = String, Path, description = "the conversation")), request_body = ShareRequest,
    responses(
        (status = 201, body = ConversationShareBody), Common, NotFound, TakesJson,
        (status = 409, body = ErrorBody, description = "it has too many links"),
))]
async fn create(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ConversationId>,
    Json(request): Json<ShareRequest>,
) -> Result<(StatusCode, JsonBody<ConversationShareBody>), ApiError> {
    let row = gateway.auth.may_use_conversation(&who, Need::Own, &id).await?;
    of_a_person(&row)?;
    let (now, lifetime_ms) = (now_ms(), request.lifetime_ms()?);
    let is_good = |row: &&ConversationShareRow| row.revoked_at_ms.is_none() && now < row.expires_at_ms;
    if gateway.store.conversation_shares(&id).await?.iter().filter(is_good).count() >= MAX_SHARES {
        let hint = "revoke some: `DELETE /v1/conversations/{id}/shares/{share}`";
        return Err(ApiError::conflict(format!("the conversation already has {MAX_SHARES} links"), hint));
    }
    let token = secret(LINK_PREFIX);
    let expires_at_ms = now.saturating_add(lifetime_ms);
    let row = ConversationShareRow {
        id: format!("shr_{}", random_hex()),
        conversation_id: id.clone(),
        role: request.access.into(),
        hash: hash(&token),
        made_by: who.owner.clone(),
        created_at_ms: now,
        expires_at_ms: Gateway::latest_end(&who, Some(expires_at_ms)).unwrap_or(expires_at_ms),
        revoked_at_ms: None,
    };
    gateway.store.put_conversation_share(&row).await.map_err(|error| gone(error, &id))?;
    let detail = format!("link={} as {}", row.id, row.role);
    gateway.audit.record(&who, "conversation.share", id.to_string(), detail);
    Ok((StatusCode::CREATED, JsonBody(ConversationShareBody { token: Some(token), ..row.into() })))
}

/// Lists the links to a conversation, without their secrets. For its owner.
#[utoipa::path(get, path = "/v1/conversations/{id}/shares",
    operation_id = "listConversationShares", tag = "conversations",
    params(("id" = String, Path, description = "the conversation")),
    responses((status = 200, body = ConversationShareList), Common, NotFound))]
async fn list(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ConversationId>,
) -> Result<JsonBody<ConversationShareList>, ApiError> {
    gateway.auth.may_use_conversation(&who, Need::Own, &id).await?;
    let rows = gateway.store.conversation_shares(&id).await?;
    Ok(JsonBody(ConversationShareList { items: rows.into_iter().map(Into::into).collect() }))
}

/// Revokes a link: it is refused from now on, and its streams are closed. For the conversation's owner.
#[utoipa::path(delete, path = "/v1/conversations/{id}/shares/{share}",
    operation_id = "revokeConversationShare", tag = "conversations",
    params(("id" = String, Path, description = "the conversation"), ("share" = String, Path, description = "the link's id")),
    responses((status = 204, description = "it was revoked"), Common, NotFound))]
async fn revoke(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path((id, share)): Path<(ConversationId, String)>,
) -> Result<StatusCode, ApiError> {
    gateway.auth.may_use_conversation(&who, Need::Own, &id).await?;
    if !gateway.store.revoke_conversation_share(&id, &share, now_ms()).await? {
        return Err(ApiError::not_found("share", &share).hint("`GET .../shares` lists them"));
    }
    gateway.auth.identities.clear();
    gateway.audit.record(&who, "conversation.unshare", id.to_string(), format!("link={share}"));
    Ok(StatusCode::NO_CONTENT)
}
