//! Answers that wait for a release.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{oneshot, watch};

/// How long a release waits for something to release.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where answers wait.
#[derive(Debug)]
pub(crate) struct Gate {
    waiting: Mutex<Vec<oneshot::Sender<()>>>,
    arrivals: watch::Sender<u64>,
}

impl Default for Gate {
    fn default() -> Self {
        Self { waiting: Mutex::default(), arrivals: watch::Sender::new(0) }
    }
}

impl Gate {
    /// Waits for a release. Dropping the future ends the wait.
    pub(crate) async fn wait(&self) {
        let (sender, receiver) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        self.arrivals.send_modify(|arrivals| *arrivals += 1);
        let _ = receiver.await; // the gate is gone: the end of the server
    }

    /// How many answers wait.
    pub(crate) fn waiting(&self) -> usize {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.iter().filter(|sender| !sender.is_closed()).count()
    }

    /// Releases everything that waits, as soon as something does; returns how much it was, or 0 after a while.
    pub(crate) async fn release(&self) -> usize {
        let mut arrivals = self.arrivals.subscribe();
        let released = async {
            loop {
                arrivals.borrow_and_update();
                let waiting =
                    std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
                let released = waiting.into_iter().filter_map(|sender| sender.send(()).ok()).count();
                if released > 0 || arrivals.changed().await.is_err() {
                    return released;
                }
            }
        };
        tokio::time::timeout(PATIENCE, released).await.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_release_waits_for_an_answer_and_ignores_those_that_are_gone() {
        let gate = Arc::new(Gate::default());
        assert_eq!(gate.release().await, 0, "nothing waits");
        assert!(tokio::time::timeout(Duration::from_secs(1), gate.wait()).await.is_err());
        let releasing = tokio::spawn({
            let gate = Arc::clone(&gate);
            async move { gate.release().await }
        });
        tokio::task::yield_now().await;
        gate.wait().await;
        assert_eq!(releasing.await.unwrap(), 1);
    }
}
