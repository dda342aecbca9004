//! Errors as the user sees them: what is wrong, and what to do next.

use std::fmt::Write as _;

use headwater_client::{ApiError, ClientError};
use headwater_contract::{ContractError, FaultKind};

use crate::escape::message;
use crate::exit;
use crate::host;
use crate::output::print_prompt;
use crate::style::Style;

/// The server's error code for a lossless reader that read nothing for too long.
const TOO_SLOW: &str = "reader_too_slow";

/// The server's error code for a prefix of several ids.
const AMBIGUOUS: &str = "ambiguous_id";

/// The kind of a failure, which determines the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The command or its arguments are invalid.
    Usage,
    /// The object does not exist, or the name is ambiguous.
    NotFound,
    /// The object exists, but does not allow the operation.
    Refused,
    /// No worker or server answers, and none could be started.
    NoWorker,
    /// A bug, or a fault of the host.
    Internal,
    /// Part of the output of the program was not shown.
    OutputMissing,
    /// The reader of our output has closed it; nothing is printed.
    ReaderGone,
}

impl ErrorKind {
    /// Every kind.
    #[cfg(test)]
    pub const ALL: [Self; 7] = [
        Self::Usage,
        Self::NotFound,
        Self::Refused,
        Self::NoWorker,
        Self::Internal,
        Self::OutputMissing,
        Self::ReaderGone,
    ];

    /// The exit code of a command that failed in this way (`run` and `attach` exit with 125, except for missing output).
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::ReaderGone => 0,
            Self::Usage => 2,
            Self::NotFound => 3,
            Self::Refused => 4,
            Self::NoWorker => 5,
            Self::Internal => 1,
            Self::OutputMissing => exit::OUTPUT_MISSING,
        }
    }
}

/// A failed command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandError {
    /// Determines the exit code.
    pub kind: ErrorKind,
    /// The cause.
    pub message: String,
    /// Suggestions for what to do next.
    pub hints: Vec<String>,
}

impl CommandError {
    /// An error without hints.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hints: Vec::new() }
    }

    /// The command or its arguments are invalid.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    /// A bug, or a fault of the host.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Prints the error to standard error.
    pub fn print(&self) {
        if self.kind == ErrorKind::ReaderGone {
            return;
        }
        print_prompt(&self.text(Style::of_stderr()));
    }

    /// The error and its hints, a line each.
    pub fn text(&self, style: Style) -> String {
        let mut text = format!("{} {}\n", style.red("error:"), message(&self.message));
        for hint in &self.hints {
            let _ = writeln!(text, "{} {}", style.cyan("hint:"), message(hint)); // writing to a string cannot fail
        }
        text
    }
}

impl From<ContractError> for CommandError {
    fn from(error: ContractError) -> Self {
        match error {
            ContractError::Fault(fault) => {
                let kind = match fault.kind {
                    FaultKind::Invalid | FaultKind::PastEnd => ErrorKind::Usage,
                    FaultKind::TooSlow => ErrorKind::OutputMissing,
                    FaultKind::NotFound | FaultKind::Gone => ErrorKind::NotFound,
                    FaultKind::Conflict
                    | FaultKind::Mismatch
                    | FaultKind::Exhausted
                    | FaultKind::Full
                    | FaultKind::OverDisk
                    | FaultKind::NoSpace
                    | FaultKind::Unavailable => ErrorKind::Refused,
                    FaultKind::Internal => ErrorKind::Internal,
                };
                Self { kind, message: fault.message, hints: fault.hint.into_iter().collect() }
            }
            ContractError::Disconnected(_) => Self::new(ErrorKind::NoWorker, error.to_string())
                .hint("programs keep running without a worker; `headwater ps` starts one, which takes them over"),
            ContractError::Malformed(_) => Self::new(ErrorKind::Internal, error.to_string()).hint(
                "is the worker another version? `headwater stop --keep-sessions` stops it and leaves programs running",
            ),
        }
    }
}

impl From<ClientError> for CommandError {
    fn from(error: ClientError) -> Self {
        let text = error.to_string();
        match error {
            ClientError::Api(error) => refused(*error),
            ClientError::Unreachable { .. } => Self::new(ErrorKind::NoWorker, text).hint(host::UNREACHABLE),
            ClientError::Disconnected(_) => Self::new(ErrorKind::NoWorker, text)
                .hint("programs keep running without the server; try again when it is back"),
            ClientError::Malformed(_) => {
                Self::new(ErrorKind::Internal, text).hint("is it a headwater server of this version?")
            }
            ClientError::BadUrl { .. } => {
                Self::usage(text).hint("for example `--server http://127.0.0.1:8080`")
            }
            ClientError::BadToken => Self::usage(text).hint("`headwater token create` creates a token"),
            ClientError::Setup(_) => Self::internal(text),
        }
    }
}

/// Converts an error response of a server.
fn refused(error: ApiError) -> CommandError {
    let kind = match error.status {
        _ if error.code == TOO_SLOW => ErrorKind::OutputMissing,
        _ if error.code == AMBIGUOUS => ErrorKind::NotFound,
        400 | 405 | 413 | 415 | 422 => ErrorKind::Usage,
        404 | 410 => ErrorKind::NotFound,
        500 => ErrorKind::Internal,
        _ => ErrorKind::Refused,
    };
    let hint = match error.status {
        401 => "pass a valid token with `--token TOKEN` or in `HEADWATER_TOKEN`".to_owned(),
        _ => error.hint,
    };
    let hints = if hint.is_empty() { Vec::new() } else { vec![hint] };
    CommandError { kind, message: error.message, hints }
}

#[cfg(test)]
mod tests {
    use headwater_contract::Fault;

    use super::*;
    use crate::snapshot;

    #[test]
    fn a_fault_of_the_worker_keeps_its_message_and_hint() {
        let fault = Fault::new(FaultKind::NotFound, "no such thing").hint("try that");
        let error = CommandError::from(ContractError::Fault(fault));
        assert_eq!(error.kind, ErrorKind::NotFound);
        assert_eq!(
            (error.message.as_str(), error.hints.as_slice()),
            ("no such thing", &["try that".to_owned()][..])
        );
    }

    #[test]
    fn errors_of_worker_and_server_match_their_snapshot() {
        let api = |status, code: &str, hint: &str| {
            ClientError::Api(Box::new(ApiError {
                status,
                code: code.into(),
                message: format!("the server's message of {status}"),
                hint: hint.into(),
                request_id: "req_1".into(),
                retry_after: None,
            }))
        };
        let why = || "connection refused".to_owned();
        let url = || "http://127.0.0.1:8080".to_owned();
        let fault = Fault::new(FaultKind::Conflict, "the worker's message").hint("the worker's hint");
        snapshot::assert_errors(
            "errors-of-worker-and-server",
            &[
                ContractError::Fault(fault).into(),
                ContractError::Disconnected(why()).into(),
                ContractError::Malformed("no id".into()).into(),
                api(404, "not_found", "the server's hint").into(),
                api(401, "unauthorized", "the server's hint").into(),
                api(502, "bad_gateway", "").into(),
                api(0, TOO_SLOW, "the server's hint").into(),
                ClientError::Unreachable { url: url(), why: why() }.into(),
                ClientError::Disconnected(why()).into(),
                ClientError::Malformed("no id".into()).into(),
                ClientError::BadUrl { url: "ftp://x".into(), why: "no http".into() }.into(),
                ClientError::BadToken.into(),
                ClientError::Setup("no entropy".into()).into(),
            ],
        );
    }

    #[test]
    fn a_reader_that_left_is_not_a_failure_and_every_other_kind_is() {
        for kind in ErrorKind::ALL {
            assert_eq!(kind.exit_code() == 0, kind == ErrorKind::ReaderGone, "{kind:?}");
        }
    }
}
