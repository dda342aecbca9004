//! The wait between two attempts: each is twice as long as the one before, up to a cap, until the patience runs out.

use std::time::Duration;

use tokio::time::Instant;

/// One series of attempts.
#[derive(Debug)]
pub struct Backoff {
    first: Duration,
    cap: Duration,
    patience: Option<Duration>,
    wait: Duration,
    since: Option<Instant>,
}

impl Backoff {
    /// Waits between `first` and `cap`, without an end: for loops that something else ends.
    pub const fn new(first: Duration, cap: Duration) -> Self {
        Self { first, cap, patience: None, wait: first, since: None }
    }

    /// The same, but no longer than this in all.
    #[must_use]
    pub const fn within(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// An attempt succeeded: the next failure begins a new series.
    pub const fn reset(&mut self) {
        (self.wait, self.since) = (self.first, None);
    }

    /// How long to wait before the next attempt; `None` when the patience has run out. For callers that wait themselves.
    pub fn next_wait(&mut self) -> Option<Duration> {
        let since = *self.since.get_or_insert_with(Instant::now);
        if self.patience.is_some_and(|patience| since.elapsed() >= patience) {
            return None;
        }
        let wait = self.wait;
        self.wait = self.wait.saturating_mul(2).min(self.cap);
        Some(wait)
    }

    /// Waits before the next attempt; false when the patience has run out.
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
