//! Errors of OAuth, in its own form: `{"error", "error_description"}`.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use headwater_store::StoreError;
use serde_json::json;

use crate::error::ApiError;

/// An error of an OAuth route.
#[derive(Debug)]
pub(super) enum OAuthError {
    /// An error by its code (RFC 6749, 5.2; RFC 7591, 3.2.2; RFC 8707, 2).
    Code(&'static str, String),
    /// An error that OAuth has no code for.
    Api(ApiError),
}

impl OAuthError {
    pub(super) fn new(code: &'static str, description: impl Into<String>) -> Self {
        Self::Code(code, description.into())
    }

    pub(super) fn invalid_request(description: impl Into<String>) -> Self {
        Self::new("invalid_request", description)
    }

    pub(super) fn invalid_grant() -> Self {
        Self::new(
            "invalid_grant",
            "the code or the refresh token is not valid: it may have been used or have expired",
        )
    }

    pub(super) fn invalid_client() -> Self {
        Self::new("invalid_client", "`client_id` is not one of this server: register at `/oauth/register`")
    }
}

impl From<ApiError> for OAuthError {
    fn from(error: ApiError) -> Self {
        Self::Api(error)
    }
}

impl From<StoreError> for OAuthError {
    fn from(error: StoreError) -> Self {
        Self::Api(error.into())
    }
}

impl IntoResponse for OAuthError {
    fn into_response(self) -> Response {
        match self {
            Self::Api(error) => error.into_response(),
            Self::Code(code, description) => {
                let status =
                    if code == "invalid_client" { StatusCode::UNAUTHORIZED } else { StatusCode::BAD_REQUEST };
                let body = Json(json!({"error": code, "error_description": description}));
                (status, [(header::CACHE_CONTROL, "no-store")], body).into_response()
            }
        }
    }
}
