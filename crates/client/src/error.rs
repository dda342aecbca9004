//! Errors of calls to the server.

use std::time::Duration;

use headwater_protocol::api::ErrorBody;

/// An error that the server reported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// The HTTP status; 0 if it was reported within a stream.
    pub status: u16,
    /// The code, for programs: a word from a fixed list.
    pub code: String,
    /// What is wrong, for people.
    pub message: String,
    /// What to do about it; empty if the answer is not from the server itself (from a proxy, for example).
    pub hint: String,
    /// The id of the request in the server's log.
    pub request_id: String,
    /// When to try again.
    pub retry_after: Option<Duration>,
}

/// An error of a call.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ClientError {
    /// The server refused the call.
    #[error(transparent)]
    Api(Box<ApiError>),
    /// The server cannot be reached: nothing was sent.
    #[error("no server answers at `{url}`: {why}")]
    Unreachable {
        /// The address that was tried.
        url: String,
        /// The error of the system.
        why: String,
    },
    /// The connection broke: the request may or may not have been executed.
    #[error("the connection to the server was lost: {0}")]
    Disconnected(String),
    /// The answer is not valid, for example from another version of the server.
    #[error("the server's answer is not valid: {0}")]
    Malformed(String),
    /// The address is not valid.
    #[error("`{url}` is not the address of a server: {why}")]
    BadUrl {
        /// The address as given.
        url: String,
        /// What is wrong with the address.
        why: String,
    },
    /// The token cannot be sent in a header.
    #[error("the token contains invalid characters")]
    BadToken,
    /// The HTTP client cannot be created.
    #[error("cannot create the HTTP client: {0}")]
    Setup(String),
}

impl ClientError {
    /// The server's error, if it refused the call.
    pub fn api(&self) -> Option<&ApiError> {
        match self {
            Self::Api(error) => Some(error),
            _ => None,
        }
    }

    /// Whether a retry may help when the server is running again: it cannot be reached, the connection broke,
    /// or a proxy (or a server that is starting) reports that it is unavailable.
    pub fn is_disconnected(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Disconnected(_) => true,
            Self::Api(error) => matches!(error.status, 502..=504),
            _ => false,
        }
    }

    /// The delay that the server asked for.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        self.api().filter(|error| matches!(error.status, 429 | 503)).and_then(|error| error.retry_after)
    }

    /// Whether a later retry may help.
    pub(crate) fn is_transient(&self) -> bool {
        self.is_disconnected() || self.api().is_some_and(|error| error.status == 429)
    }

    #[allow(clippy::needless_pass_by_value)] // for use in `map_err`
    pub(crate) fn malformed(error: impl ToString) -> Self {
        Self::Malformed(error.to_string())
    }
}

impl ApiError {
    /// The error of an answer; for a body that is not from the server itself, the status is reported.
    pub(crate) fn read(status: u16, retry_after: Option<Duration>, body: &[u8]) -> Self {
        match serde_json::from_slice::<ErrorBody>(body) {
            Ok(ErrorBody { error }) => Self {
                status,
                code: error.code,
                message: error.message,
                hint: error.hint,
                request_id: error.request_id,
                retry_after,
            },
            Err(_) => Self {
                status,
                code: "unknown".into(),
                message: format!("the server returned status {status}"),
                hint: String::new(),
                request_id: String::new(),
                retry_after,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_the_words_of_the_server() {
        let body = br#"{"error":{"code":"not_found","message":"no such execution","hint":"look","request_id":"req_1"}}"#;
        let error = ApiError::read(404, None, body);
        assert_eq!(
            (error.code.as_str(), error.hint.as_str(), error.request_id.as_str()),
            ("not_found", "look", "req_1")
        );
        assert_eq!(ClientError::Api(Box::new(error)).to_string(), "no such execution");
    }

    #[test]
    fn an_answer_of_a_proxy_is_reported_by_its_status() {
        let error = ClientError::Api(Box::new(ApiError::read(502, None, b"<html>bad gateway</html>")));
        assert!(error.is_disconnected() && error.to_string().contains("502"));
    }
}
