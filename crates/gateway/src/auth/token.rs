//! Tokens: 256 random bits with a visible prefix. Only their hash is stored.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use headwater_store::{Role, Store, StoreError, TokenRow};
use sha2::{Digest, Sha256};

use crate::now_ms;

/// The prefix of tokens, for people and for scanners of leaked secrets.
pub(crate) const PREFIX: &str = "hw_";
/// The prefix of links to sessions.
pub(crate) const LINK_PREFIX: &str = "hws_";
/// The owner of the first token.
pub(crate) const FIRST_OWNER: &str = "admin";

/// A token that was just created. Its secret is known only now.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// The row for the store, with the hash of the secret.
    pub row: TokenRow,
    /// The text that the client sends.
    pub secret: String,
}

/// Creates a token; the caller stores its row.
#[must_use]
pub fn make_token(name: &str, owner: &str, role: Role, expires_at_ms: Option<u64>) -> NewToken {
    let secret = secret(PREFIX);
    let row = TokenRow {
        id: format!("tok_{}", random_hex()),
        name: name.to_owned(),
        owner: owner.to_owned(),
        role,
        hash: hash(&secret),
        created_at_ms: now_ms(),
        expires_at_ms,
        revoked_at_ms: None,
        sessions: None,
        scopes: None,
        last_used_at_ms: None,
    };
    NewToken { row, secret }
}

/// A new secret with this prefix: 256 random bits.
pub(crate) fn secret(prefix: &str) -> String {
    format!("{prefix}{}{}", random_hex(), random_hex())
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // writing to a string does not fail
        text
    })
}

/// The bytes of 64 hexadecimal digits.
pub(super) fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (byte, two) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// 128 random bits as 32 hexadecimal digits.
pub(crate) fn random_hex() -> String {
    let id = headwater_protocol::SessionId::random();
    format!("{:032x}", id.bits())
}

/// The hash of a secret, for the store. A secret has 256 random bits and cannot be guessed, so a fast hash is enough.
pub(crate) fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// Creates the first token if no token exists: stores it and writes it to a file that only its owner can read.
/// Returns it if it was created now.
pub async fn first_token(store: &dyn Store, file: &Path) -> Result<Option<NewToken>, FirstTokenError> {
    if let Ok(text) = std::fs::read_to_string(file) {
        let row = store.token_by_hash(&hash(text.trim())).await?;
        if row.is_some() || !store.tokens().await?.is_empty() {
            return Ok(None);
        }
        // The store was lost and the file was not: clients keep using their token.
        let mut token = make_token("first", FIRST_OWNER, Role::Admin, None);
        (token.row.hash, token.secret) = (hash(text.trim()), text.trim().to_owned());
        if token.secret.starts_with(PREFIX) && token.secret.len() >= PREFIX.len() + 64 {
            store.put_token(&token.row).await?;
            return Ok(None);
        }
    } else if !store.tokens().await?.is_empty() {
        return Ok(None);
    }
    let token = make_token("first", FIRST_OWNER, Role::Admin, None);
    // The file first: a token that is only in the store would lock everybody out.
    write_secret(file, &token.secret)
        .map_err(|error| FirstTokenError::File(file.display().to_string(), error))?;
    store.put_token(&token.row).await?;
    Ok(Some(token))
}

/// Why the first token cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum FirstTokenError {
    /// The file cannot be written.
    #[error("cannot write the first token to `{0}`: {1}")]
    File(String, std::io::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Writes a secret to a file that only its owner can read, completely or not at all.
pub(super) fn write_secret(file: &Path, secret: &str) -> std::io::Result<()> {
    let beside = file.with_extension("new");
    let _ = std::fs::remove_file(&beside);
    let mut new = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    writeln!(new, "{secret}")?;
    new.sync_all()?;
    std::fs::rename(&beside, file)
}
