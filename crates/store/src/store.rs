//! The interface of the store for the gateway.

use std::collections::HashMap;
use std::fmt::Debug;

use async_trait::async_trait;
use headwater_protocol::build::BuildResult;
use headwater_protocol::{BuildId, ExecutionId, SessionId, SessionSpec};

use crate::{
    AuditFilter, AuditRow, AuditRules, BuildRow, ChatExecutions, Claim, Conversations, ExecutionEnd,
    ExecutionFilter, ExecutionRow, Grants, KeyRow, Page, PageRequest, RemovedLogRow, RowRules, SessionFilter,
    SessionRow, SessionRules, Shares, StoreError, Tickets, TokenRow, ToolCalls, Users,
};

/// The gateway's database.
///
/// A write that has returned `Ok` survives a `kill -9`, and every later read sees it. Writes take effect in
/// the order of the calls. A write is completed even if its caller goes away after it was queued.
#[async_trait]
pub trait Store:
    Users
    + Shares
    + Tickets
    + Grants
    + ChatExecutions
    + ToolCalls
    + SessionRules
    + Conversations
    + Send
    + Sync
    + Debug
{
    /// Adds a session. Returns false and changes nothing if the id exists. If another session of its owner has its name, it
    /// is added all the same, and is not found by the name.
    async fn put_session(&self, row: &SessionRow) -> Result<bool, StoreError>;

    /// The same for a session that must be found by its name: [`StoreError::NameTaken`] if another session of its owner
    /// that has not ended has it.
    async fn create_session(&self, row: &SessionRow) -> Result<bool, StoreError>;

    /// Gives a session another name, or none. Returns false if it does not exist, and [`StoreError::NameTaken`] if another
    /// session of its owner that has not ended has the name.
    async fn rename_session(&self, id: SessionId, name: Option<&str>) -> Result<bool, StoreError>;

    /// The session of this owner that has not ended and is found by this name.
    async fn session_by_name(&self, owner: &str, name: &str) -> Result<Option<SessionRow>, StoreError>;

    /// The session with this id.
    async fn session(&self, id: SessionId) -> Result<Option<SessionRow>, StoreError>;

    /// Sessions, newest first.
    async fn sessions(
        &self,
        filter: &SessionFilter,
        page: PageRequest,
    ) -> Result<Page<SessionRow>, StoreError>;

    /// When something last happened in each of these sessions: the last start or end of one of its executions, or its
    /// creation. Sessions that do not exist are left out.
    async fn last_activity(&self, ids: &[SessionId]) -> Result<HashMap<SessionId, u64>, StoreError>;

    /// Replaces the spec of a session. Returns false if it does not exist.
    async fn update_session(&self, id: SessionId, spec: &SessionSpec) -> Result<bool, StoreError>;

    /// Stores when a session ended. Returns false and changes nothing if it has ended already or does not
    /// exist.
    async fn end_session(&self, id: SessionId, at_ms: u64) -> Result<bool, StoreError>;

    /// Removes a session with its executions, and the keys that name any of them. Returns false if it does
    /// not exist.
    async fn remove_session(&self, id: SessionId) -> Result<bool, StoreError>;

    /// Adds an execution, including `end` and ignoring `number`. Returns its new number, or `None`, changing
    /// nothing, if the id exists. [`StoreError::Conflict`] if the session does not exist.
    async fn put_execution(&self, row: &ExecutionRow) -> Result<Option<i64>, StoreError>;

    /// The execution with this id.
    async fn execution(&self, id: ExecutionId) -> Result<Option<ExecutionRow>, StoreError>;

    /// Executions, newest first. A search, by text or kind, may return a short page that is not the last.
    async fn executions(
        &self,
        filter: &ExecutionFilter,
        page: PageRequest,
    ) -> Result<Page<ExecutionRow>, StoreError>;

    /// Executions after a number, oldest first, at most `limit` (and [`MAX_PAGE`](crate::MAX_PAGE)): those
    /// that a live feed has not shown yet.
    async fn executions_after(
        &self,
        filter: &ExecutionFilter,
        number: i64,
        limit: u32,
    ) -> Result<Vec<ExecutionRow>, StoreError>;

    /// The highest number that an execution ever had; 0 if there was none. Removing an execution does not
    /// lower it.
    async fn last_execution_number(&self) -> Result<i64, StoreError>;

    /// Stores how an execution ended. The first verdict wins, with its times; `closed` may become true and
    /// `last_seq` may grow later. Returns false if the execution does not exist.
    async fn end_execution(&self, id: ExecutionId, end: &ExecutionEnd) -> Result<bool, StoreError>;

    /// All executions without a verdict, or with one but not closed; oldest first.
    async fn unfinished(&self) -> Result<Vec<(ExecutionId, SessionId)>, StoreError>;

    /// Removes an execution and the keys that name it. Returns false if it does not exist.
    async fn remove_execution(&self, id: ExecutionId) -> Result<bool, StoreError>;

    /// Claims a key for an object. Of any number of parallel claims of one `(owner, key)`, exactly one is
    /// new.
    async fn claim_key(&self, row: &KeyRow) -> Result<Claim, StoreError>;

    /// Whether a key names this session or execution, so that a client with the key may still request it.
    async fn has_key(&self, object: &str) -> Result<bool, StoreError>;

    /// Removes the keys that were claimed before this time. Returns how many.
    async fn forget_keys(&self, before_ms: u64) -> Result<u64, StoreError>;

    /// Adds a token. Returns false and changes nothing if the id exists. [`StoreError::Conflict`] if the hash
    /// exists.
    async fn put_token(&self, row: &TokenRow) -> Result<bool, StoreError>;

    /// The token with this hash, even if it has expired or was revoked: the caller checks that.
    async fn token_by_hash(&self, hash: &[u8; 32]) -> Result<Option<TokenRow>, StoreError>;

    /// All tokens, oldest first.
    async fn tokens(&self) -> Result<Vec<TokenRow>, StoreError>;

    /// Revokes a token, and removes its OAuth grant. Returns false and changes nothing if it is revoked already or does not exist.
    async fn revoke_token(&self, id: &str, at_ms: u64) -> Result<bool, StoreError>;

    /// Gives a token another secret and a later end. Returns false and changes nothing if it is revoked or does not exist.
    async fn renew_token(&self, id: &str, hash: &[u8; 32], expires_at_ms: u64) -> Result<bool, StoreError>;

    /// Adds a build. Returns false and changes nothing if the id exists. [`StoreError::Conflict`] if the
    /// session does not exist.
    async fn put_build(&self, row: &BuildRow) -> Result<bool, StoreError>;

    /// The build with this id.
    async fn build(&self, id: BuildId) -> Result<Option<BuildRow>, StoreError>;

    /// Builds of a session, newest first.
    async fn builds(&self, session: SessionId, page: PageRequest) -> Result<Page<BuildRow>, StoreError>;

    /// Stores the result of a build. The first result stays. Returns false and changes nothing if there is
    /// one, or if the build does not exist.
    async fn end_build(&self, id: BuildId, result: &BuildResult, executed: bool) -> Result<bool, StoreError>;

    /// All builds without a result, oldest first.
    async fn unfinished_builds(&self) -> Result<Vec<BuildRow>, StoreError>;

    /// Removes a build. Returns false if it does not exist.
    async fn remove_build(&self, id: BuildId) -> Result<bool, StoreError>;

    /// Adds an audit row.
    async fn append_audit(&self, row: &AuditRow) -> Result<(), StoreError>;

    /// Audit rows, newest first.
    async fn audit(&self, filter: &AuditFilter, page: PageRequest) -> Result<Page<AuditRow>, StoreError>;

    /// Records that logs of executions were removed. Rows that are unknown or have no verdict stay as they
    /// are.
    async fn note_removed_logs(&self, rows: &[RemovedLogRow]) -> Result<(), StoreError>;

    /// Removes rows that are no longer kept: executions whose log was removed, tool calls, ended sessions
    /// without executions, expired tokens and links. Returns how many.
    async fn remove_old_rows(&self, rules: &RowRules) -> Result<u64, StoreError>;

    /// Removes old audit rows, but never those of the last seven days. Returns how many.
    async fn remove_old_audit(&self, rules: &AuditRules) -> Result<u64, StoreError>;

    /// The number of sessions of this owner that have not ended.
    async fn count_sessions(&self, owner: &str) -> Result<u64, StoreError>;

    /// Adds CPU time to an owner's day (days since 1970).
    async fn add_cpu(&self, owner: &str, day: u64, cpu_ms: u64) -> Result<(), StoreError>;

    /// An owner's CPU time of a day.
    async fn cpu_of_day(&self, owner: &str, day: u64) -> Result<u64, StoreError>;

    /// Checks that the store answers.
    async fn ping(&self) -> Result<(), StoreError>;

    /// Completes queued writes and closes the file or the connections. Every later call is
    /// [`StoreError::Closed`].
    async fn close(&self) -> Result<(), StoreError>;
}
