//! Storage of the rules of sessions.

use async_trait::async_trait;
use headwater_protocol::SessionId;

use super::SqliteStore;
use crate::sql::{read_all, session_rules};
use crate::{SessionRuleRow, SessionRules, StoreError};

#[async_trait]
impl SessionRules for SqliteStore {
    async fn put_session_rule(&self, row: &SessionRuleRow, most: u32) -> Result<bool, StoreError> {
        Ok(self.write(session_rules::put(row, most)?).await?.changed > 0)
    }

    async fn session_rules(
        &self,
        session: SessionId,
        owner: Option<&str>,
    ) -> Result<Vec<SessionRuleRow>, StoreError> {
        read_all(&self.fetch(session_rules::list(session, owner)).await?, session_rules::read)
    }

    async fn remove_session_rule(&self, session: SessionId, number: i64) -> Result<bool, StoreError> {
        Ok(self.remove(vec![session_rules::remove(session, number)]).await?.changed > 0)
    }
}
