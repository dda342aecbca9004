//! Members of a session: `/v1/sessions/{id}/members`.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::StatusCode;
use headwater_protocol::SessionId;
use headwater_protocol::api::{ErrorBody, Timestamp};
use headwater_store::MemberRow;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::gone;
use crate::accounts::MemberRole;
use crate::auth::{Identity, Need, authorise};
use crate::error::ApiError;
use crate::http::extract::{Json, NoQuery, Path};
use crate::http::openapi::{Common, NotFound, TakesJson};
use crate::now_ms;
use crate::state::Gateway;

/// The most members of a session.
const MAX_MEMBERS: usize = 100;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(get, put, delete))
}

/// A member of a session.
#[derive(Debug, Serialize, ToSchema)]
struct MemberBody {
    /// The user's name, or whom a token speaks for.
    user: String,
    #[schema(inline)]
    role: MemberRole,
    added_at: Timestamp,
}

impl From<MemberRow> for MemberBody {
    fn from(row: MemberRow) -> Self {
        Self { user: row.member, role: row.role.into(), added_at: Timestamp(row.added_at_ms) }
    }
}

/// All that may use a session besides links.
#[derive(Debug, Serialize, ToSchema)]
struct MemberList {
    /// To whom it belongs.
    owner: String,
    /// Who else may use it, by name.
    items: Vec<MemberBody>,
}

/// Lets `who` see who the members are: all of them may, and links may not.
async fn may_see(gateway: &Gateway, who: &Identity, id: SessionId) -> Result<String, ApiError> {
    let owner = gateway.auth.may_use_session(who, Need::Read, id).await?;
    if who.bounds.link.is_some() {
        return Err(ApiError::forbidden("a link does not tell who else is here", "sign in"));
    }
    Ok(owner)
}

/// Lists the members of a session.
#[utoipa::path(get, path = "/v1/sessions/{id}/members", tag = "sharing",
    params(("id" = String, Path, description = "the session")),
    responses((status = 200, body = MemberList), Common, NotFound))]
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

/// Tells of a member of a session.
#[utoipa::path(get, path = "/v1/sessions/{id}/members/{user}", tag = "sharing",
    params(("id" = String, Path, description = "the session"), ("user" = String, Path, description = "id or name")),
    responses((status = 200, body = MemberBody), Common, NotFound))]
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

fn no_member(user: &str) -> ApiError {
    ApiError::not_found("member", user).hint("`GET .../members` lists those that are there")
}

/// What a member may do.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct MemberRequest {
    #[schema(inline)]
    role: MemberRole,
}

/// Makes somebody a member of a session, or gives them another role. For its owner.
///
/// Viewers look; editors also start, change and end what runs in it. Only the owner removes it and chooses its members.
/// Whether there is a user of that name is not told.
#[utoipa::path(put, path = "/v1/sessions/{id}/members/{user}", tag = "sharing",
    params(("id" = String, Path, description = "the session"), ("user" = String, Path, description = "id or name")),
    request_body = MemberRequest,
    responses(
        (status = 200, body = MemberBody), Common, NotFound, TakesJson,
        (status = 409, body = ErrorBody, description = "it is the owner, or there are too many"),
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
        let message = format!("the session has {MAX_MEMBERS} members");
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

/// Removes a member of a session; their streams end. For its owner, and for the member itself.
#[utoipa::path(delete, path = "/v1/sessions/{id}/members/{user}", tag = "sharing",
    params(("id" = String, Path, description = "the session"), ("user" = String, Path, description = "id or name")),
    responses((status = 204, description = "it is no member any more"), Common, NotFound))]
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
