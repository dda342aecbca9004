//! Who asks twice at the same time for one thing gets it once: requests with the same name go one after the other.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::OwnedMutexGuard;

/// With fewer names than these it is not worth looking for those that nobody waits for.
const TIDY: usize = 256;

type Queue = tokio::sync::Mutex<()>;

/// A queue for each name that somebody is asking for, and how many of them are tolerated before the next tidying.
#[derive(Debug)]
pub(crate) struct Turns<K>(Mutex<(HashMap<K, Weak<Queue>>, usize)>);

impl<K> Default for Turns<K> {
    fn default() -> Self {
        Self(Mutex::new((HashMap::new(), TIDY)))
    }
}

impl<K: Hash + Eq> Turns<K> {
    /// Waits for the turn of this name; it lasts as long as what is returned.
    pub(crate) async fn of(&self, name: K) -> OwnedMutexGuard<()> {
        let queue = self.queue(name);
        queue.lock_owned().await
    }

    fn queue(&self, name: K) -> Arc<Queue> {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (queues, tidy_at) = &mut *guard;
        if let Some(queue) = queues.get(&name).and_then(Weak::upgrade) {
            return queue;
        }
        if queues.len() >= *tidy_at {
            queues.retain(|_, queue| queue.strong_count() > 0);
            // As many again may come before the next look, so that looking costs little for each.
            *tidy_at = TIDY.max(2 * queues.len());
        }
        let queue = Arc::default();
        queues.insert(name, Arc::downgrade(&queue));
        queue
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn only_those_with_the_same_name_wait_for_each_other() {
        let turns = Turns::default();
        let first = turns.of(0).now_or_never();
        assert!((1..10_000).all(|other| turns.of(other).now_or_never().is_some()));
        assert!(turns.of(0).now_or_never().is_none());
        drop(first);
        assert!(turns.of(0).now_or_never().is_some());
        assert!(turns.0.lock().unwrap().0.len() <= TIDY);
    }
}
