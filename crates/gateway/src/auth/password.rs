//! Passwords: argon2id with the parameters that OWASP names (19 MiB, 2 passes, 1 lane).
//!
//! Verifying one takes memory and time on purpose, so only a few are verified at once, away from the threads that serve,
//! and only so many wait. A name that nobody has takes as long as one that somebody has.

use std::sync::OnceLock;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use tokio::sync::Semaphore;

use crate::error::ApiError;

/// Verified at once.
const AT_ONCE: usize = 2;
/// Waiting and verified.
const WAITING: usize = 64;
/// Fewer characters are guessed.
const MIN_CHARS: usize = 8;
/// More bytes are no password.
const MAX_BYTES: usize = 1024;

/// Why a password is not taken.
#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    /// Too short or too long.
    #[error("a password has at least {MIN_CHARS} characters and at most {MAX_BYTES} bytes")]
    Length,
    /// It cannot be hashed.
    #[error("the password cannot be hashed: {0}")]
    Hash(String),
}

fn hasher() -> Argon2<'static> {
    Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::DEFAULT)
}

/// Whether this can be a password.
pub fn check_password(password: &str) -> Result<(), PasswordError> {
    if password.chars().count() < MIN_CHARS || password.len() > MAX_BYTES {
        return Err(PasswordError::Length);
    }
    Ok(())
}

/// What is stored of a password. Takes a while.
pub fn hash_password(password: &str) -> Result<String, PasswordError> {
    check_password(password)?;
    hasher()
        .hash_password(password.as_bytes())
        .map(|hash| hash.to_string())
        .map_err(|error| PasswordError::Hash(error.to_string()))
}

fn matches(password: &str, stored: &str) -> bool {
    let Ok(parsed) = PasswordHash::new(stored) else {
        return false;
    };
    hasher().verify_password(password.as_bytes(), &parsed).is_ok()
}

/// What is verified when there is nothing to verify.
fn nobodys() -> &'static str {
    static HASH: OnceLock<String> = OnceLock::new();
    HASH.get_or_init(|| hash_password("nobody has this password").unwrap_or_default())
}

/// The few that are verified at once.
#[derive(Debug)]
pub(crate) struct Passwords {
    room: Semaphore,
    turns: Semaphore,
}

impl Default for Passwords {
    fn default() -> Self {
        Self { room: Semaphore::new(WAITING), turns: Semaphore::new(AT_ONCE) }
    }
}

impl Passwords {
    /// Whether this is the password of that hash. Without a hash it is not, which takes as long.
    pub(crate) async fn verify(&self, password: String, stored: Option<String>) -> Result<bool, ApiError> {
        self.work(move || {
            let against = stored.as_deref();
            let is_right = matches(&password, against.unwrap_or_else(|| nobodys()));
            is_right && against.is_some()
        })
        .await
    }

    /// What is stored of a password.
    pub(crate) async fn hash(&self, password: String) -> Result<String, ApiError> {
        let hashed = self.work(move || hash_password(&password)).await?;
        hashed.map_err(|error| match error {
            PasswordError::Length => ApiError::invalid(error.to_string()).hint("choose another password"),
            PasswordError::Hash(_) => ApiError::internal(&error),
        })
    }

    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let busy = || ApiError::unavailable("too many sign in at once", "try again in a moment");
        let _place = self.room.try_acquire().map_err(|_| busy())?;
        let _turn = self.turns.acquire().await.map_err(|_| busy())?;
        tokio::task::spawn_blocking(work).await.map_err(|error| ApiError::internal(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_is_known_by_its_hash_and_by_nothing_else() {
        let passwords = Passwords::default();
        let stored = passwords.hash("correct horse".into()).await.unwrap();
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
        assert!(passwords.verify("correct horse".into(), Some(stored.clone())).await.unwrap());
        assert!(!passwords.verify("correct horsf".into(), Some(stored.clone())).await.unwrap());
        assert!(!passwords.verify("correct horse".into(), Some("nonsense".into())).await.unwrap());
        assert!(!passwords.verify("nobody has this password".into(), None).await.unwrap());
        assert_ne!(stored, passwords.hash("correct horse".into()).await.unwrap(), "each has its own salt");
        for bad in ["short", "", &"x".repeat(1025)] {
            assert_eq!(passwords.hash(bad.into()).await.unwrap_err().status, 400);
        }
    }
}
