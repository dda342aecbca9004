//! Small looks at a log that read none of it.

use super::{Head, Log, Reader, Writer};

impl Log {
    /// Waits until there is a verdict, or, with `closed`, until nothing more will come.
    pub async fn wait(&self, closed: bool) -> Head {
        let mut changes = self.state.subscribe();
        let done = |head: &Head| head.closed || (head.verdict.is_some() && !closed);
        // The sender lives in `self`, so this cannot fail.
        let _ = changes.wait_for(|state| done(&state.head())).await;
        self.head()
    }
}

impl Reader {
    /// Whether the verdict, if there is one, has been read or lies before where the reader began.
    pub fn is_past_verdict(&self) -> bool {
        self.due.is_empty()
            && self.log.state.borrow().view.exited.is_some_and(|verdict| verdict.seq <= self.at)
    }

    /// Whether the log has its last record.
    pub fn is_complete(&self) -> bool {
        self.log.state.borrow().view.closed
    }
}

impl Writer {
    /// Bytes written to all streams so far.
    pub fn total(&self) -> u64 {
        self.last.ends.total()
    }
}
