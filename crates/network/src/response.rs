//! Responses to programs in a session: bodies, and refusals with a reason.

use std::io;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};

use super::dial::DialError;

/// A response body of any kind.
pub(crate) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// A body that is complete in memory.
pub(crate) fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// Why a request is refused: a text for people, of one line with a hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub status: StatusCode,
    pub message: String,
}

impl Refusal {
    /// The request is invalid.
    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, message: message.into() }
    }

    /// The request is not allowed.
    pub(crate) fn denied(message: impl Into<String>) -> Self {
        Self { status: StatusCode::FORBIDDEN, message: message.into() }
    }

    /// What the request asks for does not exist.
    pub(crate) fn missing(message: impl Into<String>) -> Self {
        Self { status: StatusCode::NOT_FOUND, message: message.into() }
    }

    /// The upstream server fails.
    pub(crate) fn upstream(message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_GATEWAY, message: message.into() }
    }

    /// The refusal as a response.
    pub(crate) fn response(&self) -> Response<Body> {
        text(self.status, &format!("headwater: {}\n", self.message))
    }
}

impl From<DialError> for Refusal {
    /// The address is only logged: programs must not learn about the host's network.
    fn from(error: DialError) -> Self {
        match error {
            DialError::Private { target, .. } => Self::denied(format!(
                "`{target}` is in a private network; the operator can list it in `network.allow_private`"
            )),
            DialError::Unresolved { target, .. } => {
                Self::upstream(format!("the name of `{target}` cannot be resolved"))
            }
            DialError::Unreachable { target, .. } => Self::upstream(format!("`{target}` does not answer")),
        }
    }
}

/// A response in plain text.
pub(crate) fn text(status: StatusCode, text: &str) -> Response<Body> {
    with_type(status, "text/plain; charset=utf-8", text.to_owned())
}

/// A response with a content type and a complete body.
pub(crate) fn with_type(status: StatusCode, kind: &'static str, bytes: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(whole(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
