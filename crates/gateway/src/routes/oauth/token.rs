//! Codes and refresh tokens become API tokens; both can be revoked.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use headwater_store::{GrantRenewal, GrantRow};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::client::Client;
use super::consent::is_resource;
use super::error::OAuthError;
use super::form::Form;
use crate::auth::{NewToken, hash, make_token, own_origin, secret};
use crate::now_ms;
use crate::state::Gateway;

/// Marks a refresh token.
const REFRESH_PREFIX: &str = "hwor_";
/// How long a token is valid, in seconds. A leaked one is of use for at most that long.
const TOKEN_LIFETIME_S: u64 = 3600;
/// How long a client can be away before the person must consent again, in milliseconds: 90 days.
const GRANT_LIFETIME_MS: u64 = 90 * 24 * 3600 * 1000;
/// The bounds of a PKCE verifier, in bytes (RFC 7636, 4.1).
const VERIFIER_BYTES: std::ops::RangeInclusive<usize> = 43..=128;

/// `POST /oauth/token`.
pub(super) async fn token(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, OAuthError> {
    gateway.rates.count_address(address.ip())?;
    let form = form(&headers, &body)?;
    if form.get("resource").is_some_and(|resource| !is_resource(resource, &own_origin(&headers))) {
        return Err(OAuthError::new("invalid_target", "`resource` is not one of this server"));
    }
    let client_id = form.need("client_id")?;
    Client::by_id(&gateway, client_id)?;
    let work = match form.need("grant_type")? {
        "authorization_code" => by_code(&gateway, &form, client_id).await,
        "refresh_token" => by_refresh(&gateway, &form, client_id).await,
        _ => {
            let description = "the grant types are `authorization_code` and `refresh_token`";
            return Err(OAuthError::new("unsupported_grant_type", description));
        }
    };
    if work.is_err() {
        gateway.rates.count_failure(address.ip())?;
    }
    work
}

/// The parameters of a form.
fn form(headers: &HeaderMap, body: &[u8]) -> Result<Form, OAuthError> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.to_ascii_lowercase().starts_with("application/x-www-form-urlencoded") {
        return Err(OAuthError::invalid_request("send `application/x-www-form-urlencoded`"));
    }
    Form::parse(body)
}

async fn by_code(gateway: &Gateway, form: &Form, client_id: &str) -> Result<Response, OAuthError> {
    let code = form.need("code")?;
    let grant = gateway.store.grant_by_code(&hash(code)).await?.ok_or_else(OAuthError::invalid_grant)?;
    let verifier = form.need("code_verifier")?;
    let is_redirect = form.get("redirect_uri").is_none_or(|address| address == grant.redirect_uri);
    if grant.client_id_hash != hash(client_id) || !is_redirect || !proves(verifier, &grant.challenge) {
        return Err(OAuthError::invalid_grant());
    }
    let (refresh, now) = (secret(REFRESH_PREFIX), now_ms());
    let made = new_token(&grant, now);
    if !gateway.store.redeem_grant(&grant.id, &made.row.id, &renewal(&refresh, now)).await? {
        // A code that comes twice was read by somebody else: what it gave is taken back.
        end(gateway, &grant.id, grant.token_id.as_deref()).await?;
        return Err(OAuthError::invalid_grant());
    }
    gateway.store.put_token(&made.row).await?;
    Ok(given(&made.secret, &refresh, &grant.scopes))
}

async fn by_refresh(gateway: &Gateway, form: &Form, client_id: &str) -> Result<Response, OAuthError> {
    let used = hash(form.need("refresh_token")?);
    let grant = gateway.store.grant_by_refresh(&used).await?.ok_or_else(OAuthError::invalid_grant)?;
    let Some(token_id) = grant.token_id.clone().filter(|_| grant.client_id_hash == hash(client_id)) else {
        return Err(OAuthError::invalid_grant());
    };
    let (refresh, now) = (secret(REFRESH_PREFIX), now_ms());
    if !gateway.store.renew_grant(&grant.id, &used, &renewal(&refresh, now)).await? {
        // A refresh token that comes twice was stolen, by the first or by the second user.
        end(gateway, &grant.id, Some(&token_id)).await?;
        return Err(OAuthError::invalid_grant());
    }
    let mut made = new_token(&grant, now);
    made.row.id = token_id;
    let expires_at_ms = made.row.expires_at_ms.unwrap_or(now);
    if !gateway.store.renew_token(&made.row.id, &made.row.hash, expires_at_ms).await? {
        // Rows of tokens that expired long ago are removed. A revoked one has no grant.
        gateway.store.put_token(&made.row).await?;
    }
    gateway.auth.identities.clear(); // the secret before is not valid any more
    Ok(given(&made.secret, &refresh, &grant.scopes))
}

/// Whether a verifier belongs to a challenge.
fn proves(verifier: &str, challenge: &str) -> bool {
    VERIFIER_BYTES.contains(&verifier.len())
        && URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes())) == challenge
}

fn new_token(grant: &GrantRow, now: u64) -> NewToken {
    let expires_at_ms = now.saturating_add(TOKEN_LIFETIME_S * 1000);
    let mut made = make_token(&grant.client_name, &grant.owner, grant.role, Some(expires_at_ms));
    made.row.scopes = Some(grant.scopes.clone());
    made
}

fn renewal(refresh: &str, now: u64) -> GrantRenewal {
    GrantRenewal {
        refresh_hash: hash(refresh),
        at_ms: now,
        expires_at_ms: now.saturating_add(GRANT_LIFETIME_MS),
    }
}

fn given(token: &str, refresh: &str, scopes: &[String]) -> Response {
    let body = json!({
        "access_token": token,
        "token_type": "Bearer",
        "expires_in": TOKEN_LIFETIME_S,
        "refresh_token": refresh,
        "scope": scopes.join(" "),
    });
    ([(header::CACHE_CONTROL, "no-store")], Json(body)).into_response()
}

/// Ends a grant and its token.
async fn end(gateway: &Gateway, grant: &str, token_id: Option<&str>) -> Result<(), OAuthError> {
    tracing::warn!(grant, "a code or refresh token of OAuth was used twice; its grant is ended");
    gateway.store.remove_grant(grant).await?;
    if let Some(token_id) = token_id {
        gateway.store.revoke_token(token_id, now_ms()).await?;
    }
    gateway.auth.identities.clear();
    Ok(())
}

/// `POST /oauth/revoke` (RFC 7009). The response is the same whether the token exists or not.
pub(super) async fn revoke(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, OAuthError> {
    gateway.rates.count_address(address.ip())?;
    let form = form(&headers, &body)?;
    let token = form.need("token")?;
    let found = if token.starts_with(REFRESH_PREFIX) {
        gateway.store.grant_by_refresh(&hash(token)).await?.and_then(|grant| grant.token_id)
    } else {
        gateway.store.token_by_hash(&hash(token)).await?.map(|row| row.id)
    };
    match found {
        Some(id) => {
            gateway.store.revoke_token(&id, now_ms()).await?;
            gateway.auth.identities.clear();
        }
        None => count_miss(&gateway, address.ip())?,
    }
    Ok(StatusCode::OK)
}

fn count_miss(gateway: &Gateway, address: IpAddr) -> Result<(), OAuthError> {
    Ok(gateway.rates.count_failure(address)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_proves_its_challenge_only() {
        // The example of RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert!(proves(verifier, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"));
        assert!(!proves(verifier, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cN"));
        assert!(!proves("short", &URL_SAFE_NO_PAD.encode(Sha256::digest(b"short"))));
    }
}
