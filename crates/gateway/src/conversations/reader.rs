//! Following the log of a conversation.

use std::sync::Arc;

use headwater_agent::Journal;
use headwater_protocol::conversation::LogEntry;
use tokio::sync::watch;

use super::Live;
use crate::error::ApiError;

/// Reads a log from a position on, and then what is appended. It has no queue: a reader that is slow reads later from the
/// store, and delays nobody.
#[derive(Debug)]
pub(crate) struct LogReader {
    live: Arc<Live>,
    after: u64,
    changes: watch::Receiver<u64>,
}

impl LogReader {
    /// Reads what comes after a `seq`.
    pub(crate) fn new(live: Arc<Live>, after: u64) -> Self {
        let changes = live.changes();
        Self { live, after, changes }
    }

    /// The `seq` of the last entry that was returned.
    pub(crate) const fn position(&self) -> u64 {
        self.after
    }

    /// Whether everything that was appended was returned.
    pub(crate) fn is_current(&self) -> bool {
        *self.changes.borrow() <= self.after
    }

    /// The conversation.
    pub(crate) const fn live(&self) -> &Arc<Live> {
        &self.live
    }

    /// The next entries, as soon as there are some; `None` when the conversation was deleted. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Arc<LogEntry>>>, ApiError> {
        loop {
            if self.live.is_gone() {
                return Ok(None);
            }
            let last = *self.changes.borrow_and_update();
            if last > self.after {
                let entries = self.live.entries_after(self.after).await?;
                if let Some(entry) = entries.last() {
                    self.after = entry.seq;
                    return Ok(Some(entries));
                }
                // Only deltas were there, and they have been removed: what replaces them follows.
            }
            tokio::select! {
                changed = self.changes.changed() => if changed.is_err() { return Ok(None) },
                () = self.live.gone().cancelled() => return Ok(None),
            }
        }
    }
}
