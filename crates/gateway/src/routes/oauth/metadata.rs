//! Metadata of the protected resource (RFC 9728) and of the authorization server (RFC 8414).

use axum::Json;
use axum::http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};

use super::{DEFAULT_SCOPES, RESOURCE};
use crate::auth::own_origin;

/// The metadata of `/mcp`.
pub(super) async fn resource(headers: HeaderMap) -> Json<Value> {
    let origin = own_origin(&headers);
    Json(json!({
        "resource": format!("{origin}{RESOURCE}"),
        "resource_name": "Headwater",
        "authorization_servers": [origin],
        "scopes_supported": DEFAULT_SCOPES,
        "bearer_methods_supported": ["header"],
        "resource_documentation": format!("{origin}/docs"),
    }))
}

/// The metadata of the authorization server.
pub(super) async fn server(headers: HeaderMap) -> Json<Value> {
    let origin = own_origin(&headers);
    let at = |path: &str| format!("{origin}{path}");
    Json(json!({
        "issuer": origin,
        "authorization_endpoint": at("/oauth/authorize"),
        "token_endpoint": at("/oauth/token"),
        "registration_endpoint": at("/oauth/register"),
        "revocation_endpoint": at("/oauth/revoke"),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "code_challenge_methods_supported": ["S256"],
        "scopes_supported": DEFAULT_SCOPES,
        "authorization_response_iss_parameter_supported": true,
        "service_documentation": at("/docs"),
    }))
}

/// The challenge of a 401 of the protected resource, which names its metadata.
pub(crate) fn challenge(path: &str, headers: &HeaderMap) -> Option<HeaderValue> {
    if path != RESOURCE {
        return None;
    }
    let address = format!("{}/.well-known/oauth-protected-resource{RESOURCE}", own_origin(headers));
    HeaderValue::from_str(&format!("Bearer resource_metadata=\"{address}\"")).ok()
}
