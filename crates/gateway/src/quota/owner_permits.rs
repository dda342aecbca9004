//! Permits that owners share, limited in all and for each owner: the requests of one owner delay its own and not those
//! of others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Permits of all owners, and of each.
#[derive(Debug)]
pub(crate) struct OwnerPermits {
    all: Arc<Semaphore>,
    each: usize,
    owners: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// A permit; returned when it is dropped.
#[derive(Debug)]
pub(crate) struct OwnerPermit {
    _of_all: Option<OwnedSemaphorePermit>,
    _of_owner: Option<OwnedSemaphorePermit>,
}

impl OwnerPermits {
    /// `all` permits, of which each owner gets up to `each`.
    pub(crate) fn new(all: usize, each: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(all)), each, owners: Mutex::default() }
    }

    fn of(&self, owner: &str) -> Arc<Semaphore> {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        // Waiting requests hold a reference to their semaphore.
        owners.retain(|_, permits| permits.available_permits() < self.each || Arc::strong_count(permits) > 1);
        Arc::clone(owners.entry(owner.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(self.each))))
    }

    /// Waits for a permit in order of arrival: first among those of the owner, then among all.
    pub(crate) async fn acquire(&self, owner: &str) -> OwnerPermit {
        // The semaphores are never closed.
        let of_owner = self.of(owner).acquire_owned().await.ok();
        OwnerPermit { _of_owner: of_owner, _of_all: Arc::clone(&self.all).acquire_owned().await.ok() }
    }

    /// A permit, if one is free.
    pub(crate) fn try_acquire(&self, owner: &str) -> Option<OwnerPermit> {
        let of_owner = self.of(owner).try_acquire_owned().ok()?;
        let of_all = Arc::clone(&self.all).try_acquire_owned().ok()?;
        Some(OwnerPermit { _of_owner: Some(of_owner), _of_all: Some(of_all) })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn an_owner_waits_for_its_own_permits_and_not_for_those_of_others() {
        let permits = OwnerPermits::new(3, 2);
        let anns = [permits.acquire("ann").await, permits.acquire("ann").await];
        assert!(permits.acquire("ann").now_or_never().is_none(), "ann holds both of hers");
        let bobs = permits.acquire("bob").now_or_never();
        assert!(bobs.is_some());
        assert!(permits.acquire("cid").now_or_never().is_none(), "all are taken");
        drop(anns);
        assert!(permits.acquire("ann").now_or_never().is_some());
        drop(bobs);
        let _ = permits.acquire("dan").await;
        assert_eq!(permits.owners.lock().unwrap().len(), 1, "owners without permits are removed");
    }
}
