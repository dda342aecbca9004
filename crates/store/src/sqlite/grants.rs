//! Storage of OAuth grants.

use async_trait::async_trait;

use super::SqliteStore;
use crate::sql::{grants, read_all};
use crate::{GrantRenewal, GrantRow, Grants, StoreError};

#[async_trait]
impl Grants for SqliteStore {
    async fn put_grant(&self, row: &GrantRow, keep: u32) -> Result<(), StoreError> {
        self.write(grants::put(row, keep)?).await.map(drop)
    }

    async fn grant_by_code(&self, code_hash: &[u8; 32]) -> Result<Option<GrantRow>, StoreError> {
        Ok(read_all(&self.fetch(grants::by_code(code_hash)).await?, grants::read)?.pop())
    }

    async fn grant_by_refresh(&self, refresh_hash: &[u8; 32]) -> Result<Option<GrantRow>, StoreError> {
        let valid = read_all(&self.fetch(grants::by_refresh(refresh_hash)).await?, grants::read)?.pop();
        if valid.is_some() {
            return Ok(valid);
        }
        Ok(read_all(&self.fetch(grants::by_used_refresh(refresh_hash)).await?, grants::read)?.pop())
    }

    async fn redeem_grant(&self, id: &str, token_id: &str, first: &GrantRenewal) -> Result<bool, StoreError> {
        Ok(self.write(vec![grants::redeem(id, token_id, first)]).await?.changed > 0)
    }

    async fn renew_grant(&self, id: &str, used: &[u8; 32], next: &GrantRenewal) -> Result<bool, StoreError> {
        Ok(self.write(vec![grants::renew(id, used, next)]).await?.changed > 0)
    }

    async fn remove_grant(&self, id: &str) -> Result<bool, StoreError> {
        Ok(self.remove(vec![grants::remove(id)]).await?.changed > 0)
    }
}
