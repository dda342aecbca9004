//! Storage of tool calls.

use async_trait::async_trait;
use headwater_protocol::SessionId;

use super::SqliteStore;
use crate::sql::{cut, read_all, tool_calls};
use crate::{Page, PageRequest, StoreError, ToolCallRow, ToolCalls};

#[async_trait]
impl ToolCalls for SqliteStore {
    async fn put_tool_call(&self, row: &ToolCallRow) -> Result<(), StoreError> {
        self.write(vec![tool_calls::put(row)?]).await.map(drop)
    }

    async fn trim_tool_calls(&self, owner: &str, keep: u64) -> Result<u64, StoreError> {
        Ok(self.remove(vec![tool_calls::trim(owner, keep)]).await?.changed)
    }

    async fn tool_calls(
        &self,
        session: SessionId,
        page: PageRequest,
    ) -> Result<Page<ToolCallRow>, StoreError> {
        let rows = self.fetch(tool_calls::list(session, page)).await?;
        Ok(cut(read_all(&rows, tool_calls::read)?, page.limit))
    }
}
