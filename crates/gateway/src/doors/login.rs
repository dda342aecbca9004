//! The way in for a browser: the address that the server prints sets a cookie; tickets open streams without one.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::{ConnectInfo, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use headwater_protocol::api::ErrorBody;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Identity, TICKET_LIFETIME, TOKEN_COOKIE, hash, too_many, unauthenticated};
use crate::error::ApiError;
use crate::extract::Query;
use crate::now_ms;
use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new()
        .routes(routes!(login))
        .routes(routes!(ticket))
        .route("/", axum::routing::get(|| async { Redirect::to("/docs") }))
}

#[derive(Debug, Deserialize, IntoParams)]
struct LoginQuery {
    /// The token.
    token: Option<String>,
}

/// Sets a cookie for the token of the address, and shows the documentation. For people.
#[utoipa::path(get, path = "/login", tag = "server", security(()), params(LoginQuery), responses(
    (status = 303, description = "the cookie is set"), (status = 400, body = ErrorBody),
    (status = 401, body = ErrorBody), (status = 429, body = ErrorBody), (status = 503, body = ErrorBody),
))]
async fn login(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(address): ConnectInfo<std::net::SocketAddr>,
    Query(query): Query<LoginQuery>,
) -> Result<Response, ApiError> {
    let token = query.token.unwrap_or_default();
    let is_plain =
        !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let who = if is_plain { gateway.identity(&hash(&token), address.ip(), now_ms()).await? } else { None };
    if who.is_none() {
        gateway.failures.take(address.ip(), Instant::now()).map_err(too_many)?;
        return Err(unauthenticated());
    }
    let cookie = format!("{TOKEN_COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000");
    let headers = [
        (header::SET_COOKIE, cookie),
        (header::LOCATION, "/docs".to_owned()),
        // The address holds the token: it must not travel on.
        (header::REFERRER_POLICY, "no-referrer".to_owned()),
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((StatusCode::SEE_OTHER, headers).into_response())
}

/// A ticket, as `?token=` takes it.
#[derive(Debug, Serialize, ToSchema)]
struct TicketBody {
    /// Good once.
    ticket: String,
    /// For so long.
    expires_in_ms: u64,
}

/// Gives out a ticket: it opens one stream, once, within 30 s, where no header can be set.
#[utoipa::path(post, path = "/v1/tickets", tag = "server", responses(
    (status = 201, body = TicketBody), (status = 401, body = ErrorBody), (status = 429, body = ErrorBody),
))]
async fn ticket(who: Identity, State(gateway): State<Arc<Gateway>>) -> impl IntoResponse {
    let ticket = gateway.tickets.issue(who.token_hash, Instant::now());
    let expires_in_ms = u64::try_from(TICKET_LIFETIME.as_millis()).unwrap_or(u64::MAX);
    (StatusCode::CREATED, Json(TicketBody { ticket, expires_in_ms }))
}
