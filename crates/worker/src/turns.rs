//! Who asks twice at the same time for one thing gets it once: requests for the same id go one after the other.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::OwnedMutexGuard;

/// After so many new ids those that nobody waits for are forgotten.
const TIDY: usize = 256;

/// A queue for each id that somebody is asking for.
#[derive(Debug)]
pub(crate) struct Turns<I>(Mutex<HashMap<I, Weak<tokio::sync::Mutex<()>>>>);

impl<I: Hash + Eq> Turns<I> {
    pub(crate) fn new() -> Self {
        Self(Mutex::default())
    }

    /// Waits for the turn of this id; it lasts as long as what is returned.
    pub(crate) async fn of(&self, id: I) -> OwnedMutexGuard<()> {
        let queue = {
            let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if queues.len() >= TIDY && queues.len() == queues.capacity() {
                queues.retain(|_, queue| queue.strong_count() > 0);
            }
            let known = queues.get(&id).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let queue = Arc::default();
                queues.insert(id, Arc::downgrade(&queue));
                queue
            })
        };
        queue.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn only_those_who_ask_for_the_same_wait_for_each_other() {
        let turns = Turns::new();
        let first = turns.of(0).now_or_never();
        for other in 1..10_000 {
            assert!(turns.of(other).now_or_never().is_some());
        }
        assert!(turns.of(0).now_or_never().is_none());
        assert!(first.is_some());
        drop(first);
        assert!(turns.of(0).now_or_never().is_some());
        assert!(turns.0.lock().unwrap().len() < 2 * TIDY);
    }
}
