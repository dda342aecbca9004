//! Permits: how many of something may be open at once, for each session, for each owner and in all.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::SessionId;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// How many permits exist. A caller with access to one session must not use up the share of the session's owner, and
/// no owner may use up the permits of all.
#[derive(Debug, Clone, Copy)]
pub struct PermitLimits {
    /// Permits of all owners together.
    pub total: usize,
    /// Permits of one owner.
    pub per_owner: usize,
    /// Permits of one session.
    pub per_session: usize,
}

/// A permit to have one thing open; dropping it releases it.
#[derive(Debug)]
pub struct Permit {
    _session: OwnedSemaphorePermit,
    _owner: OwnedSemaphorePermit,
    _total: OwnedSemaphorePermit,
    /// The permit to do work, where work is limited: released while the reader of the result is slow.
    pub work: Option<OwnedSemaphorePermit>,
}

/// The permits of all owners and sessions for one kind of call.
#[derive(Debug)]
pub struct Permits {
    limits: PermitLimits,
    /// The permits of all owners together.
    pub total: Arc<Semaphore>,
    owners: KeyedSemaphores<String>,
    sessions: KeyedSemaphores<SessionId>,
    /// Permits to do work; `None` for calls that mostly wait.
    pub work: Option<Arc<Semaphore>>,
}

/// A semaphore for each key; a key without holders and waiters takes no memory.
#[derive(Debug)]
pub struct KeyedSemaphores<K>(Mutex<HashMap<K, Arc<Semaphore>>>);

impl<K> Default for KeyedSemaphores<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Hash + Eq> KeyedSemaphores<K> {
    /// The semaphore of this key, created with `permits` if there is none.
    pub fn of(&self, key: K, permits: usize) -> Arc<Semaphore> {
        let mut semaphores = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Holders and waiters each have a reference of their own.
        semaphores.retain(|_, semaphore| Arc::strong_count(semaphore) > 1);
        Arc::clone(semaphores.entry(key).or_insert_with(|| Arc::new(Semaphore::new(permits))))
    }
}

impl Permits {
    /// `working`: how many of the open calls may do work at the same time.
    pub fn new(limits: PermitLimits, working: Option<usize>) -> Self {
        Self {
            limits,
            total: Arc::new(Semaphore::new(limits.total)),
            owners: KeyedSemaphores::default(),
            sessions: KeyedSemaphores::default(),
            work: working.map(|working| Arc::new(Semaphore::new(working))),
        }
    }

    /// Takes a permit without waiting, or fails because too many of `what` are open.
    pub fn try_acquire(&self, owner: &str, session: SessionId, what: &str) -> Result<Permit, Fault> {
        let full = |whose: &'static str| {
            let fault = Fault::new(FaultKind::Exhausted, format!("too many {what} {whose}at once"));
            move |_| {
                fault.hint("try again when others have ended; one whose result is not read ends by itself")
            }
        };
        let PermitLimits { per_owner, per_session, .. } = self.limits;
        let of_session = self.sessions.of(session, per_session).try_acquire_owned();
        let of_owner = self.owners.of(owner.to_owned(), per_owner).try_acquire_owned();
        Ok(Permit {
            _session: of_session.map_err(full("in this session "))?,
            _owner: of_owner.map_err(full("of this owner "))?,
            _total: Arc::clone(&self.total).try_acquire_owned().map_err(full(""))?,
            work: match &self.work {
                Some(work) => Some(Arc::clone(work).try_acquire_owned().map_err(full(""))?),
                None => None,
            },
        })
    }
}

/// Permits that callers wait for. An owner's callers queue behind each other first, so that one owner's queue does
/// not delay the others.
#[derive(Debug)]
pub struct OwnerPermits {
    total: Arc<Semaphore>,
    owners: KeyedSemaphores<String>,
    per_owner: usize,
}

/// A permit that was waited for; dropping it releases it.
#[derive(Debug)]
pub struct OwnerPermit {
    _owner: OwnedSemaphorePermit,
    _total: OwnedSemaphorePermit,
}

impl OwnerPermits {
    /// `total` permits in all, at most `per_owner` of them for one owner.
    pub fn new(total: usize, per_owner: usize) -> Self {
        Self { total: Arc::new(Semaphore::new(total)), owners: KeyedSemaphores::default(), per_owner }
    }

    /// Waits for a permit of this owner.
    pub async fn acquire(&self, owner: &str) -> Result<OwnerPermit, AcquireError> {
        let of_owner = self.owners.of(owner.to_owned(), self.per_owner).acquire_owned().await?;
        Ok(OwnerPermit { _owner: of_owner, _total: Arc::clone(&self.total).acquire_owned().await? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_uses_up_its_own_permits_and_not_those_of_others() {
        let permits = Permits::new(PermitLimits { total: 6, per_owner: 4, per_session: 3 }, Some(6));
        let (one, two) = (SessionId::random(), SessionId::random());
        let take = |owner: &str, session| permits.try_acquire(owner, session, "searches");
        let mut held: Vec<_> = (0..3).map(|_| take("ann", one).unwrap()).collect();
        assert!(take("ann", one).unwrap_err().message.contains("in this session"));
        held.push(take("ann", two).unwrap());
        assert!(take("ann", two).unwrap_err().message.contains("of this owner"));
        held.extend((0..2).map(|_| take("bob", SessionId::random()).unwrap()));
        assert_eq!(take("cid", one).unwrap_err().kind, FaultKind::Exhausted);
        held.clear();
        assert!(take("ann", one).is_ok());
    }

    #[tokio::test]
    async fn an_owner_that_waits_for_a_permit_does_not_delay_others() {
        let permits = OwnerPermits::new(3, 2);
        let held = (permits.acquire("ann").await, permits.acquire("ann").await);
        let mut waiting = std::pin::pin!(permits.acquire("ann"));
        assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        assert!(permits.acquire("bob").await.is_ok());
        drop(held);
        assert!(waiting.await.is_ok());
    }
}
