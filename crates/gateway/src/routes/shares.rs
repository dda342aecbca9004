//! Sharing a session: members with roles, and links.

pub(crate) mod members;

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use headwater_protocol::SessionId;
use headwater_protocol::api::{ErrorBody, Timestamp};
use headwater_store::{SessionRole, ShareRow};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Identity, LINK_PREFIX, Need, hash, random_hex, secret};
use crate::error::ApiError;
use crate::http::extract::{Json, NoQuery, Path};
use crate::http::openapi::{Common, NamesSession, NotFound, TakesJson};
use crate::now_ms;
use crate::state::Gateway;

/// The maximum number of valid links of a session.
pub(crate) const MAX_SHARES: usize = 100;
/// The default lifetime of a link.
const DEFAULT_LIFETIME_MS: u64 = 7 * 24 * 60 * 60 * 1000;
/// The maximum lifetime of a link.
const MAX_LIFETIME_MS: u64 = 365 * 24 * 60 * 60 * 1000;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(create, list)).routes(routes!(revoke)).merge(members::routes())
}

/// The access that a link gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Access {
    /// Read-only access.
    Read,
    /// Access to read, start, change and end.
    Write,
}

impl From<SessionRole> for Access {
    fn from(role: SessionRole) -> Self {
        match role {
            SessionRole::Viewer => Self::Read,
            SessionRole::Editor => Self::Write,
        }
    }
}

impl From<Access> for SessionRole {
    fn from(access: Access) -> Self {
        match access {
            Access::Read => Self::Viewer,
            Access::Write => Self::Editor,
        }
    }
}

/// A request for a link.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(examples(json!({"access": "read", "expires_in_ms": 86_400_000})))]
#[serde(deny_unknown_fields)]
pub(crate) struct ShareRequest {
    #[schema(inline)]
    pub(crate) access: Access,
    /// The lifetime of the link: 7 days if absent, at most 365.
    #[schema(minimum = 1, maximum = 31_536_000_000_u64)]
    expires_in_ms: Option<u64>,
}

impl ShareRequest {
    /// How long the link is valid.
    pub(crate) fn lifetime_ms(&self) -> Result<u64, ApiError> {
        let lifetime = self.expires_in_ms.unwrap_or(DEFAULT_LIFETIME_MS);
        if !(1..=MAX_LIFETIME_MS).contains(&lifetime) {
            return Err(ApiError::invalid(format!("`expires_in_ms` must be from 1 to {MAX_LIFETIME_MS}")));
        }
        Ok(lifetime)
    }
}

/// A link to a session.
#[derive(Debug, Serialize, ToSchema)]
struct ShareBody {
    /// `shr_` and 32 hexadecimal digits.
    id: String,
    /// The session that the link opens.
    session_id: String,
    #[schema(inline)]
    access: Access,
    /// The user who created the link.
    made_by: String,
    created_at: Timestamp,
    expires_at: Timestamp,
    /// When the link was revoked; absent while it is valid.
    revoked_at: Option<Timestamp>,
    /// The secret that opens the session, for `Authorization: Bearer` or `?token=`; returned only when the
    /// link is created.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

impl From<ShareRow> for ShareBody {
    fn from(row: ShareRow) -> Self {
        Self {
            id: row.id,
            session_id: row.session_id.to_string(),
            access: row.role.into(),
            made_by: row.made_by,
            created_at: Timestamp(row.created_at_ms),
            expires_at: Timestamp(row.expires_at_ms),
            revoked_at: row.revoked_at_ms.map(Timestamp),
            token: None,
        }
    }
}

/// All links of a session.
#[derive(Debug, Serialize, ToSchema)]
struct ShareList {
    /// Oldest first.
    items: Vec<ShareBody>,
}

/// Creates a link to a session: the holder of its token may use this session, and nothing else. For its
/// owner.
#[utoipa::path(post, path = "/v1/sessions/{id}/shares", operation_id = "createShare", tag = "sharing",
    params(("id" = String, Path, description = "the session")), request_body = ShareRequest,
    responses(
        (status = 201, body = ShareBody), Common, NotFound, TakesJson,
        (status = 409, body = ErrorBody, description = "it has too many links"),
))]
async fn create(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
    Json(request): Json<ShareRequest>,
) -> Result<impl IntoResponse, ApiError> {
    gateway.auth.may_use_session(&who, Need::Own, id).await?;
    let lifetime = request.lifetime_ms()?;
    let is_good = |row: &&ShareRow| row.revoked_at_ms.is_none() && now_ms() < row.expires_at_ms;
    if gateway.store.shares(id).await?.iter().filter(is_good).count() >= MAX_SHARES {
        return Err(ApiError::conflict(
            format!("the session already has {MAX_SHARES} links"),
            "revoke some: `DELETE /v1/sessions/{id}/shares/{share}`",
        ));
    }
    let (token, now) = (secret(LINK_PREFIX), now_ms());
    let expires_at_ms = now.saturating_add(lifetime);
    let row = ShareRow {
        id: format!("shr_{}", random_hex()),
        session_id: id,
        role: request.access.into(),
        hash: hash(&token),
        made_by: who.owner.clone(),
        created_at_ms: now,
        expires_at_ms: Gateway::latest_end(&who, Some(expires_at_ms)).unwrap_or(expires_at_ms),
        revoked_at_ms: None,
    };
    gateway.store.put_share(&row).await.map_err(|error| gone(error, id))?;
    gateway.audit.record(&who, "share.create", row.id.clone(), format!("{} of {id}", row.role));
    Ok((StatusCode::CREATED, JsonBody(ShareBody { token: Some(token), ..row.into() })))
}

/// The store refuses rows of a session that was removed in the meantime.
fn gone(error: headwater_store::StoreError, id: SessionId) -> ApiError {
    match error {
        headwater_store::StoreError::Conflict { .. } => ApiError::not_found("session", &id.to_string()),
        other => other.into(),
    }
}

/// Lists the links of a session, without their secrets. For its owner.
#[utoipa::path(get, path = "/v1/sessions/{id}/shares", operation_id = "listShares", tag = "sharing",
    params(("id" = String, Path, description = "the session")),
    responses((status = 200, body = ShareList), Common, NamesSession))]
async fn list(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
) -> Result<JsonBody<ShareList>, ApiError> {
    gateway.auth.may_use_session(&who, Need::Own, id).await?;
    let rows = gateway.store.shares(id).await?;
    Ok(JsonBody(ShareList { items: rows.into_iter().map(Into::into).collect() }))
}

/// Revokes a link: it is refused from now on, and its streams are closed. For the session's owner.
#[utoipa::path(delete, path = "/v1/sessions/{id}/shares/{share}",
    operation_id = "revokeShare", tag = "sharing",
    params(("id" = String, Path, description = "the session"), ("share" = String, Path, description = "the link's id")),
    responses((status = 204, description = "it was revoked"), Common, NamesSession))]
async fn revoke(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path((id, share)): Path<(SessionId, String)>,
) -> Result<StatusCode, ApiError> {
    gateway.auth.may_use_session(&who, Need::Own, id).await?;
    if !gateway.store.revoke_share(id, &share, now_ms()).await? {
        return Err(ApiError::not_found("share", &share).hint("`GET .../shares` lists them"));
    }
    gateway.auth.identities.clear();
    gateway.audit.record(&who, "share.revoke", share, String::new());
    Ok(StatusCode::NO_CONTENT)
}
