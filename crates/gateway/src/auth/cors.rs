//! CORS: pages of the origins in `[server] origins`, and of no others, may read our answers.
//!
//! The origin is echoed exactly, with `Vary: Origin`. `*` lets every page in, without cookies.

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
/// How long a browser remembers, in seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// What a page of another origin may know of an answer.
#[derive(Debug)]
pub(super) enum Told {
    /// Nothing: no such page asks, or it may not.
    Nothing,
    /// The page of this origin.
    Exactly(HeaderValue),
    /// Any page.
    Anybody,
}

/// What whoever sent these headers may know.
pub(super) fn told(origins: &Origins, headers: &HeaderMap) -> Told {
    match headers.get(header::ORIGIN) {
        Some(origin) if origins.is_listed(origin) => Told::Exactly(origin.clone()),
        Some(_) if origins.lists_all() => Told::Anybody,
        _ => Told::Nothing,
    }
}

/// The answer to a browser that asks whether a page may ask, if this is one.
pub(super) fn preflight(told: &Told, method: &Method, headers: &HeaderMap) -> Option<Response> {
    let asks = *method == Method::OPTIONS && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    if !asks || matches!(told, Told::Nothing) {
        return None;
    }
    let mut answer = StatusCode::NO_CONTENT.into_response();
    let headers = answer.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    Some(answer)
}

/// Says on an answer who may read it.
pub(super) fn say(told: &Told, headers: &mut HeaderMap) {
    match told {
        Told::Nothing => return,
        Told::Exactly(origin) => {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        }
        Told::Anybody => {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        }
    }
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
}
