//! The body of every error of the gateway.

use serde::{Deserialize, Serialize};

/// The body of every answer with an error status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorBody {
    /// What went wrong, and what to do.
    pub error: ErrorDetail,
}

/// An error: a code for programs, a message and a hint for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorDetail {
    /// The code, for programs: a word from a fixed list, in `snake_case`.
    pub code: String,
    /// What is wrong, for people.
    pub message: String,
    /// What to do about it, for people.
    pub hint: String,
    /// The id of the request, as in the header `X-Request-Id` and in the server's log.
    pub request_id: String,
}
