//! The keys of another issuer: RS256 and ES256, from an address or a file.
//!
//! They are fetched when they are needed and cached. They are fetched again when they are old, or when a token names an
//! unknown key: then at most every few seconds. If they cannot be fetched, the cached keys stay in use.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use headwater_store::Role;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, decode};
use serde_json::{Map, Value};

use super::jwt::rules;
use super::{Credential, Foreign, hash};
use crate::config::{JwtConfig, KeySource};

/// How far the clock of the issuer may be off.
const LEEWAY_SECONDS: u64 = 30;
/// How long a fetch of the keys may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
/// The largest response with keys.
const MAX_BYTES: usize = 1 << 20;
/// The largest number of cached keys.
const MAX_KEYS: usize = 100;
/// The base64url length of a modulus of 2048 bits; shorter keys are insecure.
const MIN_MODULUS_CHARS: usize = 342;

type KeysById = HashMap<String, (Algorithm, DecodingKey)>;

#[derive(Default)]
struct CachedKeys {
    keys: Arc<KeysById>,
    /// The last successful fetch.
    fetched_at: Option<Instant>,
    /// The last attempt to fetch.
    asked_at: Option<Instant>,
}

/// The keys of an issuer.
pub(super) struct Keys {
    config: JwtConfig,
    cached: Mutex<CachedKeys>,
    /// Held during a fetch.
    fetching: tokio::sync::Mutex<()>,
}

impl Keys {
    pub(super) fn new(config: JwtConfig) -> Self {
        Self { config, cached: Mutex::default(), fetching: tokio::sync::Mutex::default() }
    }

    /// The credential of a JWT, if its signature, audience and times are valid.
    pub(super) async fn verify(&self, token: &str, algorithm: Algorithm, kid: &str) -> Option<Credential> {
        let keys = self.keys(kid).await;
        let (pinned, key) = keys.get(kid)?;
        if *pinned != algorithm {
            return None;
        }
        let rules = rules(*pinned, &self.config.issuer, &self.config.audience, LEEWAY_SECONDS);
        let claims = decode::<Map<String, Value>>(token, key, &rules).ok()?.claims;
        let exp = claims.get("exp").and_then(seconds)?;
        let foreign = Foreign {
            hash: hash(token),
            owner: owner(&claims, &self.config.owner_claim)?,
            role: role(&claims, self.config.role_claim.as_deref())?,
            expires_at_ms: exp.saturating_add(LEEWAY_SECONDS).saturating_mul(1000),
        };
        Some(Credential::Foreign(Arc::new(foreign)))
    }

    /// The keys, fetched again if they are old or if `kid` is unknown.
    async fn keys(&self, kid: &str) -> Arc<KeysById> {
        let (keys, is_due) = self.cached(kid);
        if !is_due {
            return keys;
        }
        let _fetching = if keys.contains_key(kid) {
            // Old keys are used while another request fetches new ones.
            let Ok(fetching) = self.fetching.try_lock() else { return keys };
            fetching
        } else {
            self.fetching.lock().await
        };
        let (keys, is_due) = self.cached(kid);
        if !is_due {
            return keys; // another request has fetched them
        }
        self.cached.lock().unwrap_or_else(PoisonError::into_inner).asked_at = Some(Instant::now());
        match self.fetch().await {
            Ok(found) => {
                let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
                (cached.keys, cached.fetched_at) = (Arc::new(found), Some(Instant::now()));
                Arc::clone(&cached.keys)
            }
            Err(cause) => {
                tracing::warn!(%cause, "cannot fetch the keys of `[auth.jwt]`");
                keys
            }
        }
    }

    fn cached(&self, kid: &str) -> (Arc<KeysById>, bool) {
        let cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = |at: Option<Instant>, time| at.is_none_or(|at| at.elapsed() >= time);
        let is_wanted = passed(cached.fetched_at, self.config.refresh) || !cached.keys.contains_key(kid);
        (Arc::clone(&cached.keys), is_wanted && passed(cached.asked_at, self.config.unknown_refresh))
    }

    async fn fetch(&self) -> Result<KeysById, String> {
        let text = match &self.config.keys {
            KeySource::File(path) => tokio::fs::read(path).await.map_err(|error| error.to_string())?,
            KeySource::Url(url) => {
                tokio::time::timeout(FETCH_TIMEOUT, get(url)).await.map_err(|_| "timed out".to_owned())??
            }
        };
        if text.len() > MAX_BYTES {
            return Err("the response is larger than 1 MiB".into());
        }
        let set: JwkSet = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
        Ok(set.keys.iter().filter_map(usable).take(MAX_KEYS).collect())
    }
}

async fn get(url: &str) -> Result<Vec<u8>, String> {
    // Fails if a provider is installed already; that one is used then.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    if url.starts_with("http:") {
        builder = builder.no_proxy().tls_certs_only([]);
    }
    let client = builder.build().map_err(|error| error.to_string())?;
    let mut response = client.get(url).send().await.map_err(|error| error.to_string())?;
    if !response.status().is_success() {
        return Err(format!("the response is {}", response.status()));
    }
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await.map_err(|error| error.to_string())? {
        body.extend_from_slice(&part);
        if body.len() > MAX_BYTES {
            break;
        }
    }
    Ok(body)
}

/// A signing key with its one algorithm, by its id.
fn usable(jwk: &Jwk) -> Option<(String, (Algorithm, DecodingKey))> {
    let kid = jwk.common.key_id.clone()?;
    if jwk.common.public_key_use.as_ref().is_some_and(|purpose| *purpose != PublicKeyUse::Signature) {
        return None;
    }
    let (algorithm, named) = match &jwk.algorithm {
        AlgorithmParameters::RSA(rsa) if rsa.n.len() >= MIN_MODULUS_CHARS => {
            (Algorithm::RS256, KeyAlgorithm::RS256)
        }
        AlgorithmParameters::EllipticCurve(curve) if curve.curve == EllipticCurve::P256 => {
            (Algorithm::ES256, KeyAlgorithm::ES256)
        }
        _ => return None,
    };
    if jwk.common.key_algorithm.is_some_and(|algorithm| algorithm != named) {
        return None;
    }
    Some((kid, (algorithm, DecodingKey::from_jwk(jwk).ok()?)))
}

/// A time in seconds, whole or with a fraction.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // bounded before
fn seconds(value: &Value) -> Option<u64> {
    let fraction =
        |value: &Value| value.as_f64().filter(|time| (0.0..1e15).contains(time)).map(|time| time as u64);
    value.as_u64().or_else(|| fraction(value))
}

fn owner(claims: &Map<String, Value>, claim: &str) -> Option<String> {
    let owner = claims.get(claim)?.as_str()?;
    let fits = !owner.is_empty() && owner.len() <= 255 && !owner.chars().any(char::is_control);
    // The names of links begin with `link:`.
    (fits && !owner.starts_with("link:")).then(|| owner.to_owned())
}

/// The highest role in the claim; a claim without a role is refused.
fn role(claims: &Map<String, Value>, claim: Option<&str>) -> Option<Role> {
    let Some(claim) = claim else {
        return Some(Role::Member);
    };
    let roles = claims.get(claim)?;
    let has = |name: &str| match roles {
        Value::String(text) => text.split_whitespace().any(|word| word == name),
        Value::Array(list) => list.iter().any(|item| item.as_str() == Some(name)),
        _ => false,
    };
    Role::ALL.into_iter().find(|role| has(role.name()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_keys_that_sign_with_a_known_algorithm_are_kept() {
        let modulus = "A".repeat(MIN_MODULUS_CHARS);
        let of = |value: Value| usable(&serde_json::from_value::<Jwk>(value).unwrap()).map(|key| key.1.0);
        let rsa = json!({"kty": "RSA", "kid": "1", "n": modulus, "e": "AQAB"});
        let with = |key: &str, value: &str| {
            let mut other = rsa.clone();
            other[key] = value.into();
            other
        };
        assert_eq!(of(rsa.clone()), Some(Algorithm::RS256));
        assert_eq!(of(with("alg", "RS256")), Some(Algorithm::RS256));
        assert_eq!(of(with("alg", "RS512")), None);
        assert_eq!(of(with("use", "enc")), None);
        assert_eq!(of(with("n", "AQAB")), None);
        assert_eq!(of(json!({"kty": "oct", "kid": "1", "k": "AAAA"})), None, "a secret is not a public key");
        assert_eq!(of(json!({"kty": "RSA", "n": modulus, "e": "AQAB"})), None, "a key without an id");
    }

    #[test]
    fn a_role_must_be_named_where_one_is_asked_for() {
        let claims = |value: Value| value.as_object().unwrap().clone();
        assert_eq!(role(&claims(json!({})), None), Some(Role::Member));
        assert_eq!(role(&claims(json!({})), Some("roles")), None);
        assert_eq!(role(&claims(json!({"roles": ["x", "reader"]})), Some("roles")), Some(Role::Reader));
        assert_eq!(role(&claims(json!({"roles": "reader admin"})), Some("roles")), Some(Role::Admin));
        assert_eq!(role(&claims(json!({"roles": "superadmin"})), Some("roles")), None);
        assert_eq!(owner(&claims(json!({"sub": "link:shr_1"})), "sub"), None);
        assert_eq!(owner(&claims(json!({"sub": "ann"})), "sub").as_deref(), Some("ann"));
        assert_eq!(owner(&claims(json!({"sub": ""})), "sub"), None);
    }
}
