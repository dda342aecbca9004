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

/// The log of one conversation. The server keeps it in its store, the command line in a file.
#[async_trait]
pub trait Journal: Debug + Send + Sync + 'static {
    /// Whose log it is.
    fn id(&self) -> &ConversationId;

    /// Appends events, all or none. When this returns they survive a `kill -9`, are part of [`conversation`](Self::conversation)
    /// and are on their way to readers. Appends of several tasks are serialised.
    async fn append(&self, events: Vec<ConversationEvent>) -> Result<Vec<LogEntry>, JournalError>;

    /// The conversation as of the last event. It must not be held across an `await`.
    fn conversation(&self) -> &Arc<RwLock<Conversation>>;

    /// The number of the last event, and every later one.
    fn changes(&self) -> watch::Receiver<u64>;
}
