//! Small looks at a log that read none of it.

use super::{Head, Log, Writer};

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

impl Writer {
    /// Bytes written to all streams so far.
    pub fn total(&self) -> u64 {
        self.last.ends.total()
    }
}
