//! `[auth]`: how long sign-ins last, and the external issuer whose JWTs are accepted.

use std::path::PathBuf;
use std::time::Duration;

use headwater_protocol::units::{format_duration, parse_duration};
use serde::{Deserialize, Serialize};

/// How users sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthConfig {
    /// The lifetime of an access token.
    pub access_lifetime: Duration,
    /// The lifetime of a refresh token, from its last use.
    pub refresh_lifetime: Duration,
    /// How long a browser stays signed in.
    pub cookie_lifetime: Duration,
    /// An external issuer whose JWTs are accepted.
    pub jwt: Option<JwtConfig>,
}

/// An external issuer of JWTs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JwtConfig {
    /// The required value of `iss`.
    pub issuer: String,
    /// The required value of `aud`.
    pub audience: String,
    /// The source of the issuer's keys.
    pub keys: KeySource,
    /// The claim with the name of the owner.
    pub owner_claim: String,
    /// The claim with the role: `admin`, `member` or `reader`. Without it, everybody is a member.
    pub role_claim: Option<String>,
    /// The maximum age of the cached keys.
    pub refresh: Duration,
    /// The minimum interval between two fetches because of an unknown key.
    pub unknown_refresh: Duration,
}

/// The source of an issuer's keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// A URL: `https`, or `http` on this machine.
    Url(String),
    /// A file on this machine.
    File(PathBuf),
}

impl Default for AuthConfig {
    fn default() -> Self {
        Self {
            access_lifetime: Duration::from_mins(15),
            refresh_lifetime: Duration::from_hours(30 * 24),
            cookie_lifetime: Duration::from_hours(30 * 24),
            jwt: None,
        }
    }
}

/// `[auth]` in the form of the file.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FileAuth {
    access_lifetime: Option<String>,
    refresh_lifetime: Option<String>,
    cookie_lifetime: Option<String>,
    jwt: Option<FileJwt>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct FileJwt {
    issuer: Option<String>,
    audience: Option<String>,
    jwks_url: Option<String>,
    jwks_file: Option<PathBuf>,
    owner_claim: Option<String>,
    role_claim: Option<String>,
    jwks_refresh: Option<String>,
    jwks_unknown_refresh: Option<String>,
}

fn time(name: &str, text: Option<String>, now: Duration) -> Result<Duration, String> {
    match text.map(|text| parse_duration(&text)) {
        None => Ok(now),
        Some(Ok(time)) if time < Duration::from_secs(1) => {
            Err(format!("auth.{name}: must be at least a second"))
        }
        Some(other) => other.map_err(|error| format!("auth.{name}: {error}")),
    }
}

impl From<&AuthConfig> for FileAuth {
    fn from(config: &AuthConfig) -> Self {
        Self {
            access_lifetime: Some(format_duration(config.access_lifetime)),
            refresh_lifetime: Some(format_duration(config.refresh_lifetime)),
            cookie_lifetime: Some(format_duration(config.cookie_lifetime)),
            // The settings of the issuer are listed even if there is none, without values.
            jwt: Some(config.jwt.as_ref().map(FileJwt::from).unwrap_or_default()),
        }
    }
}

impl From<&JwtConfig> for FileJwt {
    fn from(config: &JwtConfig) -> Self {
        let (jwks_url, jwks_file) = match &config.keys {
            KeySource::Url(url) => (Some(url.clone()), None),
            KeySource::File(path) => (None, Some(path.clone())),
        };
        Self {
            issuer: Some(config.issuer.clone()),
            audience: Some(config.audience.clone()),
            jwks_url,
            jwks_file,
            owner_claim: Some(config.owner_claim.clone()),
            role_claim: config.role_claim.clone(),
            jwks_refresh: Some(format_duration(config.refresh)),
            jwks_unknown_refresh: Some(format_duration(config.unknown_refresh)),
        }
    }
}

impl FileAuth {
    pub(super) fn apply(self, config: &mut AuthConfig) -> Result<(), String> {
        config.access_lifetime = time("access_lifetime", self.access_lifetime, config.access_lifetime)?;
        config.refresh_lifetime = time("refresh_lifetime", self.refresh_lifetime, config.refresh_lifetime)?;
        config.cookie_lifetime = time("cookie_lifetime", self.cookie_lifetime, config.cookie_lifetime)?;
        config.jwt = self.jwt.map(FileJwt::read).transpose()?;
        Ok(())
    }
}

impl FileJwt {
    fn read(self) -> Result<JwtConfig, String> {
        let (issuer, audience) = (self.issuer.unwrap_or_default(), self.audience.unwrap_or_default());
        if issuer.is_empty() || audience.is_empty() {
            return Err("auth.jwt: `issuer` and `audience` are required".into());
        }
        let keys = match (self.jwks_url, self.jwks_file) {
            (Some(url), None) => KeySource::Url(checked(url)?),
            (None, Some(file)) => KeySource::File(file),
            _ => return Err("auth.jwt: set either `jwks_url` or `jwks_file`".into()),
        };
        Ok(JwtConfig {
            issuer,
            audience,
            keys,
            owner_claim: self.owner_claim.unwrap_or_else(|| "sub".into()),
            role_claim: self.role_claim,
            refresh: time("jwt.jwks_refresh", self.jwks_refresh, Duration::from_mins(5))?,
            unknown_refresh: time(
                "jwt.jwks_unknown_refresh",
                self.jwks_unknown_refresh,
                Duration::from_secs(10),
            )?,
        })
    }
}

/// Refuses URLs whose keys could be replaced on the way.
fn checked(url: String) -> Result<String, String> {
    let local = ["http://127.", "http://localhost:", "http://localhost/", "http://[::1]"];
    if url.starts_with("https://") || local.iter().any(|start| url.starts_with(start)) {
        return Ok(url);
    }
    Err("auth.jwt.jwks_url: must be `https://`, or `http://` on this machine".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<AuthConfig, String> {
        let file: FileAuth = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut config = AuthConfig::default();
        file.apply(&mut config).map(|()| config)
    }

    #[test]
    fn an_issuer_has_a_name_an_audience_and_one_place_for_its_keys() {
        let jwt = |more: &str| format!("[jwt]\nissuer = \"i\"\naudience = \"a\"\n{more}");
        let config = read(&jwt("jwks_url = \"https://x/keys\"")).unwrap().jwt.unwrap();
        assert_eq!((config.owner_claim.as_str(), config.role_claim), ("sub", None));
        assert!(read(&jwt("jwks_file = \"/keys\"\njwks_refresh = \"2s\"")).is_ok());
        assert!(read(&jwt("jwks_url = \"http://127.0.0.1:1/keys\"")).is_ok());
        for bad in [
            jwt(""),
            jwt("jwks_url = \"https://x\"\njwks_file = \"/k\""),
            jwt("jwks_url = \"http://example.org/keys\""),
            jwt("jwks_file = \"/k\"\njwks_refresh = \"0s\""),
            jwt("jwks = 1"),
            "[jwt]\njwks_file = \"/k\"".into(),
            "access_lifetime = \"soon\"".into(),
        ] {
            assert!(read(&bad).is_err(), "{bad}");
        }
    }
}
