//! Putting a session to sleep: what runs in it is ended after a warning, its workspace stays, and the next use wakes it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use headwater_protocol::ExecutionId;
use headwater_sandbox::wire::{Cause, ToInit};

use super::{END_PATIENCE, Session};

/// Somebody starts something in a session, which is not put to sleep meanwhile.
pub(crate) type Inside = tokio::sync::OwnedRwLockReadGuard<()>;

impl Session {
    /// Whether it is being put to sleep.
    pub(crate) fn is_dozing(&self) -> bool {
        self.dozing.load(Ordering::Relaxed)
    }

    /// Whether it is asleep once its init is gone, for whatever reason that is, or over.
    pub(crate) fn sleeps_on(&self) -> bool {
        !self.is_ending() && !self.record().spec.one_shot
    }

    /// Held while something is started in it; `None`: its init is going or gone, and so has to be waited for.
    pub(crate) async fn enter(&self) -> Option<Inside> {
        let inside = Arc::clone(&self.door).read_owned().await;
        (!self.is_dozing() && !self.gone.load(Ordering::Relaxed)).then_some(inside)
    }

    /// Waits until its init is gone and its logs are closed.
    pub(crate) async fn wait_until_over(&self) {
        // The sender is its own: it does not go before us.
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }

    /// Puts it to sleep, unless something is being started in it. What runs is told by SIGTERM, and has `warning` to
    /// bring its things in order.
    pub(crate) async fn doze(self: &Arc<Self>, warning: Duration) {
        let Ok(_nobody_inside) = self.door.try_write() else { return };
        self.fall_asleep(warning).await;
    }

    /// The same, but it waits for whoever starts something in it, and returns when its init is gone and its logs are
    /// closed.
    pub(crate) async fn hibernate(self: &Arc<Self>, warning: Duration) {
        let nobody_inside = self.door.write().await;
        self.fall_asleep(warning).await;
        drop(nobody_inside);
        // Somebody else may have begun to put it to sleep, or to end it.
        let patience = warning + 2 * END_PATIENCE;
        if tokio::time::timeout(patience, self.wait_until_over()).await.is_err() {
            self.kill_what_is_left();
            let _ = tokio::time::timeout(END_PATIENCE, self.wait_until_over()).await;
        }
    }

    async fn fall_asleep(&self, warning: Duration) {
        if self.is_ending() || self.dozing.swap(true, Ordering::Relaxed) {
            return;
        }
        let ids: Vec<ExecutionId> = self.running().keys().copied().collect();
        for id in &ids {
            // A link that is broken is heard of by `listen`.
            let _ = self.stop(*id, Cause::Cancelled, warning).await;
        }
        if !ids.is_empty() {
            let _ = tokio::time::timeout(warning + END_PATIENCE, self.wait_until_quiet()).await;
        }
        let _ = self.link.send(&ToInit::End, &[]).await;
        if tokio::time::timeout(END_PATIENCE, self.wait_until_over()).await.is_err() {
            self.kill_what_is_left();
        }
    }

    /// Waits until no execution is open.
    async fn wait_until_quiet(&self) {
        loop {
            let closed = self.closed.notified();
            if self.busy() == 0 {
                return;
            }
            closed.await;
        }
    }
}
