//! CORS: only pages of the origins in `[server] origins` may read responses, and by default, if the server listens on
//! loopback only, those of this machine.
//!
//! The origin is echoed exactly, with `Vary: Origin`. `*` allows every page, without cookies.

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::Origins;

const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE");
const HEADERS: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, accept, idempotency-key, if-match, if-none-match, last-event-id, range, \
     x-headwater-csrf",
);
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "x-request-id, location, retry-after, etag, content-range, content-disposition, accept-ranges",
);
/// How long a browser caches a preflight response.
const PREFLIGHT_MAX_AGE_SECONDS: HeaderValue = HeaderValue::from_static("600");

/// Which pages may read a response.
#[derive(Debug)]
pub(super) enum AllowedOrigin {
    /// No page of another origin.
    None,
    /// Pages of this origin.
    Exactly(HeaderValue),
    /// Pages of this origin, without cookies.
    WithoutCookies(HeaderValue),
    /// Pages of every origin, without cookies.
    Any,
}

/// The pages that may read the response to a request with these headers.
pub(super) fn allowed_origin(origins: &Origins, headers: &HeaderMap) -> AllowedOrigin {
    match headers.get(header::ORIGIN) {
        Some(origin) if origins.is_listed(origin) => AllowedOrigin::Exactly(origin.clone()),
        Some(_) if origins.lists_all() => AllowedOrigin::Any,
        Some(origin) if origins.is_local_page(origin) => AllowedOrigin::WithoutCookies(origin.clone()),
        _ => AllowedOrigin::None,
    }
}

/// The response to a preflight request, if this is one.
pub(super) fn preflight(allowed: &AllowedOrigin, method: &Method, headers: &HeaderMap) -> Option<Response> {
    let is_preflight =
        *method == Method::OPTIONS && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    if !is_preflight || matches!(allowed, AllowedOrigin::None) {
        return None;
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_MAX_AGE_SECONDS);
    Some(response)
}

/// Adds the CORS headers to a response.
pub(super) fn add_headers(allowed: &AllowedOrigin, headers: &mut HeaderMap) {
    match allowed {
        AllowedOrigin::None => return,
        AllowedOrigin::Exactly(origin) => {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        }
        AllowedOrigin::WithoutCookies(origin) => {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        }
        AllowedOrigin::Any => {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        }
    }
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
}
