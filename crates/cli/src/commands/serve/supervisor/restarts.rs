//! When a server that died is started again, and when not.

use std::time::Duration;

use headwater_contract::Backoff;

/// Waits between two starts, at first and at most: connections wait meanwhile, and a client gives up after seconds.
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// A server that ran for this long was sound: the next death begins a new series.
const STEADY: Duration = Duration::from_secs(10);
/// Failed starts in a row after which nobody will be served by trying again.
const MOST_FAILURES: u32 = 5;

/// What to do about a server that died.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Start it again after this.
    StartAfter(Duration),
    /// The first start failed: whoever started us sees why.
    GiveUpAtOnce,
    /// It ran once, and now it does not start any more.
    GiveUp {
        /// How many starts failed in a row.
        failures: u32,
    },
}

/// The deaths so far.
#[derive(Debug)]
pub struct Restarts {
    backoff: Backoff,
    /// Starts in a row after which no request was answered.
    failures: u32,
    was_ever_ready: bool,
}

impl Default for Restarts {
    fn default() -> Self {
        Self { backoff: Backoff::new(FIRST_WAIT, LONGEST_WAIT), failures: 0, was_ever_ready: false }
    }
}

impl Restarts {
    /// A server died that had answered requests, or had not, and ran for this long.
    pub fn after(&mut self, was_ready: bool, ran: Duration) -> Next {
        self.was_ever_ready |= was_ready;
        if !self.was_ever_ready {
            return Next::GiveUpAtOnce;
        }
        self.failures = if was_ready { 0 } else { self.failures + 1 };
        if self.failures >= MOST_FAILURES {
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
    async fn a_server_that_dies_again_and_again_waits_longer_each_time_until_it_was_sound() {
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
        for _ in 1..MOST_FAILURES {
            assert!(matches!(restarts.after(false, MS), Next::StartAfter(_)));
        }
        assert_eq!(restarts.after(false, MS), Next::GiveUp { failures: MOST_FAILURES });
    }
}
