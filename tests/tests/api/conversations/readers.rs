//! A reader of a conversation's log that reconnects with the number of its last event, and checks that it gets everything
//! exactly once.

use anyhow::{Result, ensure};
use headwater_protocol::conversation::{Conversation, LogEntry};
use headwater_tests::host::PATIENCE;
use tokio::time::{Duration, Instant, sleep};

use super::chat::Talk;

/// A reader.
#[derive(Debug)]
pub(super) struct Reader {
    talk: Talk,
    pub(super) entries: Vec<LogEntry>,
    pub(super) folded: Conversation,
    /// How often it has connected.
    pub(super) connections: u32,
}

impl Reader {
    /// A reader from the beginning.
    pub(super) fn new(talk: &Talk) -> Self {
        Self { talk: talk.clone(), entries: Vec::new(), folded: Conversation::default(), connections: 0 }
    }

    /// Reads until the conversation is like this, over as many connections as that takes.
    pub(super) async fn until(&mut self, done: impl Fn(&Conversation) -> bool) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while !self.read(&done).await? {
            ensure!(Instant::now() < deadline, "the log does not go on after {}", self.folded.last_seq);
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Reads to the end of the turn that runs.
    pub(super) async fn read_to_end(mut self) -> Result<Self> {
        self.until(|now| now.turn.is_some() && now.running().is_none()).await?;
        Ok(self)
    }

    /// Reads one connection to its end. Returns whether the conversation is like this.
    async fn read(&mut self, done: impl Fn(&Conversation) -> bool) -> Result<bool> {
        let last = self.folded.last_seq.to_string();
        let Ok(mut stream) = self.talk.api.resume(&self.talk.path("/log"), &last).await else {
            return Ok(false);
        };
        self.connections += 1;
        // An error of the connection is its end.
        while let Ok(Some(event)) = stream.next().await {
            match event.event.as_deref() {
                Some("entry") => {
                    let entry: LogEntry = serde_json::from_str(&event.data)?;
                    ensure!(event.id == Some(entry.seq.to_string()), "{event:?}");
                    let last = self.folded.last_seq;
                    ensure!(entry.seq > last, "the event {} came after {last}", entry.seq);
                    self.folded.apply(&entry);
                    self.entries.push(entry);
                }
                Some("reconnect") => return Ok(false),
                other => anyhow::bail!("{other:?}: {}", event.data),
            }
            if done(&self.folded) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
