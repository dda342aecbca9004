//! JWTs of this server, which `POST /v1/login` issues, and of another issuer.
//!
//! Each key is for one algorithm, which the server decides and never the token: `none`, and a public key used as a
//! secret, are refused before any signature is checked. A JWT of this server names its sign-in and ends with it.

use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use headwater_store::UserRow;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::jwks::Keys;
use super::token::{hex, write_secret};
use super::{Credential, hash, random_hex};
use crate::config::AuthConfig;
use crate::error::ApiError;
use crate::now_ms;

/// `iss` and `aud` of the JWTs of this server.
const ISSUER: &str = "headwater";
/// `aud` of what is signed and is not a credential.
const SEALED: &str = "headwater-oauth-client";
/// How far the clock may jump between issue and check.
const LEEWAY_SECONDS: u64 = 5;
/// The longest JWT that is parsed.
const MAX_BYTES: usize = 8 << 10;

/// Why JWTs cannot be issued.
#[derive(Debug, thiserror::Error)]
pub enum JwtError {
    /// The file of the secret cannot be read or written.
    #[error("cannot use the secret of access tokens in `{0}`: {1}")]
    File(String, std::io::Error),
    /// The file does not contain a secret.
    #[error("`{0}` does not contain a secret: remove it, and all users sign in again")]
    Malformed(String),
}

/// The claims of a JWT of this server.
#[derive(Debug, Serialize, Deserialize)]
struct Claims {
    sub: String,
    iat: u64,
    exp: u64,
    aud: String,
    iss: String,
    jti: String,
    role: String,
    /// The id of the sign-in.
    sid: String,
}

/// Something that is signed and is not a credential.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Sealed<T> {
    aud: String,
    #[serde(flatten)]
    content: T,
}

/// The keys that JWTs are signed and verified with.
pub(crate) struct Jwts {
    kid: String,
    signing: EncodingKey,
    verifying: DecodingKey,
    foreign: Option<Keys>,
}

impl std::fmt::Debug for Jwts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Jwts").field("kid", &self.kid).finish_non_exhaustive()
    }
}

impl Jwts {
    /// Uses the secret in this file, which is created if it does not exist.
    pub(crate) fn new(file: &Path, config: &AuthConfig) -> Result<Self, JwtError> {
        let secret = secret(file)?;
        // Identifies the secret without revealing it.
        let kid = hash(&format!("headwater kid {secret}"));
        Ok(Self {
            kid: format!("hw-{}", hex(&kid[..8])),
            signing: EncodingKey::from_secret(secret.as_bytes()),
            verifying: DecodingKey::from_secret(secret.as_bytes()),
            foreign: config.jwt.clone().map(Keys::new),
        })
    }

    /// Issues an access token for a sign-in of a user.
    pub(crate) fn issue(
        &self,
        user: &UserRow,
        sign_in: &str,
        lifetime: Duration,
    ) -> Result<String, ApiError> {
        let now = now_ms() / 1000;
        let claims = Claims {
            sub: user.id.clone(),
            iat: now,
            exp: now + lifetime.as_secs(),
            aud: ISSUER.into(),
            iss: ISSUER.into(),
            jti: random_hex(),
            role: user.role.name().into(),
            sid: sign_in.to_owned(),
        };
        let header = Header { kid: Some(self.kid.clone()), ..Header::new(Algorithm::HS256) };
        encode(&header, &claims, &self.signing).map_err(|error| ApiError::internal(&error))
    }

    /// Signs what a client registered. It is not a credential: a JWT without this server's audience is refused as one.
    pub(crate) fn seal<T: Serialize>(&self, content: &T) -> Result<String, ApiError> {
        let header = Header { kid: Some(self.kid.clone()), ..Header::new(Algorithm::HS256) };
        let sealed = Sealed { aud: SEALED.to_owned(), content };
        encode(&header, &sealed, &self.signing).map_err(|error| ApiError::internal(&error))
    }

    /// The HMAC of a message that is neither a JWT nor a part of one.
    pub(crate) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, ApiError> {
        let text = jsonwebtoken::crypto::sign(message, &self.signing, Algorithm::HS256);
        let text = text.map_err(|error| ApiError::internal(&error))?;
        URL_SAFE_NO_PAD.decode(text).map_err(|error| ApiError::internal(&error))
    }

    /// What [`Self::seal`] signed.
    pub(crate) fn unseal<T: DeserializeOwned + Clone>(&self, text: &str) -> Option<T> {
        if text.len() > MAX_BYTES {
            return None;
        }
        let mut rules = Validation::new(Algorithm::HS256);
        rules.set_required_spec_claims(&["aud"]);
        rules.set_audience(&[SEALED]);
        rules.validate_exp = false;
        Some(decode::<Sealed<T>>(text, &self.verifying, &rules).ok()?.claims.content)
    }

    /// The credential of a JWT, if its signature and times are valid.
    pub(crate) async fn verify(&self, token: &str) -> Option<Credential> {
        if token.len() > MAX_BYTES {
            return None;
        }
        let header = decode_header(token).ok()?;
        // `crit` names extensions that must be understood (RFC 7515, 4.1.11); none are supported.
        if header.crit.is_some() {
            return None;
        }
        let kid = header.kid.as_deref()?;
        if kid == self.kid {
            return self.verify_own(token);
        }
        self.foreign.as_ref()?.verify(token, header.alg, kid).await
    }

    fn verify_own(&self, token: &str) -> Option<Credential> {
        let claims = decode::<Claims>(
            token,
            &self.verifying,
            &rules(Algorithm::HS256, ISSUER, ISSUER, LEEWAY_SECONDS),
        )
        .ok()?;
        let Claims { sid, exp, .. } = claims.claims;
        Some(Credential::SignIn { id: sid, expires_at_ms: (exp + LEEWAY_SECONDS).saturating_mul(1000) })
    }
}

/// What every JWT must contain.
pub(super) fn rules(algorithm: Algorithm, issuer: &str, audience: &str, leeway: u64) -> Validation {
    let mut rules = Validation::new(algorithm);
    rules.set_required_spec_claims(&["exp", "aud", "iss", "sub"]);
    rules.set_issuer(&[issuer]);
    rules.set_audience(&[audience]);
    rules.validate_nbf = true;
    rules.leeway = leeway;
    rules
}

/// The secret in the file: at least 256 bits, as hexadecimal digits.
fn secret(file: &Path) -> Result<String, JwtError> {
    let name = || file.display().to_string();
    match std::fs::read_to_string(file) {
        Ok(text) => {
            let text = text.trim();
            let plain = text.len() >= 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            plain.then(|| text.to_owned()).ok_or_else(|| JwtError::Malformed(name()))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let secret = format!("{}{}", random_hex(), random_hex());
            write_secret(file, &secret).map_err(|error| JwtError::File(name(), error))?;
            Ok(secret)
        }
        Err(error) => Err(JwtError::File(name(), error)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use headwater_store::Role;

    use super::*;

    fn user() -> UserRow {
        UserRow {
            id: "usr_1".into(),
            name: "ann".into(),
            password: None,
            role: Role::Member,
            disabled: false,
            created_at_ms: 0,
        }
    }

    #[tokio::test]
    async fn a_token_of_ours_names_its_sign_in_and_outlives_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("jwt.key");
        let jwts = Jwts::new(&file, &AuthConfig::default()).unwrap();
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let token = jwts.issue(&user(), "sgn_1", Duration::from_mins(1)).unwrap();
        let again = Jwts::new(&file, &AuthConfig::default()).unwrap();
        let Some(Credential::SignIn { id, .. }) = again.verify(&token).await else { panic!("refused") };
        assert_eq!(id, "sgn_1");
        let other = Jwts::new(&folder.path().join("other.key"), &AuthConfig::default()).unwrap();
        assert_eq!(other.verify(&token).await, None);
        std::fs::write(&file, "short").unwrap();
        assert!(matches!(Jwts::new(&file, &AuthConfig::default()), Err(JwtError::Malformed(_))));
    }

    #[tokio::test]
    async fn whatever_is_changed_in_a_token_makes_it_worthless() {
        let folder = tempfile::tempdir().unwrap();
        let jwts = Jwts::new(&folder.path().join("jwt.key"), &AuthConfig::default()).unwrap();
        let token = jwts.issue(&user(), "sgn_1", Duration::from_mins(1)).unwrap();
        let mut refused = 0;
        for at in 0..token.len() {
            let mut changed = token.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            // The last character of the signature has unused bits.
            if jwts.verify(&changed).await.is_none() || at == token.len() - 1 {
                refused += 1;
            }
        }
        assert_eq!(refused, token.len());
        assert_eq!(jwts.verify(&"a.".repeat(MAX_BYTES)).await, None);
    }
}
