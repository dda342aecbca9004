//! Counts the look-ups of a cache, for the metrics.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::v1::CacheUsage;

/// The look-ups of one cache, and its size.
#[derive(Debug, Default)]
pub struct CacheCounter {
    hits: AtomicU64,
    misses: AtomicU64,
    /// The bytes of its entries on the disk.
    pub bytes: AtomicU64,
}

impl CacheCounter {
    /// Counts a look-up.
    pub fn count(&self, is_hit: bool) {
        let counter = if is_hit { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// The counts, for the contract.
    pub fn usage(&self, name: &str) -> CacheUsage {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (hits, misses, bytes) = (read(&self.hits), read(&self.misses), read(&self.bytes));
        CacheUsage { name: name.to_owned(), hits, misses, bytes }
    }
}
