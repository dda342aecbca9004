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

    /// Whether the log is at its limit and nothing may be dropped, because a lossless reader has not read it. What is
    /// written all the same makes the log larger than it should be.
    pub const fn is_full(&self) -> bool {
        self.retention.is_full()
    }

    /// Waits until there may be room in a full log. Dropping the future loses nothing.
    pub async fn room(&self) {
        self.log.holds.changed().await;
    }

    /// Looks whether there is room now.
    pub fn look_for_room(&mut self) {
        self.make_room();
    }
}
