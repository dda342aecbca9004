//! Members of a session: `/v1/sessions/{id}/members`.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::StatusCode;
use headwater_protocol::SessionId;
use headwater_protocol::api::{ErrorBody, Timestamp};
use headwater_store::{MemberRow, SessionRole};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::gone;
use crate::accounts::MemberRole;
use crate::auth::{Identity, Need, authorise};
use crate::error::ApiError;
use crate::http::extract::{Json, NoQuery, Path};
use crate::http::openapi::{Common, NamesSession, NotFound, TakesJson};
use crate::now_ms;
use crate::state::Gateway;

/// The maximum number of members of a session.
pub(crate) const MAX_MEMBERS: usize = 100;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(get, put, delete))
}

/// A member.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MemberBody {
    /// The user's name, or the owner of a token.
    user: String,
    #[schema(inline)]
    role: MemberRole,
    added_at: Timestamp,
}

impl MemberBody {
    /// This member with this role.
    pub(crate) fn new(user: String, role: SessionRole, added_at_ms: u64) -> Self {
        Self { user, role: role.into(), added_at: Timestamp(added_at_ms) }
    }
}

impl From<MemberRow> for MemberBody {
    fn from(row: MemberRow) -> Self {
        Self::new(row.member, row.role, row.added_at_ms)
    }
}

/// An owner and the members.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MemberList {
    /// The owner.
    pub(crate) owner: String,
    /// The members, in order of their names.
    pub(crate) items: Vec<MemberBody>,
}

/// Checks that `who` may see the members: all members may, links may not.
async fn may_see(gateway: &Gateway, who: &Identity, id: SessionId) -> Result<String, ApiError> {
    let owner = gateway.auth.may_use_session(who, Need::Read, id).await?;
    if who.bounds.link.is_some() {
        return Err(ApiError::forbidden("a link gives no access to the list of members", "sign in"));
    }
    Ok(owner)
}

/// Lists the members of a session.
#[utoipa::path(get, path = "/v1/sessions/{id}/members", operation_id = "listMembers", tag = "sharing",
    params(("id" = String, Path, description = "the session")),
    responses((status = 200, body = MemberList), Common, NamesSession))]
async fn list(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
) -> Result<JsonBody<MemberList>, ApiError> {
    let owner = may_see(&gateway, &who, id).await?;
    let rows = gateway.store.members(id).await?;
    Ok(JsonBody(MemberList { owner, items: rows.into_iter().map(Into::into).collect() }))
}

/// Returns a member of a session.
#[utoipa::path(get, path = "/v1/sessions/{id}/members/{user}", operation_id = "getMember", tag = "sharing",
    params(("id" = String, Path, description = "the session"), ("user" = String, Path, description = "id or name")),
    responses((status = 200, body = MemberBody), Common, NamesSession))]
async fn get(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path((id, user)): Path<(SessionId, String)>,
) -> Result<JsonBody<MemberBody>, ApiError> {
    may_see(&gateway, &who, id).await?;
    let name = gateway.member_name(&user).await?;
    let row = gateway.store.member(id, &name).await?;
    Ok(JsonBody(row.ok_or_else(|| no_member(&user))?.into()))
}

pub(crate) fn no_member(user: &str) -> ApiError {
    ApiError::not_found("member", user).hint("`GET .../members` lists them")
}

/// The role of a member.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(examples(json!({"role": "viewer"})))]
#[serde(deny_unknown_fields)]
pub(crate) struct MemberRequest {
    #[schema(inline)]
    pub(crate) role: MemberRole,
}

/// Adds a member to a session, or changes its role. For its owner.
///
/// Viewers have read-only access; editors can also start, change and end programs. Only the owner can delete
/// the session and choose its members. The response does not reveal whether a user of that name exists.
#[utoipa::path(put, path = "/v1/sessions/{id}/members/{user}", operation_id = "setMember", tag = "sharing",
    params(("id" = String, Path, description = "the session"), ("user" = String, Path, description = "id or name")),
    request_body = MemberRequest,
    responses(
        (status = 200, body = MemberBody), Common, NotFound, TakesJson,
        (status = 409, body = ErrorBody, description = "the user is the owner, or there are too many members"),
))]
async fn put(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path((id, user)): Path<(SessionId, String)>,
    Json(request): Json<MemberRequest>,
) -> Result<JsonBody<MemberBody>, ApiError> {
    let owner = gateway.auth.may_use_session(&who, Need::Own, id).await?;
    let member = gateway.member_name(&user).await?;
    if member == owner {
        return Err(ApiError::conflict(format!("`{member}` owns the session"), "choose somebody else"));
    }
    let members = gateway.store.members(id).await?;
    if members.len() >= MAX_MEMBERS && !members.iter().any(|row| row.member == member) {
        let message = format!("the session already has {MAX_MEMBERS} members");
        return Err(ApiError::conflict(message, "remove some first"));
    }
    let added_at_ms =
        members.iter().find(|row| row.member == member).map_or_else(now_ms, |row| row.added_at_ms);
    let row = MemberRow { session_id: id, member, role: request.role.into(), added_at_ms };
    gateway.store.put_member(&row).await.map_err(|error| gone(error, id))?;
    gateway.auth.access.forget_member(id, &row.member);
    gateway.audit.record(&who, "member.put", id.to_string(), format!("{} as {}", row.member, row.role));
    Ok(JsonBody(row.into()))
}

/// Removes a member from a session and closes its streams. For the owner, and for the member itself.
#[utoipa::path(delete, path = "/v1/sessions/{id}/members/{user}",
    operation_id = "removeMember", tag = "sharing",
    params(("id" = String, Path, description = "the session"), ("user" = String, Path, description = "id or name")),
    responses((status = 204, description = "it was removed"), Common, NamesSession))]
async fn delete(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path((id, user)): Path<(SessionId, String)>,
) -> Result<StatusCode, ApiError> {
    gateway.auth.may_use_session(&who, Need::Read, id).await?;
    let member = gateway.member_name(&user).await?;
    let leaves = member == who.owner;
    if leaves {
        authorise(&who, Need::Write)?;
    } else {
        gateway.auth.may_use_session(&who, Need::Own, id).await?;
    }
    if !gateway.store.remove_member(id, &member).await? {
        return Err(no_member(&user));
    }
    gateway.auth.access.forget_member(id, &member);
    gateway.audit.record(&who, "member.delete", id.to_string(), member);
    Ok(StatusCode::NO_CONTENT)
}
