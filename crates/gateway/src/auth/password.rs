//! Passwords: argon2id with the parameters that OWASP names (19 MiB, 2 passes, 1 lane).
//!
//! Verification takes memory and time on purpose. So only a few passwords are verified at once, on blocking threads, one
//! at a time for each address, and the number of waiting requests is limited. An unknown name takes as long as a known one.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, OnceLock, PoisonError};

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use headwater_contract::KeyedLock;
use tokio::sync::{OwnedMutexGuard, Semaphore};

use crate::error::ApiError;

/// Passwords that are verified at once.
const MAX_CONCURRENT: usize = 2;
/// Passwords that wait or are verified, in all. Each also holds a connection, which is limited too.
const MAX_WAITING: usize = 1024;
/// Passwords of one address that wait or are verified.
const MAX_WAITING_OF_ADDRESS: usize = 32;
/// The shortest password, in characters: shorter ones can be guessed.
const MIN_CHARS: usize = 8;
/// The longest password, in bytes.
const MAX_BYTES: usize = 1024;

/// Why a password is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    /// Too short or too long.
    #[error("a password has at least {MIN_CHARS} characters and at most {MAX_BYTES} bytes")]
    Length,
    /// Hashing failed.
    #[error("the password cannot be hashed: {0}")]
    Hash(String),
}

fn hasher() -> Argon2<'static> {
    Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::DEFAULT)
}

/// Checks the length of a password.
pub fn check_password(password: &str) -> Result<(), PasswordError> {
    if password.chars().count() < MIN_CHARS || password.len() > MAX_BYTES {
        return Err(PasswordError::Length);
    }
    Ok(())
}

/// The hash of a password, for the store. Takes a while.
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

/// The hash that is verified for unknown names.
fn unknown_hash() -> &'static str {
    static HASH: OnceLock<String> = OnceLock::new();
    HASH.get_or_init(|| hash_password("nobody has this password").unwrap_or_default())
}

/// Verifies and hashes passwords, a few at once.
#[derive(Debug)]
pub(crate) struct Passwords {
    waiting_permits: Semaphore,
    permits: Semaphore,
    /// One at a time for each address, so that no address takes all permits.
    locks: KeyedLock<IpAddr>,
    /// Requests of each address that wait or hold its lock.
    waiting: Mutex<HashMap<IpAddr, usize>>,
}

impl Default for Passwords {
    fn default() -> Self {
        Self {
            waiting_permits: Semaphore::new(MAX_WAITING),
            permits: Semaphore::new(MAX_CONCURRENT),
            locks: KeyedLock::default(),
            waiting: Mutex::default(),
        }
    }
}

/// The lock of an address.
#[derive(Debug)]
pub(crate) struct AddressLock<'a> {
    _counted: CountedRequest<'a>,
    _lock: OwnedMutexGuard<()>,
}

/// Counts a request of an address while it waits for the lock or holds it.
#[derive(Debug)]
struct CountedRequest<'a> {
    passwords: &'a Passwords,
    address: IpAddr,
}

impl Drop for CountedRequest<'_> {
    fn drop(&mut self) {
        let mut waiting = self.passwords.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = waiting.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                waiting.remove(&self.address);
            }
        }
    }
}

impl Passwords {
    /// Waits for the lock of an address.
    pub(crate) async fn lock(&self, address: IpAddr) -> Result<AddressLock<'_>, ApiError> {
        let counted = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let count = waiting.entry(address).or_default();
            if *count >= MAX_WAITING_OF_ADDRESS {
                return Err(busy());
            }
            *count += 1;
            CountedRequest { passwords: self, address }
        };
        Ok(AddressLock { _counted: counted, _lock: self.locks.lock(address).await })
    }

    /// Whether a password matches a hash. Without a hash it does not, which takes as long.
    pub(crate) async fn verify(&self, password: String, stored: Option<String>) -> Result<bool, ApiError> {
        self.work(move || {
            let against = stored.as_deref();
            let is_right = matches(&password, against.unwrap_or_else(|| unknown_hash()));
            is_right && against.is_some()
        })
        .await
    }

    /// The hash of a password, for the store.
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
        let _waiting = self.waiting_permits.try_acquire().map_err(|_| busy())?;
        let _permit = self.permits.acquire().await.map_err(|_| busy())?;
        tokio::task::spawn_blocking(work).await.map_err(|error| ApiError::internal(&error))
    }
}

fn busy() -> ApiError {
    ApiError::unavailable("too many sign-ins at once", "try again in a moment")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_has_one_password_check_at_a_time_and_a_bounded_queue() {
        let passwords = Passwords::default();
        let (one, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let first = passwords.lock(one).await.unwrap();
        let mut queue: Vec<_> = (1..MAX_WAITING_OF_ADDRESS).map(|_| Box::pin(passwords.lock(one))).collect();
        for waits in &mut queue {
            assert!(futures_util::poll!(waits).is_pending());
        }
        assert_eq!(passwords.lock(one).await.unwrap_err().status, 503);
        assert!(passwords.lock(other).await.is_ok(), "each address has its own lock");
        drop(first);
        assert!(futures_util::poll!(&mut queue[0]).is_ready());
        drop(queue);
        assert!(passwords.waiting.lock().unwrap().is_empty());
        assert!(passwords.lock(one).await.is_ok());
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
