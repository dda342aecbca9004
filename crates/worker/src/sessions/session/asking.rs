//! Asking init to tell everything again, after a message of it was lost.
//!
//! A message is lost when this process can open no more descriptors. Init answers `Hello` with a message for each
//! execution, and each of those may be lost as well. So at most one question is on its way at a time, and they become
//! rarer while messages go on being lost: one question for each lost message would multiply without end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use headwater_contract::Backoff;
use headwater_sandbox::link::LinkError;
use headwater_sandbox::wire::ToInit;
use tokio::time::Instant;

use super::Session;

/// Before the first question: other executions may end meanwhile.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait between two questions.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Whether a question is on its way, and how long the next one waits.
#[derive(Debug)]
pub(crate) struct Asking(Mutex<State>);

#[derive(Debug)]
struct State {
    backoff: Backoff,
    is_under_way: bool,
    lost_at: Option<Instant>,
}

impl Default for Asking {
    fn default() -> Self {
        let backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        Self(Mutex::new(State { backoff, is_under_way: false, lost_at: None }))
    }
}

impl Asking {
    /// A message was lost. Returns how long to wait before asking, unless somebody is about to ask.
    fn lost(&self) -> Option<Duration> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = state.lost_at.replace(Instant::now());
        if state.is_under_way {
            return None;
        }
        // Nothing was lost since the last question was answered: this is a new shortage.
        if last.is_some_and(|last| last.elapsed() > 2 * LONGEST_WAIT) {
            state.backoff.reset();
        }
        let wait = state.backoff.next_wait();
        state.is_under_way = wait.is_some();
        wait
    }

    /// The question was asked: what is lost from now on needs another.
    fn asked(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_under_way = false;
    }
}

impl Session {
    /// Has init tell everything again, after a while: the message may have been the start of a program. Ends with the
    /// session.
    pub(crate) fn ask_again(self: &Arc<Self>, error: &LinkError) {
        let Some(wait) = self.asking.lost() else { return };
        tracing::error!(session = %self.id, %error, again_in = ?wait, "messages from init are lost");
        let session = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(wait).await;
            let Some(session) = session.upgrade() else { return };
            session.asking.asked();
            // If init is gone, `listen` hears of that.
            let _ = session.tell(&ToInit::Hello).await;
            let _ = session.open_outlet().await;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn any_number_of_lost_messages_is_one_question_and_questions_become_rarer() {
        let asking = Asking::default();
        let mut waits = Vec::new();
        for _ in 0..8 {
            let questions: Vec<_> = (0..1000).filter_map(|_| asking.lost()).collect();
            assert_eq!(questions.len(), 1, "a thousand lost messages ask once");
            tokio::time::sleep(questions[0]).await;
            asking.asked();
            waits.push(questions[0].as_secs());
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30, 30]);
        tokio::time::sleep(3 * LONGEST_WAIT).await;
        assert_eq!(asking.lost(), Some(FIRST_WAIT), "a new shortage begins anew");
    }
}
