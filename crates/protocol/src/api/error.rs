//! The one shape of every error that the gateway answers with.

use serde::{Deserialize, Serialize};

/// The body of every answer that is not a success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorBody {
    /// What went wrong.
    pub error: ErrorDetail,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorDetail {
    /// For programs: a word of a fixed list, in `snake_case`.
    pub code: String,
    /// For people: what is wrong.
    pub message: String,
    /// What to do next.
    pub hint: String,
    /// Also in the answer's `X-Request-Id` and in the server's log.
    pub request_id: String,
}
