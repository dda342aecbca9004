//! The store's methods: each runs the SQL of a table on the writer or on a reader.

use std::collections::HashMap;

use async_trait::async_trait;
use headwater_protocol::build::BuildResult;
use headwater_protocol::{BuildId, ExecutionId, SessionId, SessionSpec};

use super::SqliteStore;
use crate::sql::{
    Statement, audit, builds, cut, execution_search, executions, grants, keys, ping, read_all, read_number,
    retention, sessions, tokens, usage,
};
use crate::{
    AuditFilter, AuditRow, AuditRules, BuildRow, Claim, ExecutionEnd, ExecutionFilter, ExecutionRow, KeyRow,
    Page, PageRequest, RemovedLogRow, RowRules, SessionFilter, SessionRow, Store, StoreError, TokenRow,
};

/// How often claiming a key is retried because it was claimed and forgotten in between.
const MAX_CLAIM_ATTEMPTS: usize = 3;

impl SqliteStore {
    /// The number in the row that a statement selects, if it selects one.
    async fn number(&self, statement: Statement) -> Result<Option<i64>, StoreError> {
        Ok(read_all(&self.fetch(statement).await?, read_number)?.pop())
    }
}

/// The error of a write that breaks only the rule for names.
fn name_taken(error: StoreError) -> StoreError {
    match error {
        StoreError::Conflict { message } if message.contains("unique_name") => StoreError::NameTaken,
        error => error,
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn put_session(&self, row: &SessionRow) -> Result<bool, StoreError> {
        Ok(self.write(vec![sessions::put(row)?]).await?.changed > 0)
    }

    async fn create_session(&self, row: &SessionRow) -> Result<bool, StoreError> {
        let written = self.write(vec![sessions::create(row)?]).await;
        Ok(written.map_err(name_taken)?.changed > 0)
    }

    async fn rename_session(&self, id: SessionId, name: Option<&str>) -> Result<bool, StoreError> {
        let written = self.write(vec![sessions::rename(id, name)]).await;
        Ok(written.map_err(name_taken)?.changed > 0)
    }

    async fn session_by_name(&self, owner: &str, name: &str) -> Result<Option<SessionRow>, StoreError> {
        let rows = self.fetch(sessions::by_name(owner, name)).await?;
        Ok(read_all(&rows, sessions::read)?.pop().map(|(_, row)| row))
    }

    async fn session(&self, id: SessionId) -> Result<Option<SessionRow>, StoreError> {
        let rows = self.fetch(sessions::get(id)).await?;
        Ok(read_all(&rows, sessions::read)?.pop().map(|(_, row)| row))
    }

    async fn sessions(
        &self,
        filter: &SessionFilter,
        page: PageRequest,
    ) -> Result<Page<SessionRow>, StoreError> {
        // Read first: rows that are added meanwhile belong to this page.
        let lowest = match filter.text {
            Some(_) => self.number(sessions::lowest_scanned(filter, page)).await?,
            None => None,
        };
        let rows = self.fetch(sessions::list(filter, page, lowest)).await?;
        let found = cut(read_all(&rows, sessions::read)?, page.limit);
        Ok(Page { next: found.next.or(lowest), ..found })
    }

    async fn last_activity(&self, ids: &[SessionId]) -> Result<HashMap<SessionId, u64>, StoreError> {
        let rows = self.fetch(sessions::last_activity(ids)).await?;
        Ok(read_all(&rows, sessions::read_last_activity)?.into_iter().collect())
    }

    async fn update_session(&self, id: SessionId, spec: &SessionSpec) -> Result<bool, StoreError> {
        Ok(self.write(vec![sessions::update(id, spec)?]).await?.changed > 0)
    }

    async fn end_session(&self, id: SessionId, at_ms: u64) -> Result<bool, StoreError> {
        Ok(self.remove(vec![sessions::end(id, at_ms)]).await?.changed > 0)
    }

    async fn remove_session(&self, id: SessionId) -> Result<bool, StoreError> {
        Ok(self.remove(sessions::remove(id)).await?.changed > 0)
    }

    async fn put_execution(&self, row: &ExecutionRow) -> Result<Option<i64>, StoreError> {
        let written = self.write(executions::put(row)?).await?;
        Ok((written.changed > 0).then_some(written.number))
    }

    async fn execution(&self, id: ExecutionId) -> Result<Option<ExecutionRow>, StoreError> {
        let rows = self.fetch(executions::get(id)).await?;
        Ok(read_all(&rows, executions::read)?.pop())
    }

    async fn executions(
        &self,
        filter: &ExecutionFilter,
        page: PageRequest,
    ) -> Result<Page<ExecutionRow>, StoreError> {
        // Read first: rows that are added meanwhile belong to this page.
        let lowest = if execution_search::is_search(filter) {
            self.number(executions::lowest_scanned(filter, page)).await?
        } else {
            None
        };
        let rows = self.fetch(executions::list(filter, page, lowest)).await?;
        let rows = read_all(&rows, executions::read)?;
        let found = cut(rows.into_iter().map(|row| (row.number, row)).collect(), page.limit);
        Ok(Page { next: found.next.or(lowest), ..found })
    }

    async fn executions_after(
        &self,
        filter: &ExecutionFilter,
        number: i64,
        limit: u32,
    ) -> Result<Vec<ExecutionRow>, StoreError> {
        read_all(&self.fetch(executions::after(filter, number, limit)).await?, executions::read)
    }

    async fn last_execution_number(&self) -> Result<i64, StoreError> {
        Ok(self.number(executions::last_number()).await?.unwrap_or(0))
    }

    async fn end_execution(&self, id: ExecutionId, end: &ExecutionEnd) -> Result<bool, StoreError> {
        Ok(self.remove(vec![executions::end(id, end)?]).await?.changed > 0)
    }

    async fn unfinished(&self) -> Result<Vec<(ExecutionId, SessionId)>, StoreError> {
        read_all(&self.fetch(executions::unfinished()).await?, executions::read_unfinished)
    }

    async fn remove_execution(&self, id: ExecutionId) -> Result<bool, StoreError> {
        Ok(self.remove(executions::remove(id)).await?.changed > 0)
    }

    async fn claim_key(&self, row: &KeyRow) -> Result<Claim, StoreError> {
        for _ in 0..MAX_CLAIM_ATTEMPTS {
            if self.write(vec![keys::claim(row)]).await?.changed > 0 {
                return Ok(Claim::New);
            }
            let rows = self.fetch(keys::get(&row.owner, &row.key)).await?;
            if let Some(known) = read_all(&rows, keys::read)?.pop() {
                return Ok(Claim::Known(known));
            }
        }
        Err(StoreError::Busy { message: "the key is claimed and forgotten again and again".into() })
    }

    async fn has_key(&self, object: &str) -> Result<bool, StoreError> {
        Ok(!self.fetch(keys::naming(object)).await?.is_empty())
    }

    async fn forget_keys(&self, before_ms: u64) -> Result<u64, StoreError> {
        Ok(self.write(vec![keys::forget(before_ms)]).await?.changed)
    }

    async fn put_token(&self, row: &TokenRow) -> Result<bool, StoreError> {
        Ok(self.write(vec![tokens::put(row)?]).await?.changed > 0)
    }

    async fn token_by_hash(&self, hash: &[u8; 32]) -> Result<Option<TokenRow>, StoreError> {
        Ok(read_all(&self.fetch(tokens::by_hash(hash)).await?, tokens::read)?.pop())
    }

    async fn tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        read_all(&self.fetch(tokens::all()).await?, tokens::read)
    }

    async fn revoke_token(&self, id: &str, at_ms: u64) -> Result<bool, StoreError> {
        Ok(self.remove(vec![grants::remove_of_token(id), tokens::revoke(id, at_ms)]).await?.changed > 0)
    }

    async fn renew_token(&self, id: &str, hash: &[u8; 32], expires_at_ms: u64) -> Result<bool, StoreError> {
        Ok(self.write(vec![tokens::renew(id, hash, expires_at_ms)]).await?.changed > 0)
    }

    async fn put_build(&self, row: &BuildRow) -> Result<bool, StoreError> {
        Ok(self.write(vec![builds::put(row)?]).await?.changed > 0)
    }

    async fn build(&self, id: BuildId) -> Result<Option<BuildRow>, StoreError> {
        Ok(read_all(&self.fetch(builds::get(id)).await?, builds::read)?.pop().map(|(_, row)| row))
    }

    async fn builds(&self, session: SessionId, page: PageRequest) -> Result<Page<BuildRow>, StoreError> {
        let rows = self.fetch(builds::list(session, page)).await?;
        Ok(cut(read_all(&rows, builds::read)?, page.limit))
    }

    async fn end_build(&self, id: BuildId, result: &BuildResult, executed: bool) -> Result<bool, StoreError> {
        Ok(self.remove(vec![builds::end(id, result, executed)?]).await?.changed > 0)
    }

    async fn unfinished_builds(&self) -> Result<Vec<BuildRow>, StoreError> {
        let rows = read_all(&self.fetch(builds::unfinished()).await?, builds::read)?;
        Ok(rows.into_iter().map(|(_, row)| row).collect())
    }

    async fn remove_build(&self, id: BuildId) -> Result<bool, StoreError> {
        Ok(self.remove(vec![builds::remove(id)]).await?.changed > 0)
    }

    async fn append_audit(&self, row: &AuditRow) -> Result<(), StoreError> {
        self.write(vec![audit::append(row)]).await.map(drop)
    }

    async fn audit(&self, filter: &AuditFilter, page: PageRequest) -> Result<Page<AuditRow>, StoreError> {
        let rows = self.fetch(audit::list(filter, page)).await?;
        Ok(cut(read_all(&rows, audit::read)?, page.limit))
    }

    async fn note_removed_logs(&self, rows: &[RemovedLogRow]) -> Result<(), StoreError> {
        let statements = rows.iter().map(retention::note_removed).collect::<Result<Vec<_>, _>>()?.concat();
        if statements.is_empty() {
            return Ok(());
        }
        self.write(statements).await.map(drop)
    }

    async fn remove_old_rows(&self, rules: &RowRules) -> Result<u64, StoreError> {
        let mut removed = 0;
        for statement in retention::rows(rules) {
            loop {
                let changed = self.remove(vec![statement.clone()]).await?.changed;
                removed += changed;
                if changed < retention::BATCH_ROWS {
                    break;
                }
            }
        }
        Ok(removed)
    }

    async fn remove_old_audit(&self, rules: &AuditRules) -> Result<u64, StoreError> {
        let rows = self.fetch(retention::count_audit(rules)).await?;
        let found = read_all(&rows, usage::read)?.pop().unwrap_or(0);
        for _ in 0..found.div_ceil(retention::BATCH_ROWS) {
            self.remove(retention::remove_audit(rules)).await?;
        }
        Ok(found)
    }

    async fn count_sessions(&self, owner: &str) -> Result<u64, StoreError> {
        let rows = self.fetch(usage::sessions(owner)).await?;
        Ok(read_all(&rows, usage::read)?.pop().unwrap_or(0))
    }

    async fn add_cpu(&self, owner: &str, day: u64, cpu_ms: u64) -> Result<(), StoreError> {
        self.write(vec![usage::add_cpu(owner, day, cpu_ms)]).await.map(drop)
    }

    async fn cpu_of_day(&self, owner: &str, day: u64) -> Result<u64, StoreError> {
        let rows = self.fetch(usage::cpu_of_day(owner, day)).await?;
        Ok(read_all(&rows, usage::read)?.pop().unwrap_or(0))
    }

    async fn ping(&self) -> Result<(), StoreError> {
        if self.writer.is_closed() {
            return Err(StoreError::Closed);
        }
        self.fetch(ping()).await.map(drop)
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.close_all().await
    }
}
