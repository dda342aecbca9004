//! A map of bounded size: when the younger of its two generations is full, it replaces the older one.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Remembers between `capacity` and twice as many of the newest entries.
#[derive(Debug)]
pub(crate) struct BoundedCache<K, V> {
    capacity: usize,
    generations: Mutex<[HashMap<K, V>; 2]>,
}

impl<K: Hash + Eq, V: Clone> BoundedCache<K, V> {
    /// An empty cache.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, generations: Mutex::new([HashMap::new(), HashMap::new()]) }
    }

    fn generations(&self) -> MutexGuard<'_, [HashMap<K, V>; 2]> {
        self.generations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value of a key. The younger generation wins: it may hold a newer value of the same key.
    pub(crate) fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.generations().iter().find_map(|generation| generation.get(key)).cloned()
    }

    /// Sets the value of a key.
    pub(crate) fn insert(&self, key: K, value: V) {
        let mut generations = self.generations();
        let [young, old] = &mut *generations;
        if young.len() >= self.capacity {
            *old = std::mem::take(young);
        }
        young.insert(key, value);
    }

    /// Removes a key.
    pub(crate) fn remove(&self, key: &K) {
        for generation in &mut *self.generations() {
            generation.remove(key);
        }
    }

    /// Removes all keys.
    pub(crate) fn clear(&self) {
        for generation in &mut *self.generations() {
            generation.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_entries_stay_and_the_number_is_bounded() {
        let cache = BoundedCache::new(10);
        for n in 0..100 {
            cache.insert(n, n);
            assert_eq!(cache.get(&n), Some(n));
        }
        assert!((90..100).all(|n| cache.get(&n) == Some(n)));
        assert!((0..80).all(|n| cache.get(&n).is_none()));
        cache.insert(99, 7);
        assert_eq!(cache.get(&99), Some(7), "the newest value of a key counts");
        cache.remove(&99);
        assert_eq!(cache.get(&99), None);
        cache.clear();
        assert!((0..100).all(|n| cache.get(&n).is_none()));
    }
}
