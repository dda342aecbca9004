//! Storage of conversations.

use async_trait::async_trait;
use headwater_protocol::conversation::{ConversationId, LogEntry};

use super::SqliteStore;
use crate::sql::{
    conversation_access as access, conversation_log as log, conversations, cut, read_all, read_number,
};
use crate::{
    ConversationChange, ConversationFilter, ConversationMemberRow, ConversationRow, ConversationShareRow,
    ConversationState, Conversations, Page, PageRequest, StoreError,
};

#[async_trait]
impl Conversations for SqliteStore {
    async fn put_conversation(&self, row: &ConversationRow) -> Result<Option<i64>, StoreError> {
        let written = self.write(vec![conversations::put(row)?]).await?;
        Ok((written.changed > 0).then_some(written.number))
    }

    async fn conversation(&self, id: &ConversationId) -> Result<Option<ConversationRow>, StoreError> {
        let rows = self.fetch(conversations::get(id)).await?;
        Ok(read_all(&rows, conversations::read)?.pop().map(|(_, row)| row))
    }

    async fn conversations(
        &self,
        filter: &ConversationFilter,
        page: PageRequest,
    ) -> Result<Page<ConversationRow>, StoreError> {
        let rows = self.fetch(conversations::list(filter, page)).await?;
        Ok(cut(read_all(&rows, conversations::read)?, page.limit))
    }

    async fn child_conversations(&self, parent: &ConversationId) -> Result<Vec<ConversationId>, StoreError> {
        read_all(&self.fetch(conversations::children(parent)).await?, conversations::read_id)
    }

    async fn running_conversations(&self) -> Result<Vec<ConversationId>, StoreError> {
        read_all(&self.fetch(conversations::running()).await?, conversations::read_id)
    }

    async fn count_conversations(&self, owner: &str) -> Result<u64, StoreError> {
        let counts = read_all(&self.fetch(conversations::count(owner)).await?, read_number)?;
        Ok(counts.first().map_or(0, |count| count.unsigned_abs()))
    }

    async fn update_conversation(
        &self,
        id: &ConversationId,
        change: &ConversationChange,
    ) -> Result<bool, StoreError> {
        Ok(self.write(vec![conversations::update(id, change)?]).await?.changed > 0)
    }

    async fn remove_conversation(&self, id: &ConversationId) -> Result<bool, StoreError> {
        Ok(self.remove(vec![conversations::remove(id)]).await?.changed > 0)
    }

    async fn append_conversation(
        &self,
        number: i64,
        entries: &[LogEntry],
        state: ConversationState,
    ) -> Result<(), StoreError> {
        let statements = log::append(number, entries, state)?;
        if statements.is_empty() {
            return Ok(());
        }
        self.write(statements).await.map(drop)
    }

    async fn conversation_log(
        &self,
        number: i64,
        after: u64,
        limit: u32,
    ) -> Result<Vec<LogEntry>, StoreError> {
        read_all(&self.fetch(log::after(number, after, limit)).await?, log::read)
    }

    async fn put_conversation_member(&self, row: &ConversationMemberRow) -> Result<(), StoreError> {
        self.write(vec![access::put_member(row)]).await.map(drop)
    }

    async fn conversation_members(
        &self,
        id: &ConversationId,
    ) -> Result<Vec<ConversationMemberRow>, StoreError> {
        read_all(&self.fetch(access::members(id, None)).await?, access::read_member)
    }

    async fn conversation_member(
        &self,
        id: &ConversationId,
        member: &str,
    ) -> Result<Option<ConversationMemberRow>, StoreError> {
        Ok(read_all(&self.fetch(access::members(id, Some(member))).await?, access::read_member)?.pop())
    }

    async fn remove_conversation_member(
        &self,
        id: &ConversationId,
        member: &str,
    ) -> Result<bool, StoreError> {
        Ok(self.remove(vec![access::remove_member(id, member)]).await?.changed > 0)
    }

    async fn put_conversation_share(&self, row: &ConversationShareRow) -> Result<(), StoreError> {
        self.write(vec![access::put_share(row)]).await.map(drop)
    }

    async fn conversation_share_by_hash(
        &self,
        hash: &[u8; 32],
    ) -> Result<Option<ConversationShareRow>, StoreError> {
        Ok(read_all(&self.fetch(access::share_by_hash(hash)).await?, access::read_share)?.pop())
    }

    async fn conversation_shares(
        &self,
        id: &ConversationId,
    ) -> Result<Vec<ConversationShareRow>, StoreError> {
        read_all(&self.fetch(access::shares(id)).await?, access::read_share)
    }

    async fn revoke_conversation_share(
        &self,
        id: &ConversationId,
        share: &str,
        at_ms: u64,
    ) -> Result<bool, StoreError> {
        Ok(self.remove(vec![access::revoke(id, share, at_ms)]).await?.changed > 0)
    }
}
