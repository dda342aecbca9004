//! The error type of all routes: a status and a code for programs, a message and a hint for people.

use std::borrow::Cow;
use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use headwater_contract::{ContractError, Fault, FaultKind, request_id};
use headwater_protocol::api::{ErrorBody, ErrorCode, ErrorDetail, RequestError};
use headwater_protocol::{IdError, SpecError};
use headwater_store::StoreError;

/// The error response of a route.
#[derive(Debug, Clone)]
pub struct ApiError {
    /// The HTTP status.
    pub status: StatusCode,
    /// A stable code for programs.
    pub code: ErrorCode,
    /// A description of the error for people.
    pub message: Cow<'static, str>,
    /// A suggestion how to fix or avoid the error.
    pub hint: Cow<'static, str>,
    /// How long a client should wait before it tries again, if that may help.
    pub retry_after: Option<Duration>,
}

impl ApiError {
    /// Creates an error with the status of its code, and without `Retry-After`.
    pub fn new(
        code: ErrorCode,
        message: impl Into<Cow<'static, str>>,
        hint: impl Into<Cow<'static, str>>,
    ) -> Self {
        let status = StatusCode::from_u16(code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { status, code, message: message.into(), hint: hint.into(), retry_after: None }
    }

    /// The request is not valid (400).
    pub fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::InvalidRequest, message, "`/docs` describes every request")
    }

    /// The object does not exist or belongs to somebody else (404): the two must be indistinguishable.
    pub fn not_found(what: &str, id: &str) -> Self {
        let id: String = id.chars().take(64).collect();
        Self::new(
            ErrorCode::NotFound,
            format!("there is no {what} `{id}`"),
            format!("`GET /v1/{what}s` lists the existing ones"),
        )
    }

    /// The log of an execution was removed (410).
    pub fn log_removed(message: impl Into<Cow<'static, str>>) -> Self {
        let hint =
            "read a log before it is removed; `[retention]` in the configuration sets how long logs are kept";
        Self::new(ErrorCode::LogRemoved, message, hint)
    }

    /// The object exists and its state does not allow the request (409).
    pub fn conflict(message: impl Into<Cow<'static, str>>, hint: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::Conflict, message, hint)
    }

    /// The caller is authenticated and lacks the permission (403).
    pub fn forbidden(message: impl Into<Cow<'static, str>>, hint: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::Forbidden, message, hint)
    }

    /// A temporary failure that the caller did not cause (503).
    pub fn unavailable(message: impl Into<Cow<'static, str>>, hint: impl Into<Cow<'static, str>>) -> Self {
        let error = Self::new(ErrorCode::Unavailable, message, hint);
        Self { retry_after: Some(Duration::from_secs(1)), ..error }
    }

    /// The disk of the server is full (507).
    pub fn no_space() -> Self {
        let hint = "free space on the server's disk; reading, cancelling and deleting still work";
        Self::new(ErrorCode::DiskFull, "the server's disk is full", hint)
    }

    /// A bug or a broken host (500). The cause is written to the log and not sent to the caller.
    pub fn internal(cause: &dyn std::fmt::Display) -> Self {
        tracing::error!(%cause, "request failed with an internal error");
        Self::new(
            ErrorCode::Internal,
            "internal server error",
            "the server's log contains the cause; search it for this request id",
        )
    }

    /// Replaces the hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = hint.into();
        self
    }

    /// The body of the response.
    pub fn body(&self) -> ErrorBody {
        ErrorBody {
            error: ErrorDetail {
                code: self.code.name().to_owned(),
                message: self.message.clone().into_owned(),
                hint: self.hint.clone().into_owned(),
                request_id: request_id(),
            },
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body())).into_response();
        // For the metrics.
        response.extensions_mut().insert(self.code);
        let headers = response.headers_mut();
        if let Some(after) = self.retry_after {
            // Whole seconds, and at least 1: with 0, clients would retry at once.
            headers.insert(header::RETRY_AFTER, HeaderValue::from(after.as_secs().max(1)));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<Fault> for ApiError {
    fn from(fault: Fault) -> Self {
        let error = match fault.kind {
            FaultKind::Invalid => Self::invalid(fault.message),
            FaultKind::NotFound => {
                Self::new(ErrorCode::NotFound, fault.message, "it may have ended and been removed")
            }
            FaultKind::Gone => Self::log_removed(fault.message),
            FaultKind::PastEnd => {
                Self::new(ErrorCode::AfterPastEnd, fault.message, "follow from the last event")
            }
            FaultKind::TooSlow => {
                Self::new(ErrorCode::ReaderTooSlow, fault.message, "follow without `lossless`")
            }
            FaultKind::Conflict => Self::conflict(fault.message, "check its state first"),
            FaultKind::Mismatch => {
                Self::new(ErrorCode::Changed, fault.message, "read it again, then repeat the change")
            }
            // The limit of the session, not of the server: the request exceeds it.
            FaultKind::Full => Self {
                status: StatusCode::PAYLOAD_TOO_LARGE,
                ..Self::new(ErrorCode::DiskFull, fault.message, "remove files first")
            },
            FaultKind::OverDisk => {
                Self::new(ErrorCode::DiskLimit, fault.message, "delete files of the session first")
            }
            FaultKind::NoSpace => Self::no_space(),
            FaultKind::Exhausted => Self {
                retry_after: Some(Duration::from_secs(1)),
                ..Self::new(
                    ErrorCode::Exhausted,
                    fault.message,
                    "wait until something ends, or end something",
                )
            },
            FaultKind::Unavailable => {
                Self::unavailable(fault.message, "`headwater doctor` reports what this host lacks")
            }
            FaultKind::Internal => Self::internal(&fault.message),
        };
        match fault.hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

impl From<ContractError> for ApiError {
    fn from(error: ContractError) -> Self {
        match error {
            ContractError::Fault(fault) => fault.into(),
            ContractError::Disconnected(cause) => {
                tracing::warn!(%cause, "the worker does not answer");
                Self::unavailable(
                    "the worker does not answer",
                    "it is being restarted: try again in a moment",
                )
            }
            ContractError::Malformed(cause) => Self::internal(&cause),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "the store failed");
        if error.is_disk_full() {
            return Self::no_space();
        }
        Self::unavailable(
            "the store does not answer",
            "try again in a moment; the server's log contains the cause",
        )
    }
}

impl From<RequestError> for ApiError {
    fn from(error: RequestError) -> Self {
        Self::invalid(error.to_string())
    }
}

impl From<SpecError> for ApiError {
    fn from(error: SpecError) -> Self {
        Self::invalid(error.to_string())
    }
}

impl From<IdError> for ApiError {
    fn from(error: IdError) -> Self {
        Self::invalid(error.to_string())
    }
}
