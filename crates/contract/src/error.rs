//! Errors as they cross the contract: a kind for programs, a message and a hint for people.
//!
//! Kind and hint travel as metadata. The gRPC code is the one that gRPC defines for it, for other clients; it does not
//! decide, because the transport uses codes too (`OutOfRange` for an answer that is too large, for example).
//!
//! Only a connection that failed counts as a lost worker, so that the call is repeated: `Unavailable`, and errors that
//! the connection itself reports. Every other answer is final, whatever its code.

use headwater_protocol::{IdError, SpecError};
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

/// The metadata key of a hint. Binary metadata (`-bin`) can carry any text, plain metadata only ASCII.
const HINT_KEY: &str = "headwater-hint-bin";

/// The metadata key of the kind.
const KIND_KEY: &str = "headwater-kind";

/// What kind of thing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The request makes no sense.
    Invalid,
    /// There is no such session or execution.
    NotFound,
    /// It was there and was removed, by a rule or by a request.
    Gone,
    /// It is there, but not in a state for this.
    Conflict,
    /// It is not in the state that the caller expects: somebody else changed it.
    Mismatch,
    /// A position that the log has not reached.
    PastEnd,
    /// A lossless reader read nothing for too long.
    TooSlow,
    /// Too much of something.
    Exhausted,
    /// It does not fit: on the disk, or into what a session may hold.
    Full,
    /// The session uses more of the disk than it may: nothing starts in it.
    OverDisk,
    /// The disk of the server is full.
    NoSpace,
    /// The host cannot do it (a missing wall).
    Unavailable,
    /// A bug or a broken host.
    Internal,
}

impl FaultKind {
    /// Every kind.
    const ALL: [Self; 13] = [
        Self::Invalid,
        Self::NotFound,
        Self::Gone,
        Self::Conflict,
        Self::Mismatch,
        Self::PastEnd,
        Self::TooSlow,
        Self::Exhausted,
        Self::Full,
        Self::OverDisk,
        Self::NoSpace,
        Self::Unavailable,
        Self::Internal,
    ];

    /// Its name in the metadata.
    const fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::NotFound => "not-found",
            Self::Gone => "gone",
            Self::Conflict => "conflict",
            Self::Mismatch => "mismatch",
            Self::PastEnd => "past-end",
            Self::TooSlow => "too-slow",
            Self::Exhausted => "exhausted",
            Self::Full => "full",
            Self::OverDisk => "over-disk",
            Self::NoSpace => "no-space",
            Self::Unavailable => "unavailable",
            Self::Internal => "internal",
        }
    }

    /// The gRPC code, as gRPC defines it.
    const fn code(self) -> Code {
        match self {
            Self::Invalid => Code::InvalidArgument,
            Self::NotFound | Self::Gone => Code::NotFound,
            Self::PastEnd => Code::OutOfRange,
            Self::TooSlow => Code::DeadlineExceeded,
            // Not `Unavailable`, which asks for a repetition: a host without a wall stays without it.
            Self::Conflict | Self::Unavailable => Code::FailedPrecondition,
            Self::Mismatch => Code::Aborted, // as a failed test-and-set
            Self::Exhausted | Self::Full | Self::OverDisk | Self::NoSpace => Code::ResourceExhausted,
            Self::Internal => Code::Internal,
        }
    }

    /// The kind that a status names, if the worker made it.
    fn of(status: &Status) -> Option<Self> {
        let name = status.metadata().get(KIND_KEY)?.to_str().ok()?;
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// An error of the worker, for its callers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// For programs.
    pub kind: FaultKind,
    /// What is wrong.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
}

impl Fault {
    /// A fault without a hint.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// A fault of the disk: [`FaultKind::NoSpace`] if it is full.
    pub fn of_disk(message: impl Into<String>, error: &std::io::Error) -> Self {
        use std::io::ErrorKind::{QuotaExceeded, StorageFull};
        let full = matches!(error.kind(), StorageFull | QuotaExceeded);
        Self::new(if full { FaultKind::NoSpace } else { FaultKind::Unavailable }, message)
    }

    /// The same with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<IdError> for Fault {
    fn from(error: IdError) -> Self {
        Self::new(FaultKind::Invalid, error.to_string())
    }
}

impl From<SpecError> for Fault {
    fn from(error: SpecError) -> Self {
        Self::new(FaultKind::Invalid, error.to_string())
    }
}

impl From<Fault> for Status {
    fn from(fault: Fault) -> Self {
        let mut status = Self::new(fault.kind.code(), fault.message);
        status.metadata_mut().insert(KIND_KEY, MetadataValue::from_static(fault.kind.name()));
        if let Some(hint) = fault.hint {
            status.metadata_mut().insert_bin(HINT_KEY, MetadataValue::from_bytes(hint.as_bytes()));
        }
        status
    }
}

/// What a client sees.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ContractError {
    /// The worker said no.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The worker is not there, or went away in the middle: asking again may help.
    #[error("the worker does not answer: {0}")]
    Disconnected(String),
    /// The worker speaks otherwise than this client.
    #[error("the worker's answer makes no sense: {0}")]
    Malformed(String),
}

impl ContractError {
    /// The fault, if the worker said no.
    pub const fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Fault(fault) => Some(fault),
            Self::Disconnected(_) | Self::Malformed(_) => None,
        }
    }

    /// Whether asking again, when the worker is back, may help.
    pub const fn is_disconnected(&self) -> bool {
        matches!(self, Self::Disconnected(_))
    }
}

impl From<Status> for ContractError {
    fn from(status: Status) -> Self {
        let kind = match (FaultKind::of(&status), status.code()) {
            (Some(kind), _) => kind,
            // Without a kind it comes from the transport.
            (None, Code::Unavailable) => return Self::Disconnected(status.message().to_owned()),
            (None, _) if is_broken_connection(&status) => {
                return Self::Disconnected(status.message().to_owned());
            }
            (None, Code::InvalidArgument | Code::OutOfRange) => FaultKind::Invalid,
            (None, Code::ResourceExhausted) => FaultKind::Exhausted,
            (None, Code::Unimplemented) => return Self::Malformed(status.message().to_owned()),
            (None, _) => FaultKind::Internal,
        };
        let hint = status.metadata().get_bin(HINT_KEY).and_then(|value| value.to_bytes().ok());
        let hint = hint.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Self::Fault(Fault { kind, message: status.message().to_owned(), hint })
    }
}

/// Whether our end of the connection reports this. A status that the worker sent has no source.
fn is_broken_connection(status: &Status) -> bool {
    std::error::Error::source(status).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_fault_arrives_as_itself_with_its_hint() {
        for kind in FaultKind::ALL {
            let fault = Fault::new(kind, "no").hint("do that");
            let Some(arrived) = ContractError::from(Status::from(fault.clone())).fault().cloned() else {
                panic!("{kind:?} is no fault any more");
            };
            assert_eq!(arrived, fault);
        }
    }

    #[test]
    fn an_answer_too_large_for_the_transport_is_not_a_position_past_the_end() {
        let error = ContractError::from(Status::out_of_range("encoded message length too large"));
        assert_eq!(error.fault().map(|fault| fault.kind), Some(FaultKind::Invalid));
    }

    #[test]
    fn a_kind_has_the_code_that_grpc_defines_for_it() {
        for (kind, code) in [
            (FaultKind::Invalid, Code::InvalidArgument),
            (FaultKind::NotFound, Code::NotFound),
            (FaultKind::Gone, Code::NotFound),
            (FaultKind::Conflict, Code::FailedPrecondition),
            (FaultKind::Mismatch, Code::Aborted),
            (FaultKind::PastEnd, Code::OutOfRange),
            (FaultKind::TooSlow, Code::DeadlineExceeded),
            (FaultKind::Exhausted, Code::ResourceExhausted),
            (FaultKind::Full, Code::ResourceExhausted),
            (FaultKind::OverDisk, Code::ResourceExhausted),
            (FaultKind::NoSpace, Code::ResourceExhausted),
            (FaultKind::Unavailable, Code::FailedPrecondition),
            (FaultKind::Internal, Code::Internal),
        ] {
            assert_eq!(Status::from(Fault::new(kind, "no")).code(), code, "{kind:?}");
        }
    }

    #[test]
    fn an_answer_of_any_code_but_unavailable_is_final() {
        for code in (1..=16).map(Code::from) {
            let error = ContractError::from(Status::new(code, "no"));
            assert_eq!(error.is_disconnected(), code == Code::Unavailable, "{code:?}: {error:?}");
        }
        for code in [Code::Cancelled, Code::Unknown, Code::DataLoss] {
            let error = ContractError::from(Status::new(code, "no"));
            assert_eq!(error.fault().map(|fault| fault.kind), Some(FaultKind::Internal), "{code:?}");
        }
    }

    #[test]
    fn an_error_of_the_connection_is_a_lost_worker() {
        for code in [Code::Cancelled, Code::Unknown, Code::Internal, Code::Unavailable] {
            let mut status = Status::new(code, "broken");
            status.set_source(std::sync::Arc::new(std::io::Error::other("broken pipe")));
            assert!(ContractError::from(status).is_disconnected(), "{code:?}");
        }
    }

    #[tokio::test]
    async fn a_worker_that_goes_before_it_answers_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("worker.sock");
        let listener = tokio::net::UnixListener::bind(&socket).unwrap();
        let worker = tokio::spawn(async move {
            loop {
                let (connection, _) = listener.accept().await.unwrap();
                connection.readable().await.unwrap(); // it is asked something, and goes
            }
        });
        let error = match crate::connect(&socket).await {
            Ok(client) => client.info().await.unwrap_err(),
            Err(error) => error,
        };
        assert!(error.is_disconnected(), "{error:?}");
        worker.abort();
    }
}
