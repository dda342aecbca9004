//! API tokens: `/v1/tokens`. Users manage their own tokens, operators all. No token can create one with more
//! rights than itself.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use headwater_protocol::api::{ErrorBody, PageBody};
use headwater_store::{Role, TokenRow};
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::accounts::{RoleName, TokenBody};
use crate::auth::{Identity, Need, Scope, Whose, authorise, authorise_on, make_token};
use crate::error::ApiError;
use crate::http::extract::{Json, NoQuery, Path, Query};
use crate::http::openapi::{Common, NotFound, TakesJson};
use crate::http::paging::{PageQuery, page_body};
use crate::now_ms;
use crate::state::Gateway;

/// The maximum number of valid tokens of one owner.
const MAX_TOKENS: usize = 500;
/// The maximum number of sessions that a token can be restricted to.
const MAX_SESSIONS: usize = 100;
/// The maximum number of scopes of a token.
const MAX_SCOPES: usize = 20;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(create, list)).routes(routes!(delete))
}

/// A request for a token.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(examples(json!({"name": "ci", "role": "member", "scopes": ["executions:write", "files:read"],
    "expires_in_ms": 2_592_000_000_u64})))]
#[serde(deny_unknown_fields)]
struct TokenRequest {
    /// A label for people.
    #[serde(default)]
    #[schema(max_length = 255)]
    name: String,
    /// The role, at most your own; if absent, `member`, or your own if that is less.
    #[schema(inline)]
    role: Option<RoleName>,
    /// The sessions to restrict the token to, each by its id, its name or a unique prefix of its id; all if
    /// absent. The token keeps to these sessions if another one gets the name.
    #[schema(max_items = 100)]
    sessions: Option<Vec<String>>,
    /// The scopes to restrict the token to, such as `executions:read` or `files:write`; everything that its
    /// role allows if absent. Areas are `sessions`, `executions`, `files`, `terminals`, `builds`, `tokens`
    /// and, for tokens of the role `admin`, `metrics`.
    #[schema(max_items = 20)]
    scopes: Option<Vec<String>>,
    /// The lifetime; if absent, unlimited, or that of your own token.
    #[schema(minimum = 1)]
    expires_in_ms: Option<u64>,
    /// The owner of the token; only operators may name others.
    #[schema(min_length = 1, max_length = 255)]
    owner: Option<String>,
}

/// Creates a token. Its secret is returned only here.
///
/// A token has at most your own rights: no higher role, no other sessions, no more scopes, and it expires no
/// later than the token that creates it.
#[utoipa::path(post, path = "/v1/tokens",
    operation_id = "createToken", tag = "tokens", request_body = Option<TokenRequest>, responses(
        (status = 201, body = TokenBody), Common, TakesJson,
        (status = 404, body = ErrorBody, description = "no such session"),
        (status = 409, body = ErrorBody,
            description = "the owner has too many tokens, or a prefix of an id is ambiguous"),
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
    let sessions = match &request.sessions {
        Some(named) => Some(gateway.sessions_named(&who, Need::Read, named).await?),
        None => None,
    };
    let is_good = |row: &&TokenRow| row.owner == owner && row.revoked_at_ms.is_none();
    if gateway.store.tokens().await?.iter().filter(is_good).count() >= MAX_TOKENS {
        let message = format!("`{owner}` already has {MAX_TOKENS} tokens");
        return Err(ApiError::conflict(message, "revoke some: `DELETE /v1/tokens/{token}`"));
    }
    let requested = request.expires_in_ms.map(|time| now_ms().saturating_add(time));
    let mut made = make_token(&request.name, &owner, role, Gateway::latest_end(&who, requested));
    (made.row.sessions, made.row.scopes) = (sessions, scopes);
    gateway.store.put_token(&made.row).await?;
    gateway.audit.record(&who, "token.create", made.row.id.clone(), format!("for {owner}, role {role}"));
    let mut body = TokenBody::from(made.row);
    body.token = Some(made.secret);
    Ok((StatusCode::CREATED, JsonBody(body)))
}

fn check_text(request: &TokenRequest) -> Result<(), ApiError> {
    let is_long = |text: &str| text.len() > 255 || text.chars().any(char::is_control);
    if is_long(&request.name) {
        return Err(ApiError::invalid("`name` must be one line of at most 255 bytes"));
    }
    if request.expires_in_ms == Some(0) {
        return Err(ApiError::invalid("`expires_in_ms` must be more than 0"));
    }
    if request.owner.as_deref().is_some_and(|owner| owner.is_empty() || is_long(owner)) {
        return Err(ApiError::invalid("`owner` must be one line of 1 to 255 bytes"));
    }
    if request.sessions.as_ref().is_some_and(|list| list.is_empty() || list.len() > MAX_SESSIONS) {
        return Err(ApiError::invalid(format!("`sessions` must have 1 to {MAX_SESSIONS} entries")));
    }
    if request.scopes.as_ref().is_some_and(|list| list.is_empty() || list.len() > MAX_SCOPES) {
        return Err(ApiError::invalid(format!("`scopes` must have 1 to {MAX_SCOPES} entries")));
    }
    Ok(())
}

fn exceeds_own(what: &str) -> ApiError {
    ApiError::forbidden(
        format!("a token cannot create one with {what} that it does not have"),
        "`GET /v1/me` returns your rights",
    )
}

fn owner(who: &Identity, requested: Option<String>) -> Result<String, ApiError> {
    match requested {
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

fn role(who: &Identity, requested: Option<RoleName>) -> Result<Role, ApiError> {
    let Some(requested) = requested.map(Role::from) else {
        return Ok(who.role.at_most(Role::Member));
    };
    if requested.at_most(who.role) == requested { Ok(requested) } else { Err(exceeds_own("a role")) }
}

fn scopes(who: &Identity, requested: Option<Vec<String>>) -> Result<Option<Vec<String>>, ApiError> {
    let own = who.bounds.scopes.as_deref();
    let Some(requested) = requested else {
        return Ok(own.map(|own| own.iter().map(Scope::to_string).collect()));
    };
    let mut all = Vec::new();
    for text in requested {
        let scope: Scope = text.parse()?;
        if own.is_some_and(|own| !own.iter().any(|own| own.includes(scope))) {
            return Err(exceeds_own("a scope"));
        }
        all.push(scope.to_string());
    }
    Ok(Some(all))
}

/// Lists your tokens (for operators, all tokens), newest first, without their secrets.
#[utoipa::path(get, path = "/v1/tokens", operation_id = "listTokens", tag = "tokens", params(PageQuery),
    responses((status = 200, body = PageBody<TokenBody>), Common))]
async fn list(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Query(query): Query<PageQuery>,
) -> Result<JsonBody<PageBody<TokenBody>>, ApiError> {
    authorise(&who, Need::Read)?;
    let page = query.page()?;
    let (limit, bounded) = (page.limit as usize, who.bounds.sessions.is_some());
    // Rows are never removed, so a position in the list stays valid.
    let before = page.cursor.and_then(|cursor| usize::try_from(cursor).ok()).unwrap_or(usize::MAX);
    let rows = gateway.store.tokens().await?.into_iter().enumerate();
    // A token that is restricted to certain sessions sees only itself.
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

/// Revokes a token: it is refused from now on, and its streams are closed.
#[utoipa::path(delete, path = "/v1/tokens/{token}", operation_id = "revokeToken", tag = "tokens",
    params(("token" = String, Path, description = "the token's id")),
    responses((status = 204, description = "it was revoked"), Common, NotFound))]
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
