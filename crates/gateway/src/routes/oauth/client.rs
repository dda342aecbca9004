//! Registration of clients (RFC 7591).
//!
//! A client's id is a signed text that contains what was registered. So nobody can fill the store with registrations,
//! and every gateway with the same secret knows every client.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::error::OAuthError;
use super::redirect;
use crate::now_ms;
use crate::state::Gateway;

/// The longest registration, in bytes.
const MAX_BYTES: usize = 16 << 10;
/// The most redirect addresses of a client.
const MAX_ADDRESSES: usize = 8;
/// The longest redirect addresses of a client together, in bytes: the id contains them, and is sent in an address.
const MAX_ADDRESSES_BYTES: usize = 2048;
/// The longest name of a client, in characters.
const MAX_NAME: usize = 80;

/// What a client registers. Other fields are ignored, as the standard says.
#[derive(Debug, Deserialize)]
struct Registration {
    #[serde(default)]
    redirect_uris: Vec<String>,
    client_name: Option<String>,
    token_endpoint_auth_method: Option<String>,
    grant_types: Option<Vec<String>>,
    response_types: Option<Vec<String>>,
}

/// A registered client, as its id contains it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Client {
    /// What it calls itself. Nobody has checked it.
    #[serde(rename = "n")]
    pub(super) name: String,
    /// Where its codes may be sent.
    #[serde(rename = "r")]
    pub(super) redirect_uris: Vec<String>,
    /// When it was registered, in seconds since 1970.
    #[serde(rename = "iat")]
    pub(super) issued_at: u64,
}

impl Client {
    /// The client with this id, if this server has issued it.
    pub(super) fn by_id(gateway: &Gateway, id: &str) -> Result<Self, OAuthError> {
        gateway.auth.jwts.unseal(id).ok_or_else(OAuthError::invalid_client)
    }
}

/// Registers a client.
pub(super) async fn register(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    body: Bytes,
) -> Result<Response, OAuthError> {
    gateway.rates.count_address(address.ip())?;
    let wrong = |description: String| OAuthError::new("invalid_client_metadata", description);
    if body.len() > MAX_BYTES {
        return Err(wrong("the registration is too long".to_owned()));
    }
    let asked: Registration = serde_json::from_slice(&body)
        .map_err(|error| wrong(format!("the registration is not valid JSON of RFC 7591: {error}")))?;
    check_addresses(&asked.redirect_uris)?;
    let lacks = |list: &Option<Vec<String>>, needed: &str| {
        list.as_ref().is_some_and(|list| !list.iter().any(|one| one == needed))
    };
    if lacks(&asked.grant_types, "authorization_code") || lacks(&asked.response_types, "code") {
        return Err(wrong(
            "the grant `authorization_code` with the response type `code` is needed".to_owned(),
        ));
    }
    let method = asked.token_endpoint_auth_method.as_deref().unwrap_or("none");
    if method != "none" {
        // A secret of a program that everybody can download is none; PKCE takes its place. The standard lets the
        // server choose another method than the one that was asked for.
        tracing::debug!(method, "a client asked for a secret and gets none");
    }
    let client = Client {
        name: name(asked.client_name.as_deref()),
        redirect_uris: asked.redirect_uris,
        issued_at: now_ms() / 1000,
    };
    let id = gateway.auth.jwts.seal(&client)?;
    let body = json!({
        "client_id": id,
        "client_id_issued_at": client.issued_at,
        "client_name": client.name,
        "redirect_uris": client.redirect_uris,
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
    });
    Ok((StatusCode::CREATED, Json(body)).into_response())
}

fn check_addresses(all: &[String]) -> Result<(), OAuthError> {
    let wrong = |description: String| OAuthError::new("invalid_redirect_uri", description);
    if all.is_empty() || all.len() > MAX_ADDRESSES {
        return Err(wrong(format!("`redirect_uris` must have 1 to {MAX_ADDRESSES} addresses")));
    }
    if all.iter().map(String::len).sum::<usize>() > MAX_ADDRESSES_BYTES {
        return Err(wrong("`redirect_uris` are too long together".to_owned()));
    }
    for one in all {
        if let Some(problem) = redirect::problem(one) {
            let one: String = one.chars().take(128).collect();
            return Err(wrong(format!(
                "`{one}`: {problem}; use `https`, a loopback address or an own scheme"
            )));
        }
    }
    Ok(())
}

/// The name of a client as it is shown: one line of visible characters.
fn name(asked: Option<&str>) -> String {
    let visible = |ch: char| if ch.is_control() || is_invisible(ch) { ' ' } else { ch };
    let clean: String = asked.unwrap_or_default().chars().take(MAX_NAME).map(visible).collect();
    let clean = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    if clean.is_empty() { "A program without a name".to_owned() } else { clean }
}

/// Characters that change the order or the look of those around them.
const fn is_invisible(ch: char) -> bool {
    matches!(ch, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_line_of_visible_characters() {
        assert_eq!(name(Some("Claude\u{202e} Code\n\n(x)")), "Claude Code (x)");
        assert_eq!(name(Some(" \u{200b} ")), "A program without a name");
        assert_eq!(name(None), "A program without a name");
        assert_eq!(name(Some(&"é".repeat(500))).chars().count(), MAX_NAME);
    }
}
