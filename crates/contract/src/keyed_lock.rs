//! A lock for each key: calls with the same key run one after the other, calls with different keys at the
//! same time. Both sides of the contract need it: the worker for ids, the gateway for idempotency keys.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::OwnedMutexGuard;

/// Below this many entries, unused ones are not searched for: they cost less than the search.
const SWEEP_FROM_ENTRIES: usize = 256;

type Lock = tokio::sync::Mutex<()>;

/// A lock for each key that a caller holds or waits for.
#[derive(Debug)]
pub struct KeyedLock<K>(Mutex<Table<K>>);

#[derive(Debug)]
struct Table<K> {
    locks: HashMap<K, Weak<Lock>>,
    /// The number of entries at which unused ones are removed.
    sweep_at: usize,
}

impl<K> Default for KeyedLock<K> {
    fn default() -> Self {
        Self(Mutex::new(Table { locks: HashMap::new(), sweep_at: SWEEP_FROM_ENTRIES }))
    }
}

impl<K: Hash + Eq> KeyedLock<K> {
    /// Waits for the lock of this key and holds it until the guard is dropped.
    pub async fn lock(&self, key: K) -> OwnedMutexGuard<()> {
        let lock = self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(key);
        lock.lock_owned().await
    }
}

impl<K: Hash + Eq> Table<K> {
    fn get_or_insert(&mut self, key: K) -> Arc<Lock> {
        if let Some(lock) = self.locks.get(&key).and_then(Weak::upgrade) {
            return lock;
        }
        if self.locks.len() >= self.sweep_at {
            self.locks.retain(|_, lock| lock.strong_count() > 0);
            // The table may double before the next sweep, so that a sweep costs little per insertion.
            self.sweep_at = SWEEP_FROM_ENTRIES.max(2 * self.locks.len());
        }
        let lock = Arc::default();
        self.locks.insert(key, Arc::downgrade(&lock));
        lock
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn only_requests_for_the_same_key_wait_for_each_other() {
        let locks = KeyedLock::default();
        let first = locks.lock(0).now_or_never();
        for other in 1..10_000 {
            assert!(locks.lock(other).now_or_never().is_some());
        }
        assert!(locks.lock(0).now_or_never().is_none());
        assert!(first.is_some());
        drop(first);
        assert!(locks.lock(0).now_or_never().is_some());
        assert!(locks.0.lock().unwrap().locks.len() <= SWEEP_FROM_ENTRIES);
    }
}
