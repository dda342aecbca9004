//! The page where a person signs in and consents, and what it calls.
//!
//! The page is the one at `/`, without anything of the request in it: its script sends the request's parameters here and
//! shows the answer as text.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use headwater_store::{GrantRow, Role};
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::Client;
use super::error::OAuthError;
use super::form::Form;
use super::{RESOURCE, redirect, scopes};
use crate::auth::{Bounds, Identity, Need, authorise, hash, own_origin, random_hex, secret};
use crate::error::ApiError;
use crate::http::extract::Json;
use crate::now_ms;
use crate::routes::home;
use crate::state::Gateway;

/// Marks a code.
const CODE_PREFIX: &str = "hwac_";
/// How long a code can be redeemed, in milliseconds: clients do it at once.
const CODE_LIFETIME_MS: u64 = 60_000;
/// The most grants of one owner; the oldest end.
const MAX_GRANTS: u32 = 100;
/// The length of an S256 challenge: 32 bytes in base64 without padding.
const CHALLENGE_LENGTH: usize = 43;

/// The page.
pub(super) async fn page() -> Response {
    home::page_for_everybody()
}

/// What the page sends.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConsentRequest {
    /// The query of the page's address.
    query: String,
    /// What the person chose; absent: nothing yet.
    allow: Option<bool>,
}

/// A valid request for a consent.
struct Asked {
    client_id: String,
    client: Client,
    redirect_uri: String,
    challenge: String,
    scopes: Vec<String>,
    state: Option<String>,
}

/// Why a request for a consent is not valid.
enum Refused {
    /// The client or its address is not known: the browser must not be sent there.
    Here(OAuthError),
    /// The client learns of it.
    There { redirect_uri: String, state: Option<String>, code: &'static str, description: String },
}

/// Describes a request to the person, or carries out what they chose.
pub(super) async fn consent(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    headers: HeaderMap,
    Json(request): Json<ConsentRequest>,
) -> Result<JsonBody<Value>, OAuthError> {
    check_person(&who)?;
    let issuer = own_origin(&headers);
    let asked = match asked(&gateway, &issuer, &request.query) {
        Ok(asked) => asked,
        Err(Refused::Here(error)) => return Err(error),
        Err(Refused::There { redirect_uri, state, code, description }) => {
            let answer = [("error", code), ("error_description", &description)];
            return Ok(sent_to(&redirect_uri, &answer, state.as_deref(), &issuer));
        }
    };
    match request.allow {
        None => Ok(JsonBody(json!({
            "client_name": asked.client.name,
            "redirect_to_host": redirect::recognisable(&asked.redirect_uri),
            "owner": who.owner,
            "scopes": asked.scopes,
        }))),
        Some(false) => {
            let answer = [("error", "access_denied"), ("error_description", "the person declined")];
            Ok(sent_to(&asked.redirect_uri, &answer, asked.state.as_deref(), &issuer))
        }
        Some(true) => {
            let code = grant(&gateway, &who, &asked).await?;
            Ok(sent_to(&asked.redirect_uri, &[("code", &code)], asked.state.as_deref(), &issuer))
        }
    }
}

/// A credential with limits cannot give a client rights that last longer or go further.
fn check_person(who: &Identity) -> Result<(), ApiError> {
    authorise(who, Need::Write)?;
    let Bounds { sessions, scopes, link, expires_at_ms, .. } = &who.bounds;
    if sessions.is_some() || scopes.is_some() || link.is_some() || expires_at_ms.is_some() {
        return Err(ApiError::forbidden(
            "this sign-in is restricted, and cannot connect a program",
            "sign in with a password, or with a token without restrictions that does not expire",
        ));
    }
    Ok(())
}

fn asked(gateway: &Gateway, issuer: &str, query: &str) -> Result<Asked, Refused> {
    let form = Form::parse(query.trim_start_matches('?').as_bytes()).map_err(Refused::Here)?;
    let client_id = form.need("client_id").map_err(Refused::Here)?.to_owned();
    let client = Client::by_id(gateway, &client_id).map_err(Refused::Here)?;
    let redirect_uri = match (form.get("redirect_uri"), client.redirect_uris.as_slice()) {
        (Some(asked), registered) if redirect::is_registered(asked, registered) => asked.to_owned(),
        (None, [only]) => only.clone(),
        _ => {
            let description = "`redirect_uri` is not one that the program registered";
            return Err(Refused::Here(OAuthError::invalid_request(description)));
        }
    };
    let state = form.get("state").map(str::to_owned);
    let refuse = |code, description: &str| Refused::There {
        redirect_uri: redirect_uri.clone(),
        state: state.clone(),
        code,
        description: description.to_owned(),
    };
    if form.get("response_type") != Some("code") {
        return Err(refuse("unsupported_response_type", "the only response type is `code`"));
    }
    let challenge = form.get("code_challenge").unwrap_or_default().to_owned();
    if form.get("code_challenge_method") != Some("S256") || !is_challenge(&challenge) {
        return Err(refuse("invalid_request", "PKCE with S256 is needed"));
    }
    if form.get("resource").is_some_and(|resource| !is_resource(resource, issuer)) {
        return Err(refuse("invalid_target", "`resource` is not one of this server"));
    }
    let Some(scopes) = scopes(form.get("scope")) else {
        return Err(refuse("invalid_scope", "none of these scopes can be given to a program"));
    };
    Ok(Asked { client_id, client, redirect_uri, challenge, scopes, state })
}

fn is_challenge(text: &str) -> bool {
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    text.len() == CHALLENGE_LENGTH && text.bytes().all(is_base64)
}

/// Whether this is the address of the resource, or of the server.
pub(super) fn is_resource(asked: &str, issuer: &str) -> bool {
    let asked = asked.trim_end_matches('/');
    asked.strip_prefix(issuer).is_some_and(|rest| rest.is_empty() || rest == RESOURCE)
}

/// Stores what the person allowed. Returns the code.
async fn grant(gateway: &Gateway, who: &Identity, asked: &Asked) -> Result<String, OAuthError> {
    let (code, now) = (secret(CODE_PREFIX), now_ms());
    let row = GrantRow {
        id: format!("grn_{}", random_hex()),
        owner: who.owner.clone(),
        // A program never manages the server.
        role: who.role.at_most(Role::Member),
        client_id_hash: hash(&asked.client_id),
        client_name: asked.client.name.clone(),
        scopes: asked.scopes.clone(),
        redirect_uri: asked.redirect_uri.clone(),
        challenge: asked.challenge.clone(),
        code_hash: hash(&code),
        code_expires_at_ms: now.saturating_add(CODE_LIFETIME_MS),
        token_id: None,
        refresh_hash: None,
        used_refresh_hash: None,
        created_at_ms: now,
        expires_at_ms: now.saturating_add(CODE_LIFETIME_MS),
    };
    gateway.store.put_grant(&row, MAX_GRANTS).await?;
    let detail = format!("{}: {}", asked.client.name, asked.scopes.join(" "));
    gateway.audit.record(who, "oauth.allow", row.id, detail);
    Ok(code)
}

/// Where the page goes next.
fn sent_to(
    redirect_uri: &str,
    answer: &[(&str, &str)],
    state: Option<&str>,
    issuer: &str,
) -> JsonBody<Value> {
    let mut parameters = answer.to_vec();
    parameters.extend(state.map(|state| ("state", state)));
    // The client checks that the answer is of the server that it asked (RFC 9207).
    parameters.push(("iss", issuer));
    JsonBody(json!({"redirect_to": redirect::with_parameters(redirect_uri, &parameters)}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resource_is_this_server_and_no_other() {
        let issuer = "https://headwater.example";
        for good in
            ["https://headwater.example/mcp", "https://headwater.example", "https://headwater.example/mcp/"]
        {
            assert!(is_resource(good, issuer), "{good}");
        }
        for bad in [
            "https://headwater.example.evil/mcp",
            "https://headwater.example/mcp/other",
            "https://headwater.example/v1",
            "http://headwater.example/mcp",
            "https://headwater.example@evil/mcp",
        ] {
            assert!(!is_resource(bad, issuer), "{bad}");
        }
        assert!(is_challenge(&"a".repeat(43)));
        assert!(!is_challenge(&"a".repeat(42)) && !is_challenge(&"=".repeat(43)) && !is_challenge(""));
    }
}
