//! Live output as progress notifications.

use std::time::Duration;

use headwater_tools::Progress;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The shortest time between two notifications of a call: ten a second are more than a person reads.
pub(crate) const INTERVAL: Duration = Duration::from_millis(100);

/// Reports the output of one call.
#[derive(Debug)]
pub(crate) struct Reporter {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    seen: watch::Receiver<Progress>,
    /// The last reported number; the protocol demands that it grows.
    reported: u64,
    next: Instant,
}

impl Reporter {
    /// Reports what the call sends there.
    pub(crate) fn new(peer: Peer<RoleServer>, token: ProgressToken, seen: watch::Receiver<Progress>) -> Self {
        Self { peer, token, seen, reported: 0, next: Instant::now() }
    }

    /// Waits until there is something to report. It loses nothing if it is dropped.
    pub(crate) async fn ready(&mut self) {
        loop {
            sleep_until(self.next).await;
            if self.seen.borrow().bytes > self.reported {
                return;
            }
            if self.seen.changed().await.is_err() {
                // The call no longer reports: it is about to return.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Sends the newest output.
    pub(crate) async fn report(&mut self) {
        let newest = self.seen.borrow_and_update().clone();
        if newest.bytes <= self.reported {
            return;
        }
        self.reported = newest.bytes;
        self.next = Instant::now() + INTERVAL;
        #[expect(clippy::cast_precision_loss, reason = "exact below 8 PiB of output")]
        let mut progress = ProgressNotificationParam::new(self.token.clone(), newest.bytes as f64);
        progress.message = Some(newest.lines).filter(|lines| !lines.is_empty());
        // A client that is gone is noticed by its transport.
        let _ = self.peer.notify_progress(progress).await;
    }
}
