//! Hibernating a live session: its programs are ended after a warning, its workspace stays, and the next use resumes it.

use std::sync::Arc;
use std::time::Duration;

use headwater_protocol::ExecutionId;
use headwater_sandbox::wire::{Cause as StopCause, ToInit};

use super::{END_TIMEOUT, Session};

/// Held while something is started in a session: the session is not hibernated meanwhile.
pub(crate) type StartGuard = tokio::sync::OwnedRwLockReadGuard<()>;

impl Session {
    /// Held while something is started in it. Returns `None` if its init is going or gone: then wait until the session
    /// is gone.
    pub(crate) async fn enter(&self) -> Option<StartGuard> {
        let guard = Arc::clone(&self.starts).read_owned().await;
        self.phase().can_start().then_some(guard)
    }

    /// Waits until its init is gone and its logs are closed.
    pub(crate) async fn until_gone(&self) {
        self.phase.until_gone().await;
    }

    /// Hibernates it, unless something is being started in it. Its programs get SIGTERM, and SIGKILL after `warning`.
    pub(crate) async fn hibernate_unless_starting(self: &Arc<Self>, warning: Duration) {
        let Ok(_no_starts) = self.starts.try_write() else { return };
        self.stop_for_hibernation(warning).await;
    }

    /// Hibernates it as soon as nothing is being started in it. Returns when its init is gone and its logs are closed.
    pub(crate) async fn hibernate(self: &Arc<Self>, warning: Duration) {
        let no_starts = self.starts.write().await;
        self.stop_for_hibernation(warning).await;
        drop(no_starts);
        // Another caller may have begun to hibernate or to end it.
        let timeout = warning + 2 * END_TIMEOUT;
        if tokio::time::timeout(timeout, self.until_gone()).await.is_err() {
            self.kill_what_is_left();
            let _ = tokio::time::timeout(END_TIMEOUT, self.until_gone()).await;
        }
    }

    async fn stop_for_hibernation(&self, warning: Duration) {
        if !self.phase.begin_hibernation() {
            return;
        }
        let ids: Vec<ExecutionId> = self.running().keys().copied().collect();
        for id in &ids {
            // `listen` notices a broken link.
            let _ = self.stop(*id, StopCause::Cancelled, warning).await;
        }
        if !ids.is_empty() {
            let _ = tokio::time::timeout(warning + END_TIMEOUT, self.until_all_closed()).await;
        }
        let _ = self.init_link.send(&ToInit::End, &[]).await;
        if tokio::time::timeout(END_TIMEOUT, self.until_gone()).await.is_err() {
            self.kill_what_is_left();
        }
    }

    /// Waits until all of its executions are closed.
    pub(super) async fn until_all_closed(&self) {
        loop {
            let closed = self.closed.notified();
            if self.busy() == 0 {
                return;
            }
            closed.await;
        }
    }
}
