//! Requesting init's state again, after a message from it was lost.
//!
//! A message is lost when this process can open no more descriptors. Init answers `Hello` with a message for each
//! execution, and each of those may be lost as well. So there is at most one request at a time, with a back-off while
//! messages continue to be lost: one request for each lost message would multiply without end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use headwater_contract::Backoff;
use headwater_sandbox::link::LinkError;
use headwater_sandbox::wire::ToInit;
use tokio::time::Instant;

use super::Session;

/// Before the first request: executions that end meanwhile free descriptors.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait between two requests.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Whether a request is pending, and how long the next one waits.
#[derive(Debug)]
pub(crate) struct Resync(Mutex<State>);

#[derive(Debug)]
struct State {
    backoff: Backoff,
    is_pending: bool,
    lost_at: Option<Instant>,
}

impl Default for Resync {
    fn default() -> Self {
        let backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        Self(Mutex::new(State { backoff, is_pending: false, lost_at: None }))
    }
}

impl Resync {
    /// A message was lost. Returns how long to wait before the request, or `None` if one is pending.
    fn lost(&self) -> Option<Duration> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = state.lost_at.replace(Instant::now());
        if state.is_pending {
            return None;
        }
        // Nothing was lost since the last request was answered: this is a new shortage.
        if last.is_some_and(|last| last.elapsed() > 2 * LONGEST_WAIT) {
            state.backoff.reset();
        }
        let wait = state.backoff.next_wait();
        state.is_pending = wait.is_some();
        wait
    }

    /// The request is being sent: a message that is lost from now on needs another.
    fn sent(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_pending = false;
    }
}

impl Session {
    /// Requests init's state again after a wait: the lost message may have been the start of a program.
    pub(crate) fn resync(self: &Arc<Self>, error: &LinkError) {
        let Some(wait) = self.resync.lost() else { return };
        tracing::error!(session = %self.id, %error, again_in = ?wait, "messages from init are lost");
        let session = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(wait).await;
            let Some(session) = session.upgrade() else { return };
            session.resync.sent();
            // If init is gone, `listen` notices.
            let _ = session.send(&ToInit::Hello).await;
            let _ = session.open_outlet().await;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn any_number_of_lost_messages_is_one_question_and_questions_become_rarer() {
        let resync = Resync::default();
        let mut waits = Vec::new();
        for _ in 0..8 {
            let requests: Vec<_> = (0..1000).filter_map(|_| resync.lost()).collect();
            assert_eq!(requests.len(), 1, "a thousand lost messages, one request");
            tokio::time::sleep(requests[0]).await;
            resync.sent();
            waits.push(requests[0].as_secs());
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30, 30]);
        tokio::time::sleep(3 * LONGEST_WAIT).await;
        assert_eq!(resync.lost(), Some(FIRST_WAIT), "a new shortage starts with the first wait");
    }
}
