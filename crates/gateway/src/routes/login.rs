//! Sign-in for browsers by cookie, and tickets, which open streams where no header can be set.

mod sign_in;

use std::sync::Arc;

use axum::Json;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use headwater_store::{SignInKind, SignInRow};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{
    Credential, Identity, TICKET_LIFETIME, bearer, hash, is_ticket, random_hex, secret, set_cookie,
    unauthenticated,
};
use crate::error::ApiError;
use crate::http::extract::Query;
use crate::http::openapi::{Common, DiskFull, Guarded};
use crate::now_ms;
use crate::state::Gateway;

/// Marks the value of a cookie.
const COOKIE_PREFIX: &str = "hwc_";

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(login)).routes(routes!(ticket)).merge(sign_in::routes())
}

#[derive(Debug, Deserialize, IntoParams)]
struct LoginQuery {
    /// An API token, or the token of a share link.
    token: Option<String>,
    /// The page to open then, as a path of this server; the home page by default.
    next: Option<String>,
}

/// Whether it is a path of this server: a browser takes `//` and a backslash for another server.
fn is_own_path(path: &str) -> bool {
    path.starts_with('/')
        && !path.starts_with("//")
        && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
}

/// Sets a cookie for the token or share link in the URL, and redirects to a page. For people.
///
/// A page sends the token as `Authorization: Bearer` instead, so that no history and no proxy's log contains it.
/// The cookie is a separate secret: it ends with the token, and the token cannot be read from it.
#[utoipa::path(get, path = "/login",
    operation_id = "openLoginLink", tag = "server", security(()), params(LoginQuery),
    responses((status = 303, description = "the cookie was set"), Common))]
async fn login(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(address): ConnectInfo<std::net::SocketAddr>,
    Query(query): Query<LoginQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let next = query.next.unwrap_or_else(|| "/".to_owned());
    if !is_own_path(&next) {
        return Err(ApiError::invalid("`next` must be a path of this server, such as `/sessions`"));
    }
    let token = query.token.or_else(|| bearer(&headers)).unwrap_or_default();
    // A JWT or a ticket is valid for minutes and must not turn into a cookie that is valid for days.
    let is_plain = !is_ticket(&token)
        && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !token.is_empty();
    let credential = if is_plain { gateway.auth.credential(&token).await? } else { None };
    let who = match &credential {
        Some(credential) => gateway.auth.identify(credential, address.ip()).await?,
        None => None,
    };
    let (Some(who), Some(Credential::Token(hash) | Credential::Link(hash))) = (who, credential) else {
        gateway.rates.count_failure(address.ip())?;
        return Err(unauthenticated());
    };
    let ends_at_ms = Gateway::latest_end(&who, Some(cookie_end(&gateway)));
    let cookie = give_cookie(&gateway, &headers, None, Some(hash), ends_at_ms).await?;
    gateway.audit.record(&who, "login", who.token_id.clone(), "cookie".into());
    let headers = [
        (header::SET_COOKIE, cookie),
        (header::LOCATION, next),
        // The URL contains the token and must not be sent to other sites.
        (header::REFERRER_POLICY, "no-referrer".to_owned()),
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((StatusCode::SEE_OTHER, headers).into_response())
}

/// When a cookie that is set now expires.
fn cookie_end(gateway: &Gateway) -> u64 {
    let lifetime = gateway.config.auth.cookie_lifetime.as_millis();
    now_ms().saturating_add(u64::try_from(lifetime).unwrap_or(u64::MAX))
}

/// Creates a cookie for a user, a token or a link, and returns the header that sets it.
async fn give_cookie(
    gateway: &Gateway,
    headers: &HeaderMap,
    user_id: Option<String>,
    stands_for: Option<[u8; 32]>,
    ends_at_ms: Option<u64>,
) -> Result<String, ApiError> {
    let (value, now) = (secret(COOKIE_PREFIX), now_ms());
    let expires_at_ms = ends_at_ms.unwrap_or_else(|| cookie_end(gateway));
    let row = SignInRow {
        id: format!("sgn_{}", random_hex()),
        kind: SignInKind::Cookie,
        hash: hash(&value),
        user_id,
        stands_for,
        created_at_ms: now,
        expires_at_ms,
    };
    gateway.store.put_sign_in(&row).await?;
    Ok(set_cookie(headers, &value, expires_at_ms.saturating_sub(now) / 1000))
}

/// A ticket, for `?token=`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(examples(json!({"ticket": "hwt_...", "expires_in_ms": 30_000})))]
struct TicketBody {
    /// Opens one stream, and resumes it.
    ticket: String,
    /// How long it may wait for its first use.
    expires_in_ms: u64,
}

/// Creates a ticket, which opens one stream within 30 s where no header can be set, and resumes that stream.
///
/// The first use binds the ticket to the stream: the path and the parameters that select it. Later uses are
/// accepted for this stream only, and only to resume it: with the header `Last-Event-ID`, or `after=` for a
/// WebSocket. `EventSource` can therefore reconnect by itself, even after a restart of the server. A ticket
/// ends with the credential that created it. A stream opened with a ticket begins with `id: start`, which
/// `EventSource` sends back if the connection is lost before the first event.
#[utoipa::path(post, path = "/v1/tickets", operation_id = "createTicket", tag = "server",
    responses((status = 201, body = TicketBody), Guarded, DiskFull))]
async fn ticket(who: Identity, State(gateway): State<Arc<Gateway>>) -> Result<impl IntoResponse, ApiError> {
    let ticket = gateway.auth.issue_ticket(&who).await?;
    let expires_in_ms = u64::try_from(TICKET_LIFETIME.as_millis()).unwrap_or(u64::MAX);
    Ok((StatusCode::CREATED, Json(TicketBody { ticket, expires_in_ms })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_this_server_are_opened_after_signing_in() {
        for path in ["/", "/sessions", "/executions/exe_1?view=all#L3"] {
            assert!(is_own_path(path), "{path}");
        }
        for path in [
            "",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "/a\r\nSet-Cookie: x",
            "/ü",
            "a",
        ] {
            assert!(!is_own_path(path), "{path}");
        }
    }
}
