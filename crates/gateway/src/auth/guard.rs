//! The guard, which runs before every handler.
//!
//! 1. The request gets an id, which its response, its errors and the log contain.
//! 2. `Host` and `Origin` must be allowed.
//! 3. The request needs a credential: in `Authorization` (a token, a JWT or a link), in the cookie that signing in sets,
//!    or, for streams that a browser opens, as `?token=` (a ticket or a link; on the terminal's WebSocket also a token or
//!    a JWT). Health checks need none. A token with scopes may use only their areas.
//! 4. Requests are counted for each credential, and failures for each address.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use headwater_contract::{panics, with_request_id};
use headwater_protocol::api::ErrorCode;
use tracing::Instrument;

use super::cors::AllowedOrigin;
use super::scope::out_of_scope;
use super::tickets::{TicketStream, with_first_id};
use super::{
    Area, Credential, Identity, LINK_PREFIX, Need, cookie, cors, hash, is_ticket, proxies, unauthenticated,
};
use crate::audit::{Denial, is_denial};
use crate::auth::revocation::{request_while_valid, response_while_valid};
use crate::error::ApiError;
use crate::http::access_log::Access;
use crate::http::rate_limit::new_request_id;
use crate::routes::{home, oauth, router, web_app};
use crate::serve::ConnectionPermit;
use crate::state::Gateway;

const REQUEST_ID: &str = "x-request-id";

/// The response of a handler. A panic becomes a 500, and other requests are not affected.
async fn caught(handling: impl Future<Output = Response>) -> Response {
    let panicked = || ApiError::internal(&"the handler panicked").into_response();
    panics::caught(handling).await.unwrap_or_else(panicked)
}

/// Passes a request to its handler, or refuses it.
pub(crate) async fn guard(State(gateway): State<Arc<Gateway>>, mut request: Request, next: Next) -> Response {
    proxies::resolve_client(&gateway.config.trusted_proxies, &mut request);
    let id = new_request_id();
    let address = address(&request);
    let access = Access::new(&id, &request, address);
    // The path only: a query string may hold a token.
    let span = tracing::info_span!("request", id, method = %request.method(), path = request.uri().path());
    let header = HeaderValue::from_str(&id);
    let allowed = cors::allowed_origin(&gateway.auth.origins, request.headers());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let challenge = oauth::challenge(&path, request.headers());
    let mut who = None;
    let handling = async {
        match admit(&gateway, request, &allowed).await {
            Ok(Admitted::Preflight(response)) => response,
            Ok(Admitted::Request(request)) => {
                who = request.extensions().get::<Identity>().cloned();
                let ticket = request.extensions().get::<TicketStream>().cloned();
                let request = request_while_valid(&gateway.auth, request);
                let response = match gateway.resolve_session_in_path(who.as_ref(), request).await {
                    Ok(request) => next.run(request).await,
                    Err(error) => error.into_response(),
                };
                let response = ticket.iter().fold(response, |response, used| with_first_id(used, response));
                let response = response_while_valid(&gateway.auth, who.as_ref(), response);
                match &who {
                    Some(who) => gateway.answers.count(who, &method, response),
                    None => response,
                }
            }
            Err(error) => error.into_response(),
        }
    };
    let begun = Instant::now();
    // Boxed, because the future of all handlers together is large.
    let mut response = with_request_id(id, Box::pin(caught(handling).instrument(span))).await;
    let status = response.status();
    let error = response.extensions().get::<ErrorCode>().copied();
    gateway.metrics.answered(status, error, begun.elapsed());
    if is_denial(status) {
        gateway.audit.record_denial(&Denial {
            who: who.as_ref(),
            address,
            method: &method,
            path: &path,
            status,
        });
    }
    let headers = response.headers_mut();
    if let Some(challenge) = challenge.filter(|_| status == StatusCode::UNAUTHORIZED) {
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
    if let Ok(header) = header {
        headers.insert(REQUEST_ID, header);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Responses are private: no cache keeps them, unless the handler allows it.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    cors::add_headers(&allowed, headers);
    access.logged(who.as_ref().map(|who| who.owner.as_str()), response)
}

async fn admit(
    gateway: &Gateway,
    mut request: Request,
    allowed: &AllowedOrigin,
) -> Result<Admitted, ApiError> {
    let address = address(&request);
    gateway.auth.origins.check_host(request.headers(), request.uri())?;
    gateway.auth.origins.check_origin(request.headers())?;
    if let Some(response) = cors::preflight(allowed, request.method(), request.headers()) {
        return Ok(Admitted::Preflight(response));
    }
    if router::is_public(request.uri().path()) || web_app::is_public(&request) {
        return Ok(Admitted::Request(request));
    }
    gateway.rates.count_address(address)?;
    let secret = secret(&request)?;
    let by_cookie = matches!(secret, Some(Secret::Cookie(_)));
    let (is_home, has_secret) = (home::is_page(&request), secret.is_some());
    if let Some(Secret::Ticket(_, stream)) = &secret {
        request.extensions_mut().insert(stream.clone());
    }
    let Some(mut who) = identify(gateway, secret, address).await? else {
        // The home page lets people sign in. It shows whether a secret is valid, so a wrong one is counted there, too.
        if has_secret || !is_home {
            gateway.rates.count_failure(address)?;
        }
        return if is_home { Ok(Admitted::Request(request)) } else { Err(unauthenticated()) };
    };
    if by_cookie {
        cookie::check(&gateway.auth.origins, request.method(), request.headers())?;
    }
    gateway.rates.count_request(&who)?;
    if let Some(permit) = request.extensions().get::<ConnectionPermit>() {
        permit.assign(&who)?;
    }
    gateway.answers.check(&who, request.method())?;
    who.bounds.area = Area::of(request.uri().path());
    if !who.bounds.allows(Need::Read) {
        return Err(out_of_scope(who.bounds.area, Need::Read));
    }
    request.extensions_mut().insert(who);
    Ok(Admitted::Request(request))
}

/// A request that passed the guard.
enum Admitted {
    /// For its handler.
    Request(Request),
    /// A CORS preflight, with its response.
    Preflight(Response),
}

fn address(request: &Request) -> IpAddr {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    peer.map_or(IpAddr::from([0, 0, 0, 0]), |ConnectInfo(address)| address.ip())
}

pub(crate) fn too_many(wait: std::time::Duration) -> ApiError {
    let error = ApiError::new(
        ErrorCode::RateLimited,
        "too many requests",
        "wait as long as `Retry-After` says; one stream replaces many polls",
    );
    ApiError { retry_after: Some(wait), ..error }
}

/// The secret that a request contains.
enum Secret {
    /// A token, a JWT or a link, which the client sets explicitly.
    Token(String),
    /// A ticket, for one stream.
    Ticket(String, TicketStream),
    /// A cookie, which a browser sends automatically.
    Cookie(String),
}

/// The secret that a request contains. A ticket is accepted only in the address: as a token it would be valid for every
/// route, including the one that issues tickets, and so would never expire.
fn secret(request: &Request) -> Result<Option<Secret>, ApiError> {
    let headers = request.headers();
    if let Some(token) = bearer(headers).filter(|token| !is_ticket(token)) {
        return Ok(Some(Secret::Token(token)));
    }
    match query_token(request) {
        Some(token) if is_ticket(&token) => Ok(Some(Secret::Ticket(token, TicketStream::of(request)))),
        Some(token) if token.starts_with(LINK_PREFIX) || router::is_terminal(request.uri().path()) => {
            Ok(Some(Secret::Token(token)))
        }
        Some(_) => Err(token_in_address()),
        // A browser sends cookies automatically: an explicit token has priority over one that may be old.
        None => Ok(cookie::get(headers).map(Secret::Cookie)),
    }
}

/// A token or a JWT in an address (401): proxies, browser histories and logs keep addresses.
fn token_in_address() -> ApiError {
    ApiError::new(
        ErrorCode::TokenInAddress,
        "a token is not accepted in the address of this stream",
        "send `Authorization: Bearer <token>`, or get a ticket from `POST /v1/tickets` and send it as `?token=`",
    )
}

async fn identify(
    gateway: &Gateway,
    secret: Option<Secret>,
    address: IpAddr,
) -> Result<Option<Identity>, ApiError> {
    let credential = match secret {
        Some(Secret::Token(token)) => gateway.auth.credential(&token).await?,
        Some(Secret::Ticket(ticket, stream)) => gateway.auth.redeem(&ticket, &stream).await?,
        Some(Secret::Cookie(cookie)) => Some(Credential::Cookie(hash(&cookie))),
        None => None,
    };
    match credential {
        Some(credential) => gateway.auth.identify(&credential, address).await,
        None => Ok(None),
    }
}

/// The token in `Authorization: Bearer`.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
}

/// The token in the query, only where a browser cannot set a header (`EventSource`, `WebSocket`) and only for `GET`.
fn query_token(request: &Request) -> Option<String> {
    if request.method() != Method::GET || !router::takes_query_token(request.uri().path()) {
        return None;
    }
    let pairs = request.uri().query()?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.into_iter().find(|(name, _)| *name == "token").map(|(_, value)| value.to_owned())
}

#[cfg(test)]
mod tests {
    use std::future::IntoFuture;

    use axum::Router;
    use axum::middleware::from_fn;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    async fn broken() -> String {
        "no number".parse::<u8>().unwrap().to_string()
    }

    /// Sends a request on a connection that stays open; returns head and body.
    async fn ask(connection: &mut TcpStream, path: &str) -> String {
        connection.write_all(format!("GET {path} HTTP/1.1\r\nhost: test\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = vec![0; 4096];
        let length = connection.read(&mut answer).await.unwrap();
        String::from_utf8_lossy(&answer[..length]).into_owned()
    }

    #[tokio::test]
    async fn a_route_that_panics_answers_500_and_the_others_go_on() {
        let router = Router::new()
            .route("/broken", get(broken))
            .route("/sound", get(|| async { "sound" }))
            .layer(from_fn(|request, next: Next| caught(next.run(request))));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(axum::serve(listener, router).into_future());
        let mut one = TcpStream::connect(address).await.unwrap();
        let mut other = TcpStream::connect(address).await.unwrap();
        for _ in 0..3 {
            let refused = ask(&mut one, "/broken").await;
            assert!(refused.starts_with("HTTP/1.1 500") && refused.contains("\"internal\""), "{refused}");
            assert!(!refused.contains("ParseInt"), "the cause is for the log: {refused}");
            for connection in [&mut one, &mut other] {
                let answer = ask(connection, "/sound").await;
                assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("sound"), "{answer}");
            }
        }
        server.abort();
    }
}
