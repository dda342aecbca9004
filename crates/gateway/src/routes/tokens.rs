//! API tokens: `/v1/tokens`. Everybody manages their own, operators all; no token makes one that may more than itself.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use headwater_protocol::SessionId;
use headwater_protocol::api::{ErrorBody, PageBody};
use headwater_store::{Role, TokenRow};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::accounts::{RoleName, TokenBody};
use crate::auth::{Identity, Need, Scope, Whose, authorise, authorise_on, make_token};
use crate::error::ApiError;
use crate::http::extract::{Json, NoQuery, Path, Query};
use crate::http::openapi::{Common, NotFound, TakesJson};
use crate::http::paging::{page_body, page_request};
use crate::now_ms;
use crate::state::Gateway;

/// The most good tokens of one owner.
const MAX_TOKENS: usize = 500;
/// The most sessions that a token names.
const MAX_SESSIONS: usize = 100;
/// The most scopes that a token names.
const MAX_SCOPES: usize = 20;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(create, list)).routes(routes!(delete))
}

/// A token to make.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TokenRequest {
    /// What it is for.
    #[serde(default)]
    #[schema(max_length = 255)]
    name: String,
    /// At most your own; `member`, or your own if that is less, if absent.
    #[schema(inline)]
    role: Option<RoleName>,
    /// The only sessions that it may use; all if absent.
    #[schema(max_items = 100, value_type = Option<Vec<String>>)]
    sessions: Option<Vec<SessionId>>,
    /// The only things that it may do, such as `executions:read` or `files:write`; all that its role may if absent.
    /// Areas are `sessions`, `executions`, `files`, `terminals`, `builds` and `tokens`.
    #[schema(max_items = 20)]
    scopes: Option<Vec<String>>,
    /// For how long it is good; for ever, or as long as your own token, if absent.
    #[schema(minimum = 1)]
    expires_in_ms: Option<u64>,
    /// Whom it speaks for; only operators name others.
    #[schema(min_length = 1, max_length = 255)]
    owner: Option<String>,
}

/// Makes a token: its secret is shown this one time.
///
/// It may at most what you may: no higher role, no other sessions, no more scopes, and it ends no later than the token
/// that makes it.
#[utoipa::path(post, path = "/v1/tokens", tag = "tokens", request_body = Option<TokenRequest>, responses(
        (status = 201, body = TokenBody), Common, TakesJson,
        (status = 404, body = ErrorBody, description = "no such session"),
        (status = 409, body = ErrorBody, description = "there are too many"),
))]
async fn create(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Json(request): Json<TokenRequest>,
) -> Result<impl IntoResponse, ApiError> {
    authorise(&who, Need::Write)?;
    check_text(&request)?;
    let owner = owner(&who, request.owner)?;
    let role = role(&who, request.role)?;
    let scopes = scopes(&who, request.scopes)?;
    for id in request.sessions.iter().flatten() {
        gateway.auth.may_use_session(&who, Need::Read, *id).await?;
    }
    let is_good = |row: &&TokenRow| row.owner == owner && row.revoked_at_ms.is_none();
    if gateway.store.tokens().await?.iter().filter(is_good).count() >= MAX_TOKENS {
        let message = format!("`{owner}` has {MAX_TOKENS} tokens");
        return Err(ApiError::conflict(message, "revoke some: `DELETE /v1/tokens/{token}`"));
    }
    let wanted = request.expires_in_ms.map(|time| now_ms().saturating_add(time));
    let mut made = make_token(&request.name, &owner, role, Gateway::latest_end(&who, wanted));
    (made.row.sessions, made.row.scopes) = (request.sessions, scopes);
    gateway.store.put_token(&made.row).await?;
    gateway.audit.record(&who, "token.create", made.row.id.clone(), format!("for {owner}, role {role}"));
    let mut body = TokenBody::from(made.row);
    body.token = Some(made.secret);
    Ok((StatusCode::CREATED, JsonBody(body)))
}

fn check_text(request: &TokenRequest) -> Result<(), ApiError> {
    let is_long = |text: &str| text.len() > 255 || text.chars().any(char::is_control);
    if is_long(&request.name) {
        return Err(ApiError::invalid("`name` has at most 255 bytes on one line"));
    }
    if request.expires_in_ms == Some(0) {
        return Err(ApiError::invalid("`expires_in_ms` must be more than 0"));
    }
    if request.owner.as_deref().is_some_and(|owner| owner.is_empty() || is_long(owner)) {
        return Err(ApiError::invalid("`owner` has 1 to 255 bytes on one line"));
    }
    if request.sessions.as_ref().is_some_and(|list| list.is_empty() || list.len() > MAX_SESSIONS) {
        return Err(ApiError::invalid(format!("`sessions` names 1 to {MAX_SESSIONS}")));
    }
    if request.scopes.as_ref().is_some_and(|list| list.is_empty() || list.len() > MAX_SCOPES) {
        return Err(ApiError::invalid(format!("`scopes` names 1 to {MAX_SCOPES}")));
    }
    Ok(())
}

fn mightier(what: &str) -> ApiError {
    ApiError::forbidden(
        format!("a token cannot make one with {what} that it does not have"),
        "`GET /v1/me` tells what you may",
    )
}

fn owner(who: &Identity, wanted: Option<String>) -> Result<String, ApiError> {
    match wanted {
        Some(owner) if owner != who.owner => {
            authorise(who, Need::Admin)?;
            if owner.starts_with("link:") {
                return Err(ApiError::invalid("`owner` cannot be a link"));
            }
            Ok(owner)
        }
        _ => Ok(who.owner.clone()),
    }
}

fn role(who: &Identity, wanted: Option<RoleName>) -> Result<Role, ApiError> {
    let Some(wanted) = wanted.map(Role::from) else {
        return Ok(who.role.at_most(Role::Member));
    };
    if wanted.at_most(who.role) == wanted { Ok(wanted) } else { Err(mightier("a role")) }
}

fn scopes(who: &Identity, wanted: Option<Vec<String>>) -> Result<Option<Vec<String>>, ApiError> {
    let own = who.bounds.scopes.as_deref();
    let Some(wanted) = wanted else {
        return Ok(own.map(|own| own.iter().map(Scope::to_string).collect()));
    };
    let mut all = Vec::new();
    for text in wanted {
        let scope: Scope = text.parse()?;
        if own.is_some_and(|own| !own.iter().any(|own| own.includes(scope))) {
            return Err(mightier("a scope"));
        }
        all.push(scope.to_string());
    }
    Ok(Some(all))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// The most on a page: 100 if absent.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    #[param(pattern = "^[0-9]{1,18}$")]
    cursor: Option<String>,
}

/// Lists your tokens, or all of them for operators: the newest first, without their secrets.
#[utoipa::path(get, path = "/v1/tokens", tag = "tokens", params(ListQuery),
    responses((status = 200, body = PageBody<TokenBody>), Common))]
async fn list(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Query(query): Query<ListQuery>,
) -> Result<JsonBody<PageBody<TokenBody>>, ApiError> {
    authorise(&who, Need::Read)?;
    let page = page_request(query.limit, query.cursor.as_deref())?;
    let (limit, bounded) = (page.limit as usize, who.bounds.sessions.is_some());
    // None is ever removed: a place in the list is a place for ever.
    let before = page.cursor.and_then(|cursor| usize::try_from(cursor).ok()).unwrap_or(usize::MAX);
    let rows = gateway.store.tokens().await?.into_iter().enumerate();
    // A token for certain sessions learns of itself only.
    let sees = |row: &TokenRow| match (who.role, bounded) {
        (_, true) => row.id == who.token_id,
        (Role::Admin, false) => true,
        (_, false) => row.owner == who.owner,
    };
    let mut found: Vec<_> = rows.filter(|(at, row)| *at < before && sees(row)).collect();
    found.reverse();
    let next = (found.len() > limit).then(|| found.get(limit - 1).map(|(at, _)| *at)).flatten();
    found.truncate(limit);
    let items = found.into_iter().map(|(_, row)| row.into()).collect();
    Ok(JsonBody(page_body(items, next.and_then(|at| i64::try_from(at).ok()))))
}

/// Revokes a token: it is refused from now on, and its streams end.
#[utoipa::path(delete, path = "/v1/tokens/{token}", tag = "tokens",
    params(("token" = String, Path, description = "the token's id")),
    responses((status = 204, description = "it is revoked"), Common, NotFound))]
async fn delete(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    let missing = || ApiError::not_found("token", &id);
    let row = gateway.store.tokens().await?.into_iter().find(|row| row.id == id).ok_or_else(missing)?;
    authorise_on(&who, Need::Write, Whose::of(&row.owner), missing)?;
    gateway.store.revoke_token(&row.id, now_ms()).await?;
    gateway.auth.identities.clear();
    gateway.audit.record(&who, "token.revoke", row.id, String::new());
    Ok(StatusCode::NO_CONTENT)
}
