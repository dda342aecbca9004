//! Terminals that nobody uses end: no viewer, nothing printed, for as long as the operator says.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use headwater_protocol::{ExecutionId, Seq};
use tokio::time::{Instant, sleep};

use super::name_of;
use crate::insist::{if_it_fits, insist};
use crate::state::Gateway;

/// How often is looked, at most.
const LOOK: Duration = Duration::from_secs(30);

/// Since when a terminal has shown nothing new.
#[derive(Debug, Clone, Copy)]
struct Quiet {
    last_seq: Seq,
    since: Instant,
}

impl Gateway {
    /// Ends terminals that are idle, until the server ends. A gateway that starts begins to count anew.
    pub(crate) async fn look_after_terminals(self: &Arc<Self>) {
        let limit = self.config.terminal_idle_timeout;
        if limit.is_zero() {
            return;
        }
        let mut quiet = HashMap::new();
        loop {
            tokio::select! {
                () = self.stopping.cancelled() => return,
                () = sleep(LOOK.min(limit / 4).max(Duration::from_millis(50))) => {}
            }
            for id in self.idle_terminals(&mut quiet, limit).await {
                tracing::info!(execution = %id, "a terminal was idle for too long");
                if let Err(error) = self.hang_up(id).await {
                    tracing::warn!(%error, execution = %id, "an idle terminal cannot be ended");
                }
            }
        }
    }

    async fn idle_terminals(
        &self,
        quiet: &mut HashMap<ExecutionId, Quiet>,
        limit: Duration,
    ) -> Vec<ExecutionId> {
        let told = insist(self.worker.calls(), |worker| async move { worker.executions(None, true).await });
        let Ok(running) = told.await.and_then(|told| if_it_fits(Ok(told))) else {
            return Vec::new(); // the next look finds them
        };
        let (now, before) = (Instant::now(), std::mem::take(quiet));
        let mut idle = Vec::new();
        for told in running.iter().filter(|told| name_of(told).is_some()) {
            let fresh = Quiet { last_seq: told.last_seq, since: now };
            let known = before.get(&told.id).copied();
            let is_used = |known: &Quiet| known.last_seq != told.last_seq || self.viewers.has(told.id);
            let state = known.filter(|known| !is_used(known)).unwrap_or(fresh);
            if now.duration_since(state.since) >= limit {
                idle.push(told.id);
            }
            quiet.insert(told.id, state);
        }
        idle
    }
}
