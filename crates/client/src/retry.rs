//! Waiting for a server to return: exponential backoff with full jitter, until a timeout.

use std::time::Duration;

use tokio::time::Instant;

use crate::error::ClientError;

/// The upper bound of the first delay.
const FIRST_MAX_DELAY: Duration = Duration::from_millis(50);
/// The upper bound of every delay.
const MAX_DELAY: Duration = Duration::from_secs(2);

/// One period in which the server is unavailable.
#[derive(Debug)]
pub(crate) struct Retry {
    timeout: Duration,
    attempt: u32,
    since: Option<Instant>,
}

impl Retry {
    pub(crate) const fn new(timeout: Duration) -> Self {
        Self { timeout, attempt: 0, since: None }
    }

    /// To be called when data has come: the next failure begins a new period.
    pub(crate) const fn reset(&mut self) {
        (self.attempt, self.since) = (0, None);
    }

    /// Waits before the next attempt; returns the error when the time is used up.
    pub(crate) async fn pause(&mut self, error: ClientError) -> Result<(), ClientError> {
        let since = *self.since.get_or_insert_with(Instant::now);
        let left = self.timeout.saturating_sub(since.elapsed());
        let asked = error.retry_after();
        let wait = asked.unwrap_or_else(|| jitter(self.attempt));
        if left.is_zero() || asked.is_some_and(|asked| asked > left) {
            return Err(error);
        }
        self.attempt = self.attempt.saturating_add(1);
        tokio::time::sleep(wait.min(left)).await;
        Ok(())
    }
}

/// A random delay up to a bound that doubles with each attempt: the clients of a server do not return all at
/// once.
fn jitter(attempt: u32) -> Duration {
    let ceiling = FIRST_MAX_DELAY.saturating_mul(1 << attempt.min(16)).min(MAX_DELAY);
    // Without randomness every client waits equally long, which is no reason to fail.
    let random = getrandom::u32().unwrap_or(u32::MAX);
    ceiling.mul_f64(f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ApiError;

    fn lost() -> ClientError {
        ClientError::Disconnected("gone".into())
    }

    fn busy(seconds: u64) -> ClientError {
        let after = Some(Duration::from_secs(seconds));
        ClientError::Api(Box::new(ApiError::read(429, after, b"")))
    }

    #[test]
    fn waits_grow_to_a_cap_and_differ() {
        for attempt in [0, 1, 3, 10, 40] {
            let ceiling = FIRST_MAX_DELAY.saturating_mul(1 << attempt.min(10)).min(MAX_DELAY);
            assert!((0..200).all(|_| jitter(attempt) <= ceiling), "{attempt}");
        }
        let waits: std::collections::BTreeSet<_> = (0..100).map(|_| jitter(5)).collect();
        assert!(waits.len() > 50, "{}", waits.len());
        assert!(waits.iter().any(|wait| *wait > MAX_DELAY / 4));
    }

    #[tokio::test(start_paused = true)]
    async fn retries_end_and_then_the_error_is_returned() {
        let mut retry = Retry::new(Duration::from_mins(1));
        let begun = Instant::now();
        while retry.pause(lost()).await.is_ok() {}
        assert!(
            (Duration::from_mins(1)..Duration::from_secs(61)).contains(&begun.elapsed()),
            "{:?}",
            begun.elapsed()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn progress_makes_the_next_loss_a_new_one() {
        let mut retry = Retry::new(Duration::from_secs(10));
        for _ in 0..100 {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(5) {
                retry.pause(lost()).await.unwrap();
            }
            retry.reset();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_says_when_is_asked_then_unless_that_is_too_late() {
        let mut retry = Retry::new(Duration::from_secs(10));
        let begun = Instant::now();
        retry.pause(busy(7)).await.unwrap();
        assert!(begun.elapsed() >= Duration::from_secs(7));
        assert!(retry.pause(busy(7)).await.is_err());
        assert!(begun.elapsed() < Duration::from_secs(8));
    }
}
