//! The one error of every door: a status and a code for programs, a message and a hint for people.

use std::borrow::Cow;
use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use headwater_contract::{ContractError, Fault, FaultKind};
use headwater_protocol::api::{ErrorBody, ErrorDetail, RequestError};
use headwater_protocol::{IdError, SpecError};
use headwater_store::StoreError;

use crate::http::rate_limit::request_id;

/// What a door answers when it does not do what it was asked to.
#[derive(Debug, Clone)]
pub struct ApiError {
    /// For HTTP.
    pub status: StatusCode,
    /// For programs.
    pub code: &'static str,
    /// What is wrong.
    pub message: Cow<'static, str>,
    /// What to do next.
    pub hint: Cow<'static, str>,
    /// When asking again may help.
    pub retry_after: Option<Duration>,
}

impl ApiError {
    /// An error of this kind.
    pub fn new(
        status: StatusCode,
        code: &'static str,
        message: impl Into<Cow<'static, str>>,
        hint: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { status, code, message: message.into(), hint: hint.into(), retry_after: None }
    }

    /// The request makes no sense (400).
    pub fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message, "`/docs` describes every request")
    }

    /// No such thing, or it is another's (404): the two must look the same.
    pub fn not_found(what: &str, id: &str) -> Self {
        let id: String = id.chars().take(64).collect();
        Self::new(
            StatusCode::NOT_FOUND,
            "not_found",
            format!("there is no {what} `{id}`"),
            format!("`GET /v1/{what}s` lists those that are there"),
        )
    }

    /// The log of an execution was removed (410).
    pub fn log_removed(message: impl Into<Cow<'static, str>>) -> Self {
        let hint =
            "read a log before it is removed; `[retention]` of the configuration says how long logs are kept";
        Self::new(StatusCode::GONE, "log_removed", message, hint)
    }

    /// It is there, but not in a state for this (409).
    pub fn conflict(message: impl Into<Cow<'static, str>>, hint: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", message, hint)
    }

    /// Who asks is known, and may not (403).
    pub fn forbidden(message: impl Into<Cow<'static, str>>, hint: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", message, hint)
    }

    /// Something that is not the caller's fault and may pass (503).
    pub fn unavailable(message: impl Into<Cow<'static, str>>, hint: impl Into<Cow<'static, str>>) -> Self {
        let error = Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message, hint);
        Self { retry_after: Some(Duration::from_secs(1)), ..error }
    }

    /// The disk of the server is full (507).
    pub fn no_space() -> Self {
        let hint = "free space on the server's disk; reading, cancelling and deleting still work";
        Self::new(StatusCode::INSUFFICIENT_STORAGE, "disk_full", "the server's disk is full", hint)
    }

    /// A bug or a broken host (500). The cause goes to the log, not to the caller.
    pub fn internal(cause: &dyn std::fmt::Display) -> Self {
        tracing::error!(%cause, "a request failed for no fault of its own");
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "something went wrong in the server",
            "the server's log has the cause under this request id",
        )
    }

    /// The same with another hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = hint.into();
        self
    }

    /// The body, as JSON.
    pub fn body(&self) -> ErrorBody {
        ErrorBody {
            error: ErrorDetail {
                code: self.code.to_owned(),
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
        let headers = response.headers_mut();
        if let Some(after) = self.retry_after {
            // Whole seconds, and never 0: that would be an invitation to hammer.
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
            FaultKind::NotFound => Self::new(
                StatusCode::NOT_FOUND,
                "not_found",
                fault.message,
                "it may have ended and been removed",
            ),
            FaultKind::Gone => Self::log_removed(fault.message),
            FaultKind::PastEnd => Self::new(
                StatusCode::BAD_REQUEST,
                "after_past_end",
                fault.message,
                "follow from the last event",
            ),
            FaultKind::TooSlow => {
                Self::new(StatusCode::CONFLICT, "reader_too_slow", fault.message, "follow without `lossless`")
            }
            FaultKind::Conflict => Self::conflict(fault.message, "look at its state first"),
            FaultKind::Mismatch => Self::new(
                StatusCode::PRECONDITION_FAILED,
                "changed",
                fault.message,
                "look at it again, and then change that",
            ),
            // The session's own limit: what was sent is too much for it, and the server is well.
            FaultKind::Full => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, "disk_full", fault.message, "remove something first")
            }
            FaultKind::OverDisk => Self::new(
                StatusCode::CONFLICT,
                "disk_limit",
                fault.message,
                "delete files of the session first",
            ),
            FaultKind::NoSpace => Self::no_space(),
            FaultKind::Exhausted => Self {
                retry_after: Some(Duration::from_secs(1)),
                ..Self::new(
                    StatusCode::TOO_MANY_REQUESTS,
                    "exhausted",
                    fault.message,
                    "wait for something to end, or end something",
                )
            },
            FaultKind::Unavailable => {
                Self::unavailable(fault.message, "`headwater doctor` tells what this host lacks")
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
                    "it is being started again: ask again in a moment",
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
            "ask again in a moment; the server's log has the cause",
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
