//! Answers to programs in a session: bodies, and refusals that say why.

use std::io;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};

use super::dial::DialError;

/// Any body.
pub(crate) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// A body that is all there.
pub(crate) fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// Why a request is not carried out: text for people, in one line and a hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub status: StatusCode,
    pub message: String,
}

impl Refusal {
    /// The request makes no sense.
    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, message: message.into() }
    }

    /// It is not allowed.
    pub(crate) fn denied(message: impl Into<String>) -> Self {
        Self { status: StatusCode::FORBIDDEN, message: message.into() }
    }

    /// There is no such thing.
    pub(crate) fn missing(message: impl Into<String>) -> Self {
        Self { status: StatusCode::NOT_FOUND, message: message.into() }
    }

    /// Whoever is behind it does not answer as it should.
    pub(crate) fn upstream(message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_GATEWAY, message: message.into() }
    }

    /// The answer.
    pub(crate) fn response(&self) -> Response<Body> {
        text(self.status, &format!("headwater: {}\n", self.message))
    }
}

impl From<DialError> for Refusal {
    /// The address stays in our log: it is nobody's business inside how the host's network looks.
    fn from(error: DialError) -> Self {
        match error {
            DialError::Private { target, .. } => Self::denied(format!(
                "`{target}` is in a private network; the operator can list it in `network.allow_private`"
            )),
            DialError::Unknown { target, .. } => {
                Self::upstream(format!("the name of `{target}` cannot be resolved"))
            }
            DialError::Silent { target, .. } => Self::upstream(format!("`{target}` does not answer")),
        }
    }
}

/// An answer in plain text.
pub(crate) fn text(status: StatusCode, text: &str) -> Response<Body> {
    with_type(status, "text/plain; charset=utf-8", text.to_owned())
}

/// An answer that is all there.
pub(crate) fn with_type(status: StatusCode, kind: &'static str, bytes: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(whole(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
