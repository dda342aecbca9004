//! What can go wrong between a client and its server.

use std::time::Duration;

use headwater_protocol::api::ErrorBody;

/// The server said no.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// Of HTTP; 0 if it was told within a stream.
    pub status: u16,
    /// For programs: a word of a fixed list.
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// What to do next; empty if the answer was not the server's own (a proxy's, for example).
    pub hint: String,
    /// What to look for in the server's log.
    pub request_id: String,
    /// When to ask again.
    pub retry_after: Option<Duration>,
}

/// What a caller sees.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ClientError {
    /// The server said no.
    #[error(transparent)]
    Api(Box<ApiError>),
    /// Nobody answers at that address: nothing was sent.
    #[error("no server answers at `{url}`: {why}")]
    Unreachable {
        /// Where it was looked for.
        url: String,
        /// What the system says.
        why: String,
    },
    /// The connection broke: what was asked may or may not have been done.
    #[error("the connection to the server was lost: {0}")]
    Disconnected(String),
    /// The server speaks otherwise than this client.
    #[error("the server's answer makes no sense: {0}")]
    Malformed(String),
    /// No address of a server.
    #[error("`{url}` is not the address of a server: {why}")]
    BadUrl {
        /// As given.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// A token that no header can carry.
    #[error("the token contains characters that no token has")]
    BadToken,
    /// This program was built without something.
    #[error("cannot make connections: {0}")]
    Setup(String),
}

impl ClientError {
    /// What the server said, if it said no.
    pub fn api(&self) -> Option<&ApiError> {
        match self {
            Self::Api(error) => Some(error),
            _ => None,
        }
    }

    /// Whether asking again, when the server is back, may help: it is not there, the connection broke, or somebody
    /// between (or a server that is just starting) says that it is not there.
    pub fn is_disconnected(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Disconnected(_) => true,
            Self::Api(error) => matches!(error.status, 502..=504),
            _ => false,
        }
    }

    /// Whether the server asked for patience.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        self.api().filter(|error| matches!(error.status, 429 | 503)).and_then(|error| error.retry_after)
    }

    /// Whether what was asked for can be asked for again later.
    pub(crate) fn is_transient(&self) -> bool {
        self.is_disconnected() || self.api().is_some_and(|error| error.status == 429)
    }

    #[allow(clippy::needless_pass_by_value)] // as `map_err` gives it
    pub(crate) fn malformed(error: impl ToString) -> Self {
        Self::Malformed(error.to_string())
    }
}

impl ApiError {
    /// Of an answer; one that is not of the server's own shape is told by its status.
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
                message: format!("the server answered with the status {status}"),
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
