//! JWTs as an attacker would make them.

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::Value;

/// The header and the claims of a JWT, whatever its signature.
pub(crate) fn open(token: &str) -> Result<(Value, Value)> {
    let mut parts = token.split('.');
    let mut part = || -> Result<Value> {
        let bytes = URL_SAFE_NO_PAD.decode(parts.next().context("a part is missing")?)?;
        Ok(serde_json::from_slice(&bytes)?)
    };
    Ok((part()?, part()?))
}

/// A JWT of these claims, really signed.
pub(crate) fn signed(
    algorithm: Algorithm,
    kid: Option<&str>,
    claims: &Value,
    key: &EncodingKey,
) -> Result<String> {
    let header = Header { kid: kid.map(str::to_owned), ..Header::new(algorithm) };
    Ok(encode(&header, claims, key)?)
}

/// A JWT of this header and these claims with any bytes for a signature.
pub(crate) fn unsigned(header: &Value, claims: &Value, signature: &str) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.{signature}", part(header), part(claims))
}

pub(crate) fn now() -> Result<u64> {
    Ok(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs())
}
