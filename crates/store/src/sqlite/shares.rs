//! Storage of members and links.

use async_trait::async_trait;
use headwater_protocol::SessionId;

use super::SqliteStore;
use crate::sql::{read_all, shares};
use crate::{MemberRow, ShareRow, Shares, StoreError};

#[async_trait]
impl Shares for SqliteStore {
    async fn put_member(&self, row: &MemberRow) -> Result<(), StoreError> {
        self.write(vec![shares::put_member(row)]).await.map(drop)
    }

    async fn member(&self, session: SessionId, member: &str) -> Result<Option<MemberRow>, StoreError> {
        Ok(read_all(&self.fetch(shares::member(session, member)).await?, shares::read_member)?.pop())
    }

    async fn members(&self, session: SessionId) -> Result<Vec<MemberRow>, StoreError> {
        read_all(&self.fetch(shares::members(session)).await?, shares::read_member)
    }

    async fn remove_member(&self, session: SessionId, member: &str) -> Result<bool, StoreError> {
        Ok(self.remove(vec![shares::remove_member(session, member)]).await?.changed > 0)
    }

    async fn put_share(&self, row: &ShareRow) -> Result<(), StoreError> {
        self.write(vec![shares::put(row)]).await.map(drop)
    }

    async fn share_by_hash(&self, hash: &[u8; 32]) -> Result<Option<ShareRow>, StoreError> {
        Ok(read_all(&self.fetch(shares::by_hash(hash)).await?, shares::read)?.pop())
    }

    async fn shares(&self, session: SessionId) -> Result<Vec<ShareRow>, StoreError> {
        read_all(&self.fetch(shares::of_session(session)).await?, shares::read)
    }

    async fn revoke_share(&self, session: SessionId, id: &str, at_ms: u64) -> Result<bool, StoreError> {
        Ok(self.remove(vec![shares::revoke(session, id, at_ms)]).await?.changed > 0)
    }
}
