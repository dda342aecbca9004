//! OAuth 2.1 for clients that know only the address of this server, such as MCP clients.
//!
//! 1. The client finds the metadata: the 401 of `/mcp` names `/.well-known/oauth-protected-resource/mcp`.
//! 2. It registers (`POST /oauth/register`). Nothing is stored: the client's id is signed and contains what was
//!    registered.
//! 3. The person's browser opens `/oauth/authorize`, signs in as usual, and consents (`POST /oauth/consent`).
//! 4. The client redeems the code with its PKCE verifier (`POST /oauth/token`) and gets an API token, which is listed
//!    and revoked like every other. A refresh replaces the token's secret. Each refresh token is valid once: if it is
//!    used twice, it was stolen, and the grant ends.

mod client;
mod consent;
mod error;
mod form;
mod metadata;
mod redirect;
mod token;

use std::sync::Arc;

use axum::routing::{get, post};
use utoipa_axum::router::OpenApiRouter;

use crate::auth::Scope;
use crate::state::Gateway;

pub(crate) use metadata::challenge;

/// The path of the protected resource.
const RESOURCE: &str = "/mcp";
/// What a client gets if it asks for nothing in particular: to use sessions and everything in them.
const DEFAULT_SCOPES: [&str; 5] =
    ["sessions:write", "executions:write", "files:write", "terminals:write", "builds:write"];
/// Scopes that no client gets: they are about the account and the server.
const NEVER: [&str; 4] = ["tokens:read", "tokens:write", "metrics:read", "metrics:write"];

/// Paths that need no credential.
pub(crate) const PUBLIC_PATHS: [&str; 7] = [
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-authorization-server",
    "/oauth/register",
    "/oauth/authorize",
    "/oauth/token",
    "/oauth/revoke",
];

/// The routes. They are those of RFC 6749, 7591, 8414 and 9728, and not part of the OpenAPI document.
pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new()
        .route("/.well-known/oauth-protected-resource", get(metadata::resource))
        .route("/.well-known/oauth-protected-resource/mcp", get(metadata::resource))
        .route("/.well-known/oauth-authorization-server", get(metadata::server))
        .route("/oauth/register", post(client::register))
        .route("/oauth/authorize", get(consent::page))
        .route("/oauth/consent", post(consent::consent))
        .route("/oauth/token", post(token::token))
        .route("/oauth/revoke", post(token::revoke))
}

/// The scopes that a client asks for, without those that this server does not know or give. `None`: none is left.
fn scopes(asked: Option<&str>) -> Option<Vec<String>> {
    let Some(asked) = asked.map(str::trim).filter(|asked| !asked.is_empty()) else {
        return Some(DEFAULT_SCOPES.map(str::to_owned).to_vec());
    };
    let mut found: Vec<String> = Vec::new();
    for text in asked.split_ascii_whitespace() {
        if let Ok(scope) = text.parse::<Scope>().map(|scope| scope.to_string())
            && !NEVER.contains(&scope.as_str())
            && !found.contains(&scope)
        {
            found.push(scope);
        }
    }
    (!found.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_the_scopes_that_it_asks_for_and_never_those_of_the_account() {
        let get = |asked: Option<&str>| scopes(asked).map(|all| all.join(" "));
        assert_eq!(get(None), Some(DEFAULT_SCOPES.join(" ")));
        assert_eq!(get(Some("  ")), Some(DEFAULT_SCOPES.join(" ")));
        assert_eq!(get(Some("files:read offline_access files:read")).as_deref(), Some("files:read"));
        assert_eq!(get(Some("tokens:write executions:write")).as_deref(), Some("executions:write"));
        assert_eq!(get(Some("tokens:write openid")), None);
    }
}
