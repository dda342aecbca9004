//! Storage of results that chats save.

use async_trait::async_trait;

use super::SqliteStore;
use crate::sql::{chat, read_all};
use crate::{ChatExecutionRow, ChatExecutions, StoreError};

#[async_trait]
impl ChatExecutions for SqliteStore {
    async fn put_chat_execution(&self, row: &ChatExecutionRow, keep: u32) -> Result<(), StoreError> {
        self.write(chat::put(row, keep)).await.map(drop)
    }

    async fn chat_executions(
        &self,
        owner: &str,
        message_uuid: &str,
        limit: u32,
    ) -> Result<Vec<ChatExecutionRow>, StoreError> {
        let mut rows =
            read_all(&self.fetch(chat::of_message(owner, message_uuid, limit)).await?, chat::read)?;
        rows.reverse();
        Ok(rows)
    }
}
