//! Results of executions that a chat's client ran itself: rows and the interface for the gateway.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::StoreError;

/// A result that belongs to a message of a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatExecutionRow {
    /// The user that saved it.
    pub owner: String,
    /// The message that it belongs to, by the client's id.
    pub message_uuid: String,
    /// The artifact that was run, by the client's id.
    pub artifact_uuid: String,
    /// The execution, by the client's id. Unique for an artifact of a message.
    pub execution_id: String,
    /// When it was saved.
    pub saved_at_ms: u64,
    /// The result, as JSON.
    pub result: String,
}

/// Storage of results that chats save.
#[async_trait]
pub trait ChatExecutions: Send + Sync + Debug {
    /// Saves a result. One with the same ids is replaced, and the oldest ones of its owner beyond `keep` are removed.
    async fn put_chat_execution(&self, row: &ChatExecutionRow, keep: u32) -> Result<(), StoreError>;

    /// The newest results of a message of an owner, at most `limit`, oldest first.
    async fn chat_executions(
        &self,
        owner: &str,
        message_uuid: &str,
        limit: u32,
    ) -> Result<Vec<ChatExecutionRow>, StoreError>;
}
