//! Errors as they cross the contract: a kind for programs, a message and a hint for people.
//!
//! Kind and hint travel as metadata. The gRPC code is for other clients. It does not determine the kind,
//! because the transport uses codes too (`OutOfRange` for an answer that is too large, for example).
//!
//! Only a connection that failed counts as a lost worker, so that the call is repeated: `Unavailable`, and
//! errors that the connection itself reports. Every other answer is final, whatever its code.

use headwater_protocol::{IdError, SpecError};
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

/// The metadata key of a hint. Binary metadata (`-bin`) can carry any text, plain metadata only ASCII.
const HINT_KEY: &str = "headwater-hint-bin";

/// The metadata key of the kind.
const KIND_KEY: &str = "headwater-kind";

/// The kind of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The request is not valid.
    Invalid,
    /// The session, execution or file does not exist.
    NotFound,
    /// It existed and was removed, by a retention rule or by a request.
    Gone,
    /// It exists, but its state does not allow the request.
    Conflict,
    /// It is not in the state that the caller expects: another client changed it.
    Mismatch,
    /// The position is past the end of the log.
    PastEnd,
    /// A lossless reader has read nothing for too long.
    TooSlow,
    /// Too many requests or objects at the same time.
    Exhausted,
    /// It exceeds the free space of the disk or of the session.
    Full,
    /// The session exceeds its disk limit, so no program starts in it.
    OverDisk,
    /// The disk of the server is full.
    NoSpace,
    /// The host does not support it, for example because a wall is missing.
    Unavailable,
    /// A bug, or a failure of the host.
    Internal,
}

impl FaultKind {
    /// All kinds, for decoding.
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

    /// The name in the metadata.
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
            // Not `Unavailable`, which means that a retry may help: a wall stays missing.
            Self::Conflict | Self::Unavailable => Code::FailedPrecondition,
            Self::Mismatch => Code::Aborted, // like a failed test-and-set
            Self::Exhausted | Self::Full | Self::OverDisk | Self::NoSpace => Code::ResourceExhausted,
            Self::Internal => Code::Internal,
        }
    }

    /// The kind of a status that names none: of the transport, or of a worker of an earlier version, which used these
    /// codes.
    const fn without_name(code: Code) -> Self {
        match code {
            Code::InvalidArgument | Code::OutOfRange => Self::Invalid,
            Code::NotFound => Self::NotFound,
            Code::FailedPrecondition => Self::Conflict,
            Code::AlreadyExists => Self::Mismatch,
            Code::ResourceExhausted => Self::Exhausted,
            Code::PermissionDenied => Self::Full,
            Code::Aborted => Self::Unavailable,
            _ => Self::Internal,
        }
    }

    /// The kind that the metadata names, if the worker sent the status.
    fn of(status: &Status) -> Option<Self> {
        let name = status.metadata().get(KIND_KEY)?.to_str().ok()?;
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// An error that the worker reports.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// The kind, for code.
    pub kind: FaultKind,
    /// What is wrong, for people.
    pub message: String,
    /// What to do about it, for people.
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

/// An error of a call.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ContractError {
    /// The worker refused the call.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The worker is not running, or the connection broke: a retry may help.
    #[error("the worker does not answer: {0}")]
    Disconnected(String),
    /// The answer is not valid, for example from another version of the worker.
    #[error("the worker's answer is not valid: {0}")]
    Malformed(String),
}

impl ContractError {
    /// The fault, if the worker refused the call.
    pub const fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Fault(fault) => Some(fault),
            Self::Disconnected(_) | Self::Malformed(_) => None,
        }
    }

    /// Whether a retry may help when the worker is running again.
    pub const fn is_disconnected(&self) -> bool {
        matches!(self, Self::Disconnected(_))
    }
}

impl From<Status> for ContractError {
    fn from(status: Status) -> Self {
        let kind = match (FaultKind::of(&status), status.code()) {
            (Some(kind), _) => kind,
            // Without a kind, the status comes from the transport or from a worker of an earlier version.
            (None, Code::Unavailable) => return Self::Disconnected(status.message().to_owned()),
            (None, _) if is_broken_connection(&status) => {
                return Self::Disconnected(status.message().to_owned());
            }
            (None, Code::Unimplemented) => return Self::Malformed(status.message().to_owned()),
            (None, code) => FaultKind::without_name(code),
        };
        let hint = status.metadata().get_bin(HINT_KEY).and_then(|value| value.to_bytes().ok());
        let hint = hint.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Self::Fault(Fault { kind, message: status.message().to_owned(), hint })
    }
}

/// Whether our end of the connection reports the status. A status that the worker sent has no source.
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
                panic!("{kind:?} does not arrive as a fault");
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
                connection.readable().await.unwrap(); // the worker closes the connection without an answer
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
