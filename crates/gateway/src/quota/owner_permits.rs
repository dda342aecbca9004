//! Turns that owners share: so many at once in all, and so many of each owner, so that one owner's many requests delay
//! its own and not those of others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Turns of all owners, and of each.
#[derive(Debug)]
pub(crate) struct Fair {
    all: Arc<Semaphore>,
    each: usize,
    owners: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// A turn; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _of_all: Option<OwnedSemaphorePermit>,
    _of_owner: Option<OwnedSemaphorePermit>,
}

impl Fair {
    /// So many turns at once in all, and of each owner.
    pub(crate) fn new(all: usize, each: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(all)), each, owners: Mutex::default() }
    }

    fn of(&self, owner: &str) -> Arc<Semaphore> {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        // A semaphore that somebody waits for is held by them, too.
        owners.retain(|_, turns| turns.available_permits() < self.each || Arc::strong_count(turns) > 1);
        Arc::clone(owners.entry(owner.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(self.each))))
    }

    /// Waits for a turn, in the order of coming: first among the owner's, then among all.
    pub(crate) async fn turn(&self, owner: &str) -> Turn {
        // The semaphores are never closed.
        let of_owner = self.of(owner).acquire_owned().await.ok();
        Turn { _of_owner: of_owner, _of_all: Arc::clone(&self.all).acquire_owned().await.ok() }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn an_owner_waits_for_its_own_turns_and_not_for_those_of_others() {
        let fair = Fair::new(3, 2);
        let anns = [fair.turn("ann").await, fair.turn("ann").await];
        assert!(fair.turn("ann").now_or_never().is_none(), "ann has both of hers");
        let bobs = fair.turn("bob").now_or_never();
        assert!(bobs.is_some());
        assert!(fair.turn("cid").now_or_never().is_none(), "all are taken");
        drop(anns);
        assert!(fair.turn("ann").now_or_never().is_some());
        drop(bobs);
        let _ = fair.turn("dan").await;
        assert_eq!(fair.owners.lock().unwrap().len(), 1, "those with nothing are forgotten");
    }
}
