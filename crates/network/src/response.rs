//! Responses to programs in a session: bodies, and refusals with a reason.

use std::io;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::ext::ReasonPhrase;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};

use super::connect::ConnectError;
use super::dial::DialError;

/// The longest text after a status, in characters.
const MAX_REASON_CHARS: usize = 300;

/// What helps where hosts are not reached directly.
pub(crate) const NEEDS_PROXY: &str = "if this network needs a proxy, the operator can set `network.upstream_proxy`, or `HTTPS_PROXY` for the worker";
/// The message about a proxy that does not answer.
pub(crate) const NO_PROXY: &str = "the operator's proxy does not answer; the operator can check `network.upstream_proxy`, or `HTTPS_PROXY` of the worker";

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

    /// The operator's proxy wants a user name and a password.
    pub(crate) fn proxy_credentials() -> Self {
        Self::upstream(
            "the operator's proxy asks for a password; the operator can put one into `network.upstream_proxy` \
             (`http://user:password@host:port`)",
        )
    }

    /// The refusal as a response. Programs show different parts of it: pip, Maven and apt the text after the status, cargo
    /// and go the body, npm the field `error` of a JSON body.
    pub(crate) fn response(&self, form: Form) -> Response<Body> {
        let message = format!("headwater: {}", self.message);
        let mut response = match form {
            Form::Text => text(self.status, &format!("{message}\n")),
            Form::Json => {
                let body = serde_json::json!({ "error": message }).to_string();
                with_type(self.status, "application/json", body)
            }
        };
        let printable = |c: &char| c.is_ascii_graphic() || *c == ' ';
        let reason: String = message.chars().filter(printable).take(MAX_REASON_CHARS).collect();
        if let Ok(reason) = ReasonPhrase::try_from(reason.into_bytes()) {
            response.extensions_mut().insert(reason);
        }
        response
    }
}

/// The form of a refusal's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Plain text.
    Text,
    /// As npm reads it.
    Json,
}

impl From<DialError> for Refusal {
    /// The address is only logged: programs must not learn about the host's network.
    fn from(error: DialError) -> Self {
        match error {
            DialError::Private { target, .. } => Self::denied(format!(
                "`{target}` is in a private network; the operator can list it in `network.allow_private`"
            )),
            DialError::Unresolved { target, .. } => {
                Self::upstream(format!("the name of `{target}` cannot be resolved; {NEEDS_PROXY}"))
            }
            DialError::Unreachable { target, .. } => {
                Self::upstream(format!("`{target}` does not answer; {NEEDS_PROXY}"))
            }
            DialError::Proxy { source: ConnectError::Refused { status: 407, .. }, .. } => {
                Self::proxy_credentials()
            }
            DialError::Proxy { target, source: ConnectError::Refused { status, reason } } => {
                Self::upstream(format!(
                    "the operator's proxy refuses `{target}` ({status} {reason}); the operator can allow it there, or \
                     list it in `network.no_proxy`"
                ))
            }
            DialError::Proxy { source: ConnectError::Broken(_), .. } | DialError::NoProxy { .. } => {
                Self::upstream(NO_PROXY)
            }
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
