//! Sign-in with a password, refresh, sign-out: `/v1/login`, `/v1/logout`, `/v1/me`.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json as JsonBody;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use headwater_protocol::api::{ErrorBody, ErrorCode};
use headwater_store::{SignInKind, SignInRow, UserRow};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::give_cookie;
use crate::accounts::{RoleName, UserBody};
use crate::auth::{Credential, Identity, cleared, hash, random_hex, secret, too_many};
use crate::error::ApiError;
use crate::http::extract::{Json, NoQuery};
use crate::http::openapi::{Common, TakesJson};
use crate::now_ms;
use crate::state::Gateway;

/// Marks a refresh token.
const REFRESH_PREFIX: &str = "hwr_";
/// After many failures from one address, each further failure delays its next attempt by this much: four
/// guesses a second, whatever the names.
const FAILURE_DELAY: Duration = Duration::from_millis(250);

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new()
        .routes(routes!(sign_in))
        .routes(routes!(refresh))
        .routes(routes!(sign_out))
        .routes(routes!(me))
}

/// A request to sign in.
#[derive(Deserialize, ToSchema)]
#[schema(examples(json!({"name": "ann", "password": "correct horse battery"})))]
#[serde(deny_unknown_fields)]
struct SignInRequest {
    /// The user's name; case does not matter.
    #[schema(max_length = 64)]
    name: String,
    /// The user's password.
    #[schema(max_length = 1024)]
    password: String,
    /// For a browser: set a cookie instead of returning tokens.
    #[serde(default)]
    cookie: bool,
}

/// The tokens of a sign-in.
#[derive(Debug, Serialize, ToSchema)]
struct SignedIn {
    /// A JWT, for `Authorization: Bearer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    access_token: Option<String>,
    /// Always `Bearer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    token_type: Option<&'static str>,
    /// The lifetime of the access token.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_in_ms: Option<u64>,
    /// Valid for one use, for `POST /v1/login/refresh`.
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<String>,
    user: UserBody,
}

/// The name or the password is wrong (401). Unknown names and disabled users get the same error.
fn refused() -> ApiError {
    ApiError::new(
        ErrorCode::WrongCredentials,
        "the name or the password is wrong",
        "an operator can set a new password: `headwater user password NAME`",
    )
}

/// Signs a user in with a password.
///
/// The access token is a JWT that is valid for some minutes; the refresh token gets the next one. With
/// `cookie` a browser gets a cookie instead. After ten failures for one name from one address, further
/// attempts for this name from there are delayed; other names are not.
#[utoipa::path(post, path = "/v1/login",
    operation_id = "signIn", tag = "users", security(()), request_body = SignInRequest,
    responses((status = 200, body = SignedIn), Common, TakesJson))]
async fn sign_in(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    _: NoQuery,
    headers: HeaderMap,
    Json(request): Json<SignInRequest>,
) -> Result<Response, ApiError> {
    let user = verified(&gateway, address.ip(), &request.name, request.password).await?;
    if request.cookie {
        let cookie = give_cookie(&gateway, &headers, Some(user.id.clone()), None, None).await?;
        note(&gateway, &user, address.ip(), "cookie").await;
        let (access_token, token_type, expires_in_ms, refresh_token) = (None, None, None, None);
        let body = SignedIn { access_token, token_type, expires_in_ms, refresh_token, user: user.into() };
        let headers = [(header::SET_COOKIE, cookie), (header::CACHE_CONTROL, "no-store".to_owned())];
        return Ok((headers, JsonBody(body)).into_response());
    }
    let (id, refresh_token, now) = (format!("sgn_{}", random_hex()), secret(REFRESH_PREFIX), now_ms());
    let row = SignInRow {
        id,
        kind: SignInKind::Refresh,
        hash: hash(&refresh_token),
        user_id: Some(user.id.clone()),
        stands_for: None,
        created_at_ms: now,
        expires_at_ms: now.saturating_add(millis(gateway.config.auth.refresh_lifetime)),
    };
    gateway.store.put_sign_in(&row).await?;
    note(&gateway, &user, address.ip(), "password").await;
    signed_in(&gateway, user, &row.id, refresh_token)
}

/// The user with this name and password. Takes equally long for an unknown name.
///
/// Only failures of this name from this address delay it. Failures of others at the same address never refuse
/// a correct password: beyond a limit the attempts from this address only become slower.
async fn verified(
    gateway: &Arc<Gateway>,
    address: IpAddr,
    name: &str,
    password: String,
) -> Result<UserRow, ApiError> {
    let (now, name) = (Instant::now(), name.to_lowercase().chars().take(64).collect::<String>());
    let from = (name.clone(), address);
    gateway.auth.name_backoff.attempt(from.clone(), now).map_err(too_many)?;
    let is_slowed = gateway.auth.address_backoff.attempt(address, now).is_err();
    let checked = check(gateway, address, &name, password, is_slowed).await;
    // Only a wrong password counts as a failure.
    if !matches!(checked, Ok(None)) {
        gateway.auth.name_backoff.forgive(&from);
        if !is_slowed {
            gateway.auth.address_backoff.forgive(&address);
        }
    }
    if let Some(user) = checked? {
        gateway.auth.name_backoff.forget(&from);
        return Ok(user);
    }
    tracing::info!(%address, "sign-in failed");
    Err(refused())
}

/// The user, if the password is correct. Attempts of one address are checked one at a time.
async fn check(
    gateway: &Arc<Gateway>,
    address: IpAddr,
    name: &str,
    password: String,
    is_slowed: bool,
) -> Result<Option<UserRow>, ApiError> {
    let _lock = gateway.auth.passwords.lock(address).await?;
    let user = gateway.store.user_by_name(name).await?;
    let stored = user.as_ref().and_then(|user| user.password.clone());
    let is_right = gateway.auth.passwords.verify(password, stored).await?;
    let user = user.filter(|user| is_right && !user.disabled);
    if user.is_none() && is_slowed {
        tokio::time::sleep(FAILURE_DELAY).await;
    }
    Ok(user)
}

/// Writes to the audit log that a user signed in.
async fn note(gateway: &Arc<Gateway>, user: &UserRow, address: IpAddr, how: &str) {
    let credential = Credential::SignIn { id: String::new(), expires_at_ms: 0 };
    let who = Identity {
        owner: user.name.clone(),
        role: user.role,
        token_id: user.id.clone(),
        address,
        credential,
        bounds: crate::auth::Bounds::default(),
        grants: crate::auth::Grants::default(),
    };
    gateway.audit.record(&who, "login", user.id.clone(), how.to_owned());
    // Expired sign-ins are removed when new ones are created.
    if let Err(error) = gateway.store.forget_sign_ins(now_ms()).await {
        tracing::debug!(%error, "cannot remove expired sign-ins");
    }
}

fn signed_in(
    gateway: &Gateway,
    user: UserRow,
    sign_in: &str,
    refresh_token: String,
) -> Result<Response, ApiError> {
    let lifetime = gateway.config.auth.access_lifetime;
    let body = SignedIn {
        access_token: Some(gateway.auth.jwts.issue(&user, sign_in, lifetime)?),
        token_type: Some("Bearer"),
        expires_in_ms: Some(millis(lifetime)),
        refresh_token: Some(refresh_token),
        user: user.into(),
    };
    Ok(([(header::CACHE_CONTROL, "no-store")], JsonBody(body)).into_response())
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A request for the next access token.
#[derive(Deserialize, ToSchema)]
#[schema(examples(json!({"refresh_token": "hwr_..."})))]
#[serde(deny_unknown_fields)]
struct RefreshRequest {
    /// From the sign-in, or from the last call of this route.
    refresh_token: String,
}

/// Returns the next access token and the next refresh token. Each refresh token is valid for one use.
///
/// A second use means that the token was stolen, so the sign-in is ended for both holders.
#[utoipa::path(post, path = "/v1/login/refresh",
    operation_id = "refreshSignIn", tag = "users", security(()), request_body = RefreshRequest,
    responses((status = 200, body = SignedIn), Common, TakesJson))]
async fn refresh(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    _: NoQuery,
    Json(request): Json<RefreshRequest>,
) -> Result<Response, ApiError> {
    let shown = hash(&request.refresh_token);
    let fail = || match gateway.rates.count_failure(address.ip()) {
        Ok(()) => ApiError::new(
            ErrorCode::WrongCredentials,
            "the refresh token is not valid, or no longer valid",
            "sign in again: `POST /v1/login`",
        ),
        Err(limited) => limited,
    };
    let row = gateway.store.sign_in_by_hash(&shown).await?;
    let is_good = |row: &SignInRow| row.kind == SignInKind::Refresh && now_ms() < row.expires_at_ms;
    let Some(row) = row.filter(is_good) else {
        if let Some(stolen) = gateway.store.sign_in_by_previous(&shown).await? {
            gateway.store.remove_sign_in(&stolen.id).await?;
            gateway.auth.identities.clear();
            tracing::warn!(sign_in = stolen.id, "a refresh token was used twice; its sign-in was ended");
        }
        return Err(fail());
    };
    let user = match &row.user_id {
        Some(id) => gateway.store.user(id).await?.filter(|user| !user.disabled),
        None => None,
    };
    let Some(user) = user else { return Err(fail()) };
    let next = secret(REFRESH_PREFIX);
    let ends_at_ms = now_ms().saturating_add(millis(gateway.config.auth.refresh_lifetime));
    if !gateway.store.rotate_sign_in(&row.id, &shown, &hash(&next), ends_at_ms).await? {
        return Err(fail()); // another request was first
    }
    signed_in(&gateway, user, &row.id, next)
}

/// Options for signing out.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(examples(json!({"everywhere": true})))]
#[serde(deny_unknown_fields)]
struct SignOutRequest {
    /// End all sign-ins of the user, not only this one.
    #[serde(default)]
    everywhere: bool,
}

/// Signs out: the access token, its refresh token or the cookie is refused from now on, and its streams are
/// closed.
#[utoipa::path(post, path = "/v1/logout",
    operation_id = "signOut", tag = "users", request_body = Option<SignOutRequest>, responses(
        (status = 204, description = "signed out"), Common, TakesJson,
        (status = 409, body = ErrorBody, description = "API tokens and links cannot sign out"),
))]
async fn sign_out(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    _: NoQuery,
    headers: HeaderMap,
    Json(request): Json<SignOutRequest>,
) -> Result<Response, ApiError> {
    match &who.credential {
        Credential::SignIn { id, .. } => drop(gateway.store.remove_sign_in(id).await?),
        Credential::Cookie(hash) => {
            if let Some(row) = gateway.store.sign_in_by_hash(hash).await? {
                gateway.store.remove_sign_in(&row.id).await?;
            }
        }
        Credential::Foreign(foreign) => {
            let row = SignInRow {
                id: format!("sgn_{}", random_hex()),
                kind: SignInKind::Refused,
                hash: foreign.hash,
                user_id: None,
                stands_for: None,
                created_at_ms: now_ms(),
                expires_at_ms: foreign.expires_at_ms,
            };
            gateway.store.put_sign_in(&row).await?;
        }
        Credential::Token(_) | Credential::Link(_) | Credential::Agent => {
            return Err(ApiError::conflict(
                "this token does not come from a sign-in",
                "`DELETE /v1/tokens/{token}` revokes an API token",
            ));
        }
    }
    if let (true, Some(user)) = (request.everywhere, &who.bounds.user_id) {
        gateway.store.remove_sign_ins_of(user).await?;
    }
    gateway.auth.identities.clear();
    gateway.audit.record(&who, "logout", who.token_id.clone(), String::new());
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cleared(&headers))]).into_response())
}

/// The caller.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Caller)]
struct MeBody {
    /// The owner of everything that is created with this credential.
    owner: String,
    #[schema(inline)]
    role: RoleName,
    /// The kind of credential: `token`, `cookie`, `link`, `sign_in` or `jwt`.
    credential: &'static str,
    /// What identifies the credential in the audit log.
    credential_id: String,
    /// The sessions that it is restricted to; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<Vec<String>>,
    /// The conversation that it is restricted to; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation: Option<String>,
    /// The scopes that it is restricted to; absent: everything that its role allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    scopes: Option<Vec<String>>,
    /// The user of this name, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<UserBody>,
}

/// Returns the caller and its rights.
#[utoipa::path(get, path = "/v1/me",
    operation_id = "getCaller", tag = "users", responses((status = 200, body = MeBody), Common))]
async fn me(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
) -> Result<JsonBody<MeBody>, ApiError> {
    let user = gateway.store.user_by_name(&who.owner).await?;
    let bounds = &who.bounds;
    Ok(JsonBody(MeBody {
        role: who.role.into(),
        credential: match who.credential {
            Credential::Token(_) => "token",
            Credential::Cookie(_) => "cookie",
            Credential::Link(_) => "link",
            Credential::SignIn { .. } => "sign_in",
            Credential::Foreign(_) => "jwt",
            Credential::Agent => "agent",
        },
        credential_id: who.token_id,
        sessions: bounds.sessions.as_deref().map(|list| list.iter().map(ToString::to_string).collect()),
        conversation: bounds.conversation.as_ref().map(ToString::to_string),
        scopes: bounds.scopes.as_deref().map(|list| list.iter().map(ToString::to_string).collect()),
        owner: who.owner,
        user: user.map(Into::into),
    }))
}
