//! Back-off of failed sign-ins: each further failure makes the next attempt wait longer, up to a limit.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Failures are forgotten this long after the last one.
const FORGET_AFTER: Duration = Duration::from_mins(15);
/// Keys with failures that are kept at once.
const MAX_KEYS: usize = 10_000;

/// The failures of each key: an address, or a name at an address.
#[derive(Debug)]
pub(crate) struct LoginBackoff<K> {
    /// Failures before the first wait.
    free: u32,
    /// The longest wait.
    longest: Duration,
    failed: Mutex<HashMap<K, (u32, Instant)>>,
}

impl<K: Hash + Eq> LoginBackoff<K> {
    /// `free` failures without a wait, and then waits up to `longest`.
    pub(crate) fn new(free: u32, longest: Duration) -> Self {
        Self { free, longest, failed: Mutex::default() }
    }

    /// Counts an attempt as a failure until it is forgiven; `Err` is the time to wait before the next one.
    pub(crate) fn attempt(&self, key: K, now: Instant) -> Result<(), Duration> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.len() >= MAX_KEYS {
            failed.retain(|_, (_, at)| now.saturating_duration_since(*at) < FORGET_AFTER);
            if failed.len() >= MAX_KEYS {
                failed.clear();
            }
        }
        let (count, at) = failed.entry(key).or_insert((0, now));
        let since = now.saturating_duration_since(*at);
        if since >= FORGET_AFTER {
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

    /// Takes one failure back.
    pub(crate) fn forgive(&self, key: &K) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((count, _)) = failed.get_mut(key) {
            *count = count.saturating_sub(1);
        }
    }

    /// Takes all failures back, after a success.
    pub(crate) fn forget(&self, key: &K) {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_cost_more_each_time_up_to_a_bound_and_success_nothing() {
        let (backoff, mut now) = (LoginBackoff::new(3, Duration::from_secs(10)), Instant::now());
        for _ in 0..4 {
            assert!(backoff.attempt("ann", now).is_ok());
        }
        let mut waits = Vec::new();
        for _ in 0..6 {
            let wait = backoff.attempt("ann", now).unwrap_err();
            waits.push(wait.as_secs());
            now += wait;
            assert!(backoff.attempt("ann", now).is_ok());
        }
        assert_eq!(waits, [2, 4, 8, 10, 10, 10]);
        assert!(backoff.attempt("bob", now).is_ok(), "each has its own");
        backoff.forget(&"ann");
        assert!(backoff.attempt("ann", now).is_ok());
        for _ in 0..100 {
            assert!(backoff.attempt("eve", now).is_ok());
            backoff.forgive(&"eve");
        }
    }
}
