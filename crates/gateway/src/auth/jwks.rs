//! The keys of another issuer: RS256 and ES256, from an address or a file.
//!
//! They are asked for when they are needed, kept, and asked for again when they are old, or when a token names a key that
//! is not among them: then at most every few seconds, whoever asks. Keys that cannot be had leave those that are there.

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

/// How far another's clock may be off, in seconds.
const LEEWAY: u64 = 30;
/// How long an issuer may take to tell its keys.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most that it may tell.
const MAX_BYTES: usize = 1 << 20;
/// The most keys that are kept.
const MAX_KEYS: usize = 100;
/// A modulus of 2048 bits has so many characters; shorter ones are broken.
const MIN_MODULUS: usize = 342;

type Found = HashMap<String, (Algorithm, DecodingKey)>;

#[derive(Default)]
struct Held {
    keys: Arc<Found>,
    /// When they came.
    since: Option<Instant>,
    /// When they were asked for last.
    asked: Option<Instant>,
}

/// The keys of an issuer.
pub(super) struct Keys {
    config: JwtConfig,
    held: Mutex<Held>,
    /// One asks at a time.
    asking: tokio::sync::Mutex<()>,
}

impl Keys {
    pub(super) fn new(config: JwtConfig) -> Self {
        Self { config, held: Mutex::default(), asking: tokio::sync::Mutex::default() }
    }

    /// What a JWT says, if it is genuine, for us, and its time is now.
    pub(super) async fn verify(&self, token: &str, algorithm: Algorithm, kid: &str) -> Option<Credential> {
        let keys = self.keys(kid).await;
        let (pinned, key) = keys.get(kid)?;
        if *pinned != algorithm {
            return None;
        }
        let rules = rules(*pinned, &self.config.issuer, &self.config.audience, LEEWAY);
        let claims = decode::<Map<String, Value>>(token, key, &rules).ok()?.claims;
        let exp = claims.get("exp").and_then(seconds)?;
        let foreign = Foreign {
            hash: hash(token),
            owner: owner(&claims, &self.config.owner_claim)?,
            role: role(&claims, self.config.role_claim.as_deref())?,
            expires_at_ms: exp.saturating_add(LEEWAY).saturating_mul(1000),
        };
        Some(Credential::Foreign(Arc::new(foreign)))
    }

    /// The keys, asked for again if they are old or if this one is not among them.
    async fn keys(&self, kid: &str) -> Arc<Found> {
        let (keys, is_due) = self.look(kid);
        if !is_due {
            return keys;
        }
        let _turn = if keys.contains_key(kid) {
            // Old ones are good enough while another asks for new ones.
            let Ok(turn) = self.asking.try_lock() else { return keys };
            turn
        } else {
            self.asking.lock().await
        };
        let (keys, is_due) = self.look(kid);
        if !is_due {
            return keys; // another has asked
        }
        self.held.lock().unwrap_or_else(PoisonError::into_inner).asked = Some(Instant::now());
        match self.fetch().await {
            Ok(found) => {
                let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
                (held.keys, held.since) = (Arc::new(found), Some(Instant::now()));
                Arc::clone(&held.keys)
            }
            Err(cause) => {
                tracing::warn!(%cause, "the keys of `[auth.jwt]` cannot be had");
                keys
            }
        }
    }

    fn look(&self, kid: &str) -> (Arc<Found>, bool) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = |at: Option<Instant>, time| at.is_none_or(|at| at.elapsed() >= time);
        let is_wanted = passed(held.since, self.config.refresh) || !held.keys.contains_key(kid);
        (Arc::clone(&held.keys), is_wanted && passed(held.asked, self.config.unknown_refresh))
    }

    async fn fetch(&self) -> Result<Found, String> {
        let text = match &self.config.keys {
            KeySource::File(path) => tokio::fs::read(path).await.map_err(|error| error.to_string())?,
            KeySource::Url(url) => tokio::time::timeout(PATIENCE, get(url))
                .await
                .map_err(|_| "no answer in time".to_owned())??,
        };
        if text.len() > MAX_BYTES {
            return Err("more than a mebibyte".into());
        }
        let set: JwkSet = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
        Ok(set.keys.iter().filter_map(usable).take(MAX_KEYS).collect())
    }
}

async fn get(url: &str) -> Result<Vec<u8>, String> {
    // Refused if there is one already: then that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    if url.starts_with("http:") {
        builder = builder.no_proxy().tls_certs_only([]);
    }
    let client = builder.build().map_err(|error| error.to_string())?;
    let mut answer = client.get(url).send().await.map_err(|error| error.to_string())?;
    if !answer.status().is_success() {
        return Err(format!("the answer is {}", answer.status()));
    }
    let mut body = Vec::new();
    while let Some(part) = answer.chunk().await.map_err(|error| error.to_string())? {
        body.extend_from_slice(&part);
        if body.len() > MAX_BYTES {
            break;
        }
    }
    Ok(body)
}

/// A key that signs, with the one algorithm that it is for.
fn usable(jwk: &Jwk) -> Option<(String, (Algorithm, DecodingKey))> {
    let kid = jwk.common.key_id.clone()?;
    if jwk.common.public_key_use.as_ref().is_some_and(|purpose| *purpose != PublicKeyUse::Signature) {
        return None;
    }
    let (algorithm, named) = match &jwk.algorithm {
        AlgorithmParameters::RSA(rsa) if rsa.n.len() >= MIN_MODULUS => {
            (Algorithm::RS256, KeyAlgorithm::RS256)
        }
        AlgorithmParameters::EllipticCurve(curve) if curve.curve == EllipticCurve::P256 => {
            (Algorithm::ES256, KeyAlgorithm::ES256)
        }
        _ => return None,
    };
    if jwk.common.key_algorithm.is_some_and(|said| said != named) {
        return None;
    }
    Some((kid, (algorithm, DecodingKey::from_jwk(jwk).ok()?)))
}

/// A time, whole or with a fraction.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // bounded before
fn seconds(value: &Value) -> Option<u64> {
    let fraction =
        |value: &Value| value.as_f64().filter(|time| (0.0..1e15).contains(time)).map(|time| time as u64);
    value.as_u64().or_else(|| fraction(value))
}

fn owner(claims: &Map<String, Value>, claim: &str) -> Option<String> {
    let owner = claims.get(claim)?.as_str()?;
    let fits = !owner.is_empty() && owner.len() <= 255 && !owner.chars().any(char::is_control);
    // Links are called so.
    (fits && !owner.starts_with("link:")).then(|| owner.to_owned())
}

/// The mightiest role that the claim names; one that names none is refused.
fn role(claims: &Map<String, Value>, claim: Option<&str>) -> Option<Role> {
    let Some(claim) = claim else {
        return Some(Role::Member);
    };
    let said = claims.get(claim)?;
    let is_said = |name: &str| match said {
        Value::String(text) => text.split_whitespace().any(|word| word == name),
        Value::Array(list) => list.iter().any(|item| item.as_str() == Some(name)),
        _ => false,
    };
    Role::ALL.into_iter().find(|role| is_said(role.name()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_keys_that_sign_with_a_known_algorithm_are_kept() {
        let modulus = "A".repeat(MIN_MODULUS);
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
        assert_eq!(of(json!({"kty": "oct", "kid": "1", "k": "AAAA"})), None, "a secret is no public key");
        assert_eq!(of(json!({"kty": "RSA", "n": modulus, "e": "AQAB"})), None, "a key without a name");
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
