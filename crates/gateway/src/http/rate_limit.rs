//! Rate limits (a token bucket for each API token and each address), and new ids of requests.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A new id for a request.
pub(crate) fn new_request_id() -> String {
    let mut bits = [0; 8];
    // A repeated request id makes the log confusing and has no other effect.
    let _ = getrandom::fill(&mut bits);
    format!("req_{:016x}", u64::from_le_bytes(bits))
}

/// When there are more buckets than this, full ones (of idle clients) are removed.
const TIDY: usize = 4_096;
/// The capacity of a bucket, in seconds of the rate.
const BURST_SECONDS: f64 = 2.0;

/// A token bucket for each of many callers.
#[derive(Debug)]
pub(crate) struct Buckets<K> {
    per_second: f64,
    buckets: Mutex<(HashMap<K, Bucket>, usize)>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl<K: Hash + Eq> Buckets<K> {
    /// Creates buckets with this rate of requests; 0 means no limit.
    pub(crate) fn new(per_second: u32) -> Self {
        Self { per_second: f64::from(per_second), buckets: Mutex::new((HashMap::new(), TIDY)) }
    }

    fn size(&self) -> f64 {
        (self.per_second * BURST_SECONDS).max(1.0)
    }

    /// Takes one request from a bucket. `Err` is the time until the bucket has one again.
    pub(crate) fn take(&self, key: K, now: Instant) -> Result<(), Duration> {
        if self.per_second <= 0.0 {
            return Ok(());
        }
        let mut guard = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let (buckets, tidy_at) = &mut *guard;
        if buckets.len() >= *tidy_at {
            buckets.retain(|_, bucket| self.filled(bucket, now) < self.size());
            *tidy_at = TIDY.max(2 * buckets.len());
        }
        let bucket = buckets.entry(key).or_insert(Bucket { left: self.size(), at: now });
        (bucket.left, bucket.at) = (self.filled(bucket, now), now);
        if bucket.left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - bucket.left) / self.per_second));
        }
        bucket.left -= 1.0;
        Ok(())
    }

    fn filled(&self, bucket: &Bucket, now: Instant) -> f64 {
        let since = now.saturating_duration_since(bucket.at).as_secs_f64();
        (bucket.left + since * self.per_second).min(self.size())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_let_through_and_then_the_rate_and_each_has_its_own() {
        let (buckets, now) = (Buckets::new(10), Instant::now());
        assert!((0..20).all(|_| buckets.take("a", now).is_ok()));
        let wait = buckets.take("a", now).unwrap_err();
        assert!(wait > Duration::ZERO && wait <= Duration::from_millis(100), "{wait:?}");
        assert!(buckets.take("b", now).is_ok());
        assert!(buckets.take("a", now + Duration::from_millis(100)).is_ok());
        assert!(buckets.take("a", now + Duration::from_millis(100)).is_err());
    }

    #[test]
    fn no_limit_means_none() {
        let (buckets, now) = (Buckets::new(0), Instant::now());
        assert!((0..10_000).all(|_| buckets.take(1, now).is_ok()));
    }

    #[test]
    fn callers_that_went_quiet_are_forgotten() {
        let (buckets, now) = (Buckets::new(1), Instant::now());
        for caller in 0..3 * TIDY as u64 {
            let _ = buckets.take(caller, now + Duration::from_secs(caller));
        }
        assert!(buckets.buckets.lock().unwrap().0.len() <= TIDY);
    }
}
