//! Who asks twice at the same time for one thing gets it once: requests for the same id go one after the other.
//! Both sides of the contract need it: the worker for ids, a gateway for the keys that lead to them.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::OwnedMutexGuard;

/// With fewer ids than these it is not worth looking for those that nobody waits for.
const TIDY: usize = 256;

type Queue = tokio::sync::Mutex<()>;

/// A queue for each id that somebody is asking for.
#[derive(Debug)]
pub struct Turns<I>(Mutex<Queues<I>>);

#[derive(Debug)]
struct Queues<I> {
    known: HashMap<I, Weak<Queue>>,
    /// How many are tolerated before those that nobody waits for are forgotten.
    tidy_at: usize,
}

impl<I> Default for Turns<I> {
    fn default() -> Self {
        Self(Mutex::new(Queues { known: HashMap::new(), tidy_at: TIDY }))
    }
}

impl<I: Hash + Eq> Turns<I> {
    /// Waits for the turn of this id; it lasts as long as what is returned.
    pub async fn of(&self, id: I) -> OwnedMutexGuard<()> {
        let queue = self.0.lock().unwrap_or_else(PoisonError::into_inner).of(id);
        queue.lock_owned().await
    }
}

impl<I: Hash + Eq> Queues<I> {
    fn of(&mut self, id: I) -> Arc<Queue> {
        if let Some(queue) = self.known.get(&id).and_then(Weak::upgrade) {
            return queue;
        }
        if self.known.len() >= self.tidy_at {
            self.known.retain(|_, queue| queue.strong_count() > 0);
            // As many again may come before the next look, so that looking costs little for each.
            self.tidy_at = TIDY.max(2 * self.known.len());
        }
        let queue = Arc::default();
        self.known.insert(id, Arc::downgrade(&queue));
        queue
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn only_those_who_ask_for_the_same_wait_for_each_other() {
        let turns = Turns::default();
        let first = turns.of(0).now_or_never();
        for other in 1..10_000 {
            assert!(turns.of(other).now_or_never().is_some());
        }
        assert!(turns.of(0).now_or_never().is_none());
        assert!(first.is_some());
        drop(first);
        assert!(turns.of(0).now_or_never().is_some());
        assert!(turns.0.lock().unwrap().known.len() <= TIDY);
    }
}
