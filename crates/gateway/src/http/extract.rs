//! Extractors for JSON bodies, query strings and ids in paths, with our own errors.

use std::time::Duration;

use axum::RequestPartsExt;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use headwater_protocol::SessionId;
use headwater_protocol::api::ErrorCode;
use headwater_protocol::units::parse_duration;
use serde::de::DeserializeOwned;
use serde::de::value::{Error as ValueError, SeqDeserializer, StringDeserializer};
use serde_json::Value;

use crate::error::ApiError;
use crate::http::strict_json::Strict;
use crate::sessions::by_name::NamedSession;

/// A JSON body. An empty body counts as an empty object, so a client can omit it if no field is required.
pub(crate) struct Json<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        parse(&json_body(request, state).await?).map(Self)
    }
}

/// Reads the body of a request and requires `Content-Type: application/json`, unless the body is empty.
pub(crate) async fn json_body<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, ApiError> {
    let content_type = request.headers().get(header::CONTENT_TYPE).cloned();
    let body = body(request, state).await?;
    let message = match content_type {
        // Browsers send forms and plain text to other sites without a CORS preflight; JSON needs one.
        Some(kind) => {
            let kind = kind.to_str().unwrap_or_default().to_ascii_lowercase();
            if kind.starts_with("application/json") {
                return Ok(body);
            }
            format!("the body has the type `{}`", kind.chars().take(64).collect::<String>())
        }
        None if body.is_empty() => return Ok(body),
        None => "the request has a body and no `Content-Type`".to_owned(),
    };
    Err(ApiError::new(
        ErrorCode::UnsupportedMediaType,
        message,
        "send JSON with `Content-Type: application/json`",
    ))
}

/// Parses JSON. An empty body and `null` count as an empty object. The error names the field.
pub(crate) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    let body = if body.iter().all(u8::is_ascii_whitespace) { b"{}" } else { body };
    let Strict(value) = serde_json::from_slice(body).map_err(|error| ApiError::invalid(error.to_string()))?;
    let value = if value.is_null() { Value::Object(serde_json::Map::new()) } else { value };
    serde_path_to_error::deserialize(Strict(value)).map_err(|error| {
        let at = error.path().to_string();
        let inner = error.into_inner();
        let message = if at == "." { inner.to_string() } else { format!("`{at}`: {inner}") };
        ApiError::invalid(message)
    })
}

/// Reads the whole body, up to the limit that the route's `DefaultBodyLimit` sets.
pub(crate) async fn body<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, ApiError> {
    Bytes::from_request(request, state).await.map_err(|rejection| {
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
            return ApiError::new(
                ErrorCode::BodyTooLarge,
                "the body is larger than this server accepts",
                "send a smaller body, or raise `max_body` in `[server]`",
            );
        }
        ApiError::invalid("the body is incomplete")
    })
}

/// Whether the client requests a stream: `Accept` must name `text/event-stream`. `*/*` means JSON.
pub(crate) fn wants_events(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|kind| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case("text/event-stream")
    })
}

/// The longest wait of a `GET`.
const MAX_WAIT: Duration = Duration::from_mins(1);

/// How long a `GET` waits for an end: its parameter `wait`, at most [`MAX_WAIT`].
pub(crate) fn long_poll(wait: Option<&str>) -> Result<Duration, ApiError> {
    let wait = wait.map(parse_duration).transpose();
    let wait = wait.map_err(|error| ApiError::invalid(format!("`wait`: {error}")))?;
    Ok(wait.unwrap_or_default().min(MAX_WAIT))
}

/// The parameters of a query string.
pub(crate) struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let query = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        query.map(|query| Self(query.0)).map_err(|rejection| {
            let cause = std::error::Error::source(&rejection).map(ToString::to_string);
            let text = cause.unwrap_or_else(|| rejection.body_text());
            ApiError::invalid(format!("the query string: {text}"))
        })
    }
}

/// Rejects a query string: a route without parameters reports them instead of ignoring them.
pub(crate) struct NoQuery;

impl<S: Send + Sync> FromRequestParts<S> for NoQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        match parts.uri.query() {
            None | Some("") => Ok(Self),
            Some(_) => Err(ApiError::invalid("this route takes no query parameters")),
        }
    }
}

/// The parameters of the path, with the id of the session instead of its name.
async fn with_session<T: DeserializeOwned>(parts: &mut Parts, session: SessionId) -> Option<T> {
    let params = parts.extract::<RawPathParams>().await.ok()?;
    let rest = params.iter().skip(1).map(|(_, value)| value.to_owned());
    let mut values: Vec<String> = std::iter::once(session.to_string()).chain(rest).collect();
    if let [one] = values.as_mut_slice() {
        return T::deserialize(StringDeserializer::<ValueError>::new(std::mem::take(one))).ok();
    }
    T::deserialize(SeqDeserializer::<_, ValueError>::new(values.into_iter())).ok()
}

/// The ids in a path. A session may be given by its name or a prefix of its id, which the guard has resolved.
pub(crate) struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        if let Some(NamedSession(id)) = parts.extensions.get::<NamedSession>().copied()
            && let Some(path) = with_session(parts, id).await
        {
            return Ok(Self(path));
        }
        let path = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        path.map(|path| Self(path.0)).map_err(|rejection| {
            // A malformed id gets the same response as an id that does not exist.
            ApiError::new(
                ErrorCode::NotFound,
                rejection.body_text(),
                "ids are `ses_` or `exe_` and 32 hexadecimal digits",
            )
        })
    }
}
