//! A log in memory.

use std::sync::{Arc, Mutex, RwLock};

use anyhow::{Context, Result};
use async_trait::async_trait;
use headwater_agent::{Decide, Journal, JournalError};
use headwater_protocol::conversation::{Conversation, ConversationEvent, ConversationId, LogEntry};
use headwater_tests::host::PATIENCE;
use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct MemoryJournal {
    id: ConversationId,
    conversation: Arc<RwLock<Conversation>>,
    log: Mutex<Vec<LogEntry>>,
    last: watch::Sender<u64>,
}

impl MemoryJournal {
    pub(crate) fn new() -> Arc<Self> {
        Self::of(&[])
    }

    /// The log as a restarted server finds it.
    pub(crate) fn of(log: &[LogEntry]) -> Arc<Self> {
        Arc::new(Self {
            id: ConversationId::random(),
            conversation: Arc::new(RwLock::new(Conversation::of(log))),
            log: Mutex::new(log.to_vec()),
            last: watch::Sender::new(log.len() as u64),
        })
    }

    pub(crate) fn log(&self) -> Vec<LogEntry> {
        self.log.lock().unwrap().clone()
    }

    pub(crate) fn now(&self) -> Conversation {
        self.conversation.read().unwrap().clone()
    }

    /// Waits until something is true of the conversation.
    pub(crate) async fn until(
        &self,
        what: &str,
        holds: impl Fn(&Conversation) -> bool,
    ) -> Result<Conversation> {
        let mut changes = self.changes();
        let waiting = async {
            loop {
                let now = self.now();
                if holds(&now) {
                    return now;
                }
                changes.changed().await.expect("the sender lives as long as the journal");
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        waited.with_context(|| format!("{what} did not happen: {:#?}", self.log()))
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    fn id(&self) -> &ConversationId {
        &self.id
    }

    async fn update(&self, decide: Decide) -> Result<Vec<LogEntry>, JournalError> {
        let mut log = self.log.lock().unwrap();
        let events: Vec<ConversationEvent> = decide(&self.conversation.read().unwrap());
        let at_ms = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis().try_into().unwrap();
        let first = log.len() as u64 + 1;
        let new: Vec<LogEntry> =
            (first..).zip(events).map(|(seq, event)| LogEntry { seq, at_ms, event }).collect();
        let mut conversation = self.conversation.write().unwrap();
        for entry in &new {
            // The log outlives a restart as text.
            let text = serde_json::to_string(entry).unwrap();
            conversation.apply(&serde_json::from_str(&text).unwrap());
            log.push(entry.clone());
        }
        self.last.send_replace(log.len() as u64);
        Ok(new)
    }

    fn conversation(&self) -> &Arc<RwLock<Conversation>> {
        &self.conversation
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }
}
