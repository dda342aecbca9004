//! The delay between two attempts: it doubles up to a maximum, until the total time is used up.

use std::time::Duration;

use tokio::time::Instant;

/// One series of attempts.
#[derive(Debug)]
pub struct Backoff {
    first: Duration,
    cap: Duration,
    limit: Option<Duration>,
    wait: Duration,
    since: Option<Instant>,
}

impl Backoff {
    /// Delays from `first` to `cap`, without an end: for loops that something else ends.
    pub const fn new(first: Duration, cap: Duration) -> Self {
        Self { first, cap, limit: None, wait: first, since: None }
    }

    /// Limits the total time.
    #[must_use]
    pub const fn within(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// To be called when an attempt has succeeded: the next failure begins a new series.
    pub const fn reset(&mut self) {
        (self.wait, self.since) = (self.first, None);
    }

    /// The delay before the next attempt; `None` when the time is used up. For callers that wait themselves.
    pub fn next_wait(&mut self) -> Option<Duration> {
        let since = *self.since.get_or_insert_with(Instant::now);
        if self.limit.is_some_and(|limit| since.elapsed() >= limit) {
            return None;
        }
        let wait = self.wait;
        self.wait = self.wait.saturating_mul(2).min(self.cap);
        Some(wait)
    }

    /// Waits before the next attempt; false when the time is used up.
    pub async fn pause(&mut self) -> bool {
        let Some(wait) = self.next_wait() else { return false };
        tokio::time::sleep(wait).await;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[tokio::test(start_paused = true)]
    async fn waits_double_up_to_the_cap_and_begin_again_after_a_success() {
        let mut backoff = Backoff::new(MS, 5 * MS);
        let mut waits = || backoff.next_wait().unwrap();
        assert_eq!([waits(), waits(), waits(), waits(), waits()], [MS, 2 * MS, 4 * MS, 5 * MS, 5 * MS]);
        backoff.reset();
        assert_eq!(backoff.next_wait(), Some(MS));
    }

    #[tokio::test(start_paused = true)]
    async fn a_series_ends_when_the_patience_has_run_out() {
        let mut backoff = Backoff::new(MS, 4 * MS).within(20 * MS);
        let mut attempts = 0;
        while backoff.pause().await {
            attempts += 1;
        }
        assert_eq!(attempts, 7); // 1 + 2 + 4 + 4 + 4 + 4 + 4 ms
        assert!(!backoff.pause().await);
    }
}
