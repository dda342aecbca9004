//! Errors as they cross the contract: a kind for programs, a message and a hint for people.
//!
//! The kind travels as the gRPC code, the hint as metadata.

use headwater_protocol::{IdError, SpecError};
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

/// The metadata key of a hint. Binary metadata (`-bin`) can carry any text, plain metadata only ASCII.
const HINT_KEY: &str = "headwater-hint-bin";

/// The metadata key that tells [`FaultKind::Gone`] from [`FaultKind::NotFound`].
const GONE_KEY: &str = "headwater-gone";

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
        let code = match fault.kind {
            FaultKind::Invalid => Code::InvalidArgument,
            FaultKind::NotFound | FaultKind::Gone => Code::NotFound, // told apart by the metadata
            FaultKind::PastEnd => Code::OutOfRange,
            FaultKind::TooSlow => Code::DeadlineExceeded, // no call has a deadline of its own
            FaultKind::Conflict => Code::FailedPrecondition,
            FaultKind::Mismatch => Code::AlreadyExists, // in another state
            FaultKind::Exhausted => Code::ResourceExhausted,
            FaultKind::Full => Code::PermissionDenied, // by the disk, or by the session's limits
            FaultKind::OverDisk => Code::Unauthenticated, // no code fits; nobody signs in here, so this one is free
            FaultKind::NoSpace => Code::DataLoss,         // likewise: nothing is lost
            FaultKind::Unavailable => Code::Aborted, // not `Unavailable`: that is a worker that is not there
            FaultKind::Internal => Code::Internal,
        };
        let mut status = Self::new(code, fault.message);
        if fault.kind == FaultKind::Gone {
            status.metadata_mut().insert(GONE_KEY, MetadataValue::from_static("true"));
        }
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
        let kind = match status.code() {
            Code::InvalidArgument => FaultKind::Invalid,
            Code::OutOfRange => FaultKind::PastEnd,
            Code::DeadlineExceeded => FaultKind::TooSlow,
            Code::NotFound if status.metadata().contains_key(GONE_KEY) => FaultKind::Gone,
            Code::NotFound => FaultKind::NotFound,
            Code::FailedPrecondition => FaultKind::Conflict,
            Code::AlreadyExists => FaultKind::Mismatch,
            Code::PermissionDenied => FaultKind::Full,
            Code::ResourceExhausted => FaultKind::Exhausted,
            Code::Unauthenticated => FaultKind::OverDisk,
            Code::DataLoss => FaultKind::NoSpace,
            Code::Aborted => FaultKind::Unavailable,
            Code::Internal if !is_broken_transport(&status) => FaultKind::Internal,
            Code::Unimplemented => return Self::Malformed(status.message().to_owned()),
            _ => return Self::Disconnected(status.message().to_owned()),
        };
        let hint = status.metadata().get_bin(HINT_KEY).and_then(|value| value.to_bytes().ok());
        let hint = hint.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Self::Fault(Fault { kind, message: status.message().to_owned(), hint })
    }
}

/// A connection that breaks inside a stream shows as `Internal` with an h2 error below it.
fn is_broken_transport(status: &Status) -> bool {
    std::error::Error::source(status).is_some()
}
