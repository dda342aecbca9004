//! The log of one conversation, as the agent sees it.

use std::fmt::Debug;
use std::sync::{Arc, RwLock};

use async_trait::async_trait;
use headwater_protocol::conversation::{Conversation, ConversationEvent, ConversationId, LogEntry};
use tokio::sync::watch;

/// Why events cannot be kept.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the conversation cannot be written: {0}")]
pub struct JournalError(pub String);

/// Decides, from the conversation as it is, which events to append.
pub type Decide = Box<dyn FnOnce(&Conversation) -> Vec<ConversationEvent> + Send>;

/// The log of one conversation. The server keeps it in its store, the command line in a file.
#[async_trait]
pub trait Journal: Debug + Send + Sync + 'static {
    /// Whose log it is.
    fn id(&self) -> &ConversationId;

    /// Appends what `decide` returns, all or none; nothing else is appended between the decision and the append. When this
    /// returns the events survive a `kill -9`, are part of [`conversation`](Self::conversation) and are on their way to
    /// readers.
    async fn update(&self, decide: Decide) -> Result<Vec<LogEntry>, JournalError>;

    /// Appends events, all or none.
    async fn append(&self, events: Vec<ConversationEvent>) -> Result<Vec<LogEntry>, JournalError> {
        self.update(Box::new(move |_| events)).await
    }

    /// The conversation as of the last event. It must not be held across an `await`.
    fn conversation(&self) -> &Arc<RwLock<Conversation>>;

    /// The number of the last event, and every later one.
    fn changes(&self) -> watch::Receiver<u64>;
}
