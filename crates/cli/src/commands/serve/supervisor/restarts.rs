//! Decides whether and when a server that died is restarted.

use std::time::Duration;

use headwater_contract::Backoff;

/// The first and the longest wait between two starts: connections wait meanwhile, and clients give up after seconds.
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// A server that ran this long was healthy: the next death starts a new series.
const STEADY: Duration = Duration::from_secs(10);
/// Failed starts in a row after which the supervisor gives up.
const MAX_FAILURES: u32 = 5;

/// What to do after a server has died.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Restart it after this wait.
    StartAfter(Duration),
    /// The first start failed: the user sees the reason.
    GiveUpAtOnce,
    /// It was ready before, but no longer starts.
    GiveUp {
        /// How many starts failed in a row.
        failures: u32,
    },
}

/// The history of restarts.
#[derive(Debug)]
pub struct Restarts {
    backoff: Backoff,
    /// Starts in a row that did not become ready.
    failures: u32,
    was_ever_ready: bool,
}

impl Default for Restarts {
    fn default() -> Self {
        Self { backoff: Backoff::new(FIRST_WAIT, LONGEST_WAIT), failures: 0, was_ever_ready: false }
    }
}

impl Restarts {
    /// Records the death of a server that had been ready or not, and decides what to do.
    pub fn after(&mut self, was_ready: bool, ran: Duration) -> Next {
        self.was_ever_ready |= was_ready;
        if !self.was_ever_ready {
            return Next::GiveUpAtOnce;
        }
        self.failures = if was_ready { 0 } else { self.failures + 1 };
        if self.failures >= MAX_FAILURES {
            return Next::GiveUp { failures: self.failures };
        }
        if was_ready && ran >= STEADY {
            self.backoff.reset();
        }
        Next::StartAfter(self.backoff.next_wait().unwrap_or(LONGEST_WAIT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[tokio::test(start_paused = true)]
    async fn a_first_start_that_fails_is_not_repeated() {
        assert_eq!(Restarts::default().after(false, MS), Next::GiveUpAtOnce);
    }

    #[tokio::test(start_paused = true)]
    async fn repeated_deaths_are_followed_by_longer_waits_until_a_server_was_healthy() {
        let mut restarts = Restarts::default();
        let waits: Vec<Next> = (0..9).map(|_| restarts.after(true, MS)).collect();
        assert_eq!(waits[..2], [Next::StartAfter(FIRST_WAIT), Next::StartAfter(2 * FIRST_WAIT)]);
        assert_eq!(waits[8], Next::StartAfter(LONGEST_WAIT));
        assert_eq!(restarts.after(true, STEADY), Next::StartAfter(FIRST_WAIT));
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_no_longer_starts_is_given_up() {
        let mut restarts = Restarts::default();
        assert_eq!(restarts.after(true, STEADY), Next::StartAfter(FIRST_WAIT));
        for _ in 1..MAX_FAILURES {
            assert!(matches!(restarts.after(false, MS), Next::StartAfter(_)));
        }
        assert_eq!(restarts.after(false, MS), Next::GiveUp { failures: MAX_FAILURES });
    }
}
