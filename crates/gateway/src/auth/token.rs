//! Tokens: 256 random bits with a visible prefix. Only their hash is stored.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use headwater_store::{Role, Store, StoreError, TokenRow};
use sha2::{Digest, Sha256};

use crate::now_ms;

/// What makes a token recognisable, to people and to scanners for leaked secrets.
const PREFIX: &str = "hw_";
/// The same for links to sessions.
pub(crate) const LINK_PREFIX: &str = "hws_";
/// Whose the first token is.
pub(crate) const FIRST_OWNER: &str = "admin";

/// A token that was just made: the only moment in which its secret is known.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// What is stored of it.
    pub row: TokenRow,
    /// What the client sends.
    pub secret: String,
}

/// Makes a token; the caller stores its row.
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

/// A new secret.
pub(crate) fn secret(prefix: &str) -> String {
    format!("{prefix}{}{}", random_hex(), random_hex())
}

/// Bytes as digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // a string takes all that is written to it
        text
    })
}

/// The bytes of such digits, if there are 32.
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

/// 128 random bits as 32 digits.
pub(crate) fn random_hex() -> String {
    let id = headwater_protocol::SessionId::random();
    format!("{:032x}", id.bits())
}

/// What is stored of a secret. It has 256 random bits: there is nothing to guess, so nothing slow is needed.
pub(crate) fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// Makes the first token, if there is none yet: stores it and writes it to a file that only its owner can read.
/// Answers with it if it was made now.
pub async fn first_token(store: &dyn Store, file: &Path) -> Result<Option<NewToken>, FirstTokenError> {
    if let Ok(text) = std::fs::read_to_string(file) {
        let row = store.token_by_hash(&hash(text.trim())).await?;
        if row.is_some() || !store.tokens().await?.is_empty() {
            return Ok(None);
        }
        // The store was lost and the token was not: clients go on with the one that they have.
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
    // The file first: a token that is stored and was never told to anybody would lock everybody out.
    write(file, &token.secret).map_err(|error| FirstTokenError::File(file.display().to_string(), error))?;
    store.put_token(&token.row).await?;
    Ok(Some(token))
}

/// Why there is no first token.
#[derive(Debug, thiserror::Error)]
pub enum FirstTokenError {
    /// The file cannot be written.
    #[error("cannot write the first token to `{0}`: {1}")]
    File(String, std::io::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn write(file: &Path, secret: &str) -> std::io::Result<()> {
    let beside = file.with_extension("new");
    let _ = std::fs::remove_file(&beside);
    let mut made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    writeln!(made, "{secret}")?;
    made.sync_all()?;
    std::fs::rename(&beside, file)
}
