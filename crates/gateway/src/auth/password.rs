//! Passwords: argon2id with the parameters that OWASP names (19 MiB, 2 passes, 1 lane).
//!
//! Verifying one takes memory and time on purpose, so only a few are verified at once, away from the threads that serve,
//! one at a time for each address, and only so many wait. A name that nobody has takes as long as one that somebody has.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, OnceLock, PoisonError};

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use headwater_contract::KeyedLock;
use tokio::sync::{OwnedMutexGuard, Semaphore};

use crate::error::ApiError;

/// Verified at once.
const AT_ONCE: usize = 2;
/// Waiting and verified, in all and from one address. Waiting costs a connection, which is bounded too.
const WAITING: usize = 1024;
const WAITING_OF_ADDRESS: usize = 32;
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
    /// One at a time for each address, so that no address takes all turns.
    lines: KeyedLock<IpAddr>,
    /// How many stand in each line.
    waiting: Mutex<HashMap<IpAddr, usize>>,
}

impl Default for Passwords {
    fn default() -> Self {
        let (lines, waiting) = (KeyedLock::default(), Mutex::default());
        Self { room: Semaphore::new(WAITING), turns: Semaphore::new(AT_ONCE), lines, waiting }
    }
}

/// The turn of an address, as long as it is held.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    _place: Place<'a>,
    _turn: OwnedMutexGuard<()>,
}

/// A place in the line of an address.
#[derive(Debug)]
struct Place<'a> {
    of: &'a Passwords,
    address: IpAddr,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut waiting = self.of.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = waiting.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                waiting.remove(&self.address);
            }
        }
    }
}

impl Passwords {
    /// Waits for the turn of an address.
    pub(crate) async fn turn(&self, address: IpAddr) -> Result<Turn<'_>, ApiError> {
        let place = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let count = waiting.entry(address).or_default();
            if *count >= WAITING_OF_ADDRESS {
                return Err(busy());
            }
            *count += 1;
            Place { of: self, address }
        };
        Ok(Turn { _place: place, _turn: self.lines.lock(address).await })
    }

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
        let _place = self.room.try_acquire().map_err(|_| busy())?;
        let _turn = self.turns.acquire().await.map_err(|_| busy())?;
        tokio::task::spawn_blocking(work).await.map_err(|error| ApiError::internal(&error))
    }
}

fn busy() -> ApiError {
    ApiError::unavailable("too many sign in at once", "try again in a moment")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_has_one_password_check_at_a_time_and_a_bounded_queue() {
        let passwords = Passwords::default();
        let (one, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let first = passwords.turn(one).await.unwrap();
        let mut line: Vec<_> = (1..WAITING_OF_ADDRESS).map(|_| Box::pin(passwords.turn(one))).collect();
        for waits in &mut line {
            assert!(futures_util::poll!(waits).is_pending());
        }
        assert_eq!(passwords.turn(one).await.unwrap_err().status, 503);
        assert!(passwords.turn(other).await.is_ok(), "each has its own");
        drop(first);
        assert!(futures_util::poll!(&mut line[0]).is_ready());
        drop(line);
        assert!(passwords.waiting.lock().unwrap().is_empty());
        assert!(passwords.turn(one).await.is_ok());
    }

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
