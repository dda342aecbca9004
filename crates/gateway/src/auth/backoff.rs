//! Whoever fails again and again is made to wait, longer each time; whoever succeeds is not.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// After so long without a failure all is forgotten.
const FORGET: Duration = Duration::from_mins(15);
/// Those remembered at once.
const REMEMBERED: usize = 10_000;

/// The failures of each of many.
#[derive(Debug)]
pub(crate) struct Slow<K> {
    /// So many failures cost nothing.
    free: u32,
    /// The longest wait.
    longest: Duration,
    failed: Mutex<HashMap<K, (u32, Instant)>>,
}

impl<K: Hash + Eq> Slow<K> {
    pub(crate) fn new(free: u32, longest: Duration) -> Self {
        Self { free, longest, failed: Mutex::default() }
    }

    /// A try, which counts as a failure until it is forgiven; `Err` tells how long to wait before the next.
    pub(crate) fn attempt(&self, key: K, now: Instant) -> Result<(), Duration> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.len() >= REMEMBERED {
            failed.retain(|_, (_, at)| now.saturating_duration_since(*at) < FORGET);
            if failed.len() >= REMEMBERED {
                failed.clear();
            }
        }
        let (count, at) = failed.entry(key).or_insert((0, now));
        let since = now.saturating_duration_since(*at);
        if since >= FORGET {
            *count = 0;
        }
        let over = count.saturating_sub(self.free);
        let wait = Duration::from_secs(1_u64.checked_shl(over).unwrap_or(u64::MAX)).min(self.longest);
        if over > 0 && since < wait {
            return Err(wait.saturating_sub(since));
        }
        (*count, *at) = (count.saturating_add(1), now);
        Ok(())
    }

    /// The try was none: one failure less.
    pub(crate) fn forgive(&self, key: &K) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((count, _)) = failed.get_mut(key) {
            *count = count.saturating_sub(1);
        }
    }

    /// All is forgiven.
    pub(crate) fn forget(&self, key: &K) {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_cost_more_each_time_up_to_a_bound_and_success_nothing() {
        let (slow, mut now) = (Slow::new(3, Duration::from_secs(10)), Instant::now());
        for _ in 0..4 {
            assert!(slow.attempt("ann", now).is_ok());
        }
        let mut waits = Vec::new();
        for _ in 0..6 {
            let wait = slow.attempt("ann", now).unwrap_err();
            waits.push(wait.as_secs());
            now += wait;
            assert!(slow.attempt("ann", now).is_ok());
        }
        assert_eq!(waits, [2, 4, 8, 10, 10, 10]);
        assert!(slow.attempt("bob", now).is_ok(), "each has its own");
        slow.forget(&"ann");
        assert!(slow.attempt("ann", now).is_ok());
        for _ in 0..100 {
            assert!(slow.attempt("eve", now).is_ok());
            slow.forgive(&"eve");
        }
    }
}
