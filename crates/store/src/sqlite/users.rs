//! Storage of users and sign-ins.

use async_trait::async_trait;

use super::SqliteStore;
use crate::sql::{cut, read_all, users};
use crate::{Page, PageRequest, SignInRow, StoreError, UserChange, UserRow, Users};

#[async_trait]
impl Users for SqliteStore {
    async fn put_user(&self, row: &UserRow) -> Result<bool, StoreError> {
        Ok(self.write(vec![users::put(row)]).await?.changed > 0)
    }

    async fn user(&self, id: &str) -> Result<Option<UserRow>, StoreError> {
        Ok(read_all(&self.fetch(users::get(id)).await?, users::read)?.pop().map(|(_, row)| row))
    }

    async fn user_by_name(&self, name: &str) -> Result<Option<UserRow>, StoreError> {
        Ok(read_all(&self.fetch(users::by_name(name)).await?, users::read)?.pop().map(|(_, row)| row))
    }

    async fn users(&self, page: PageRequest) -> Result<Page<UserRow>, StoreError> {
        Ok(cut(read_all(&self.fetch(users::list(page)).await?, users::read)?, page.limit))
    }

    async fn update_user(&self, id: &str, change: &UserChange) -> Result<bool, StoreError> {
        Ok(self.write(users::update(id, change)).await?.changed > 0)
    }

    async fn remove_user(&self, row: &UserRow, at_ms: u64) -> Result<bool, StoreError> {
        Ok(self.remove(users::remove(row, at_ms)).await?.changed > 0)
    }

    async fn put_sign_in(&self, row: &SignInRow) -> Result<(), StoreError> {
        self.write(vec![users::put_sign_in(row)]).await.map(drop)
    }

    async fn sign_in(&self, id: &str) -> Result<Option<SignInRow>, StoreError> {
        Ok(read_all(&self.fetch(users::sign_in(id)).await?, users::read_sign_in)?.pop())
    }

    async fn sign_in_by_hash(&self, hash: &[u8; 32]) -> Result<Option<SignInRow>, StoreError> {
        Ok(read_all(&self.fetch(users::sign_in_by_hash(hash)).await?, users::read_sign_in)?.pop())
    }

    async fn sign_in_by_previous(&self, hash: &[u8; 32]) -> Result<Option<SignInRow>, StoreError> {
        Ok(read_all(&self.fetch(users::sign_in_by_previous(hash)).await?, users::read_sign_in)?.pop())
    }

    async fn rotate_sign_in(
        &self,
        id: &str,
        from: &[u8; 32],
        to: &[u8; 32],
        expires_at_ms: u64,
    ) -> Result<bool, StoreError> {
        Ok(self.write(vec![users::rotate(id, from, to, expires_at_ms)]).await?.changed > 0)
    }

    async fn remove_sign_in(&self, id: &str) -> Result<bool, StoreError> {
        Ok(self.remove(vec![users::remove_sign_in(id)]).await?.changed > 0)
    }

    async fn remove_sign_ins_of(&self, user_id: &str) -> Result<u64, StoreError> {
        Ok(self.remove(vec![users::end_sign_ins(user_id)]).await?.changed)
    }

    async fn forget_sign_ins(&self, before_ms: u64) -> Result<u64, StoreError> {
        Ok(self.write(vec![users::forget_sign_ins(before_ms)]).await?.changed)
    }

    async fn touch_token(&self, id: &str, at_ms: u64) -> Result<(), StoreError> {
        self.write(vec![users::touch_token(id, at_ms)]).await.map(drop)
    }
}
