//! The store as the gateway sees it.

use std::fmt::Debug;

use async_trait::async_trait;
use headwater_protocol::build::BuildResult;
use headwater_protocol::{BuildId, ExecutionId, SessionId, SessionSpec};

use crate::{
    AuditFilter, AuditRow, AuditRules, BuildRow, Claim, ExecutionEnd, ExecutionFilter, ExecutionRow, KeyRow,
    Page, PageRequest, RemovedLogRow, RowRules, SessionFilter, SessionRow, Shares, StoreError, Tickets,
    TokenRow, Users,
};

/// What the gateway remembers.
///
/// A write that has answered `Ok` is there after a `kill -9`, and every later read sees it. Writes take effect in the
/// order in which they were called. A caller may go away: once the store has taken the write up it happens.
#[async_trait]
pub trait Store: Users + Shares + Tickets + Send + Sync + Debug {
    /// Adds a session. Answers false, and changes nothing, if its id is there.
    async fn put_session(&self, row: &SessionRow) -> Result<bool, StoreError>;

    /// The session of this id.
    async fn session(&self, id: SessionId) -> Result<Option<SessionRow>, StoreError>;

    /// Sessions, the newest first.
    async fn sessions(
        &self,
        filter: &SessionFilter,
        page: PageRequest,
    ) -> Result<Page<SessionRow>, StoreError>;

    /// Replaces what was asked for. Answers false if there is no such session.
    async fn update_session(&self, id: SessionId, spec: &SessionSpec) -> Result<bool, StoreError>;

    /// Notes when a session ended. Answers false, and changes nothing, if that is known or if there is no such session.
    async fn end_session(&self, id: SessionId, at_ms: u64) -> Result<bool, StoreError>;

    /// Removes a session with its executions, and the keys that name any of them. Answers false if there is none.
    async fn remove_session(&self, id: SessionId) -> Result<bool, StoreError>;

    /// Adds an execution, `end` included and `number` ignored. Answers the number that it got, or none, and changes
    /// nothing, if its id is there. Its session must be there: else [`StoreError::Conflict`].
    async fn put_execution(&self, row: &ExecutionRow) -> Result<Option<i64>, StoreError>;

    /// The execution of this id.
    async fn execution(&self, id: ExecutionId) -> Result<Option<ExecutionRow>, StoreError>;

    /// Executions, the newest first.
    async fn executions(
        &self,
        filter: &ExecutionFilter,
        page: PageRequest,
    ) -> Result<Page<ExecutionRow>, StoreError>;

    /// The executions after a number, the oldest first, at most `limit` (and [`MAX_PAGE`](crate::MAX_PAGE)): what a
    /// live feed of a conversation or a session has not shown yet.
    async fn executions_after(
        &self,
        filter: &ExecutionFilter,
        number: i64,
        limit: u32,
    ) -> Result<Vec<ExecutionRow>, StoreError>;

    /// The highest number that an execution was ever given; 0 if none was. Removing an execution does not lower it.
    async fn last_execution_number(&self) -> Result<i64, StoreError>;

    /// Notes how an execution ended. The first verdict wins, with its times; `closed` may become true and `last_seq`
    /// may grow later. Answers false if there is no such execution.
    async fn end_execution(&self, id: ExecutionId, end: &ExecutionEnd) -> Result<bool, StoreError>;

    /// All executions whose end is unknown, or known but not closed; the oldest first.
    async fn unfinished(&self) -> Result<Vec<(ExecutionId, SessionId)>, StoreError>;

    /// Removes an execution and the keys that name it. Answers false if there is none.
    async fn remove_execution(&self, id: ExecutionId) -> Result<bool, StoreError>;

    /// Takes a key for one object. Of many claims of one `(owner, key)`, however parallel, exactly one is new.
    async fn claim_key(&self, row: &KeyRow) -> Result<Claim, StoreError>;

    /// Whether a key names this session or execution, so that whoever has the key may still ask for it.
    async fn has_key(&self, object: &str) -> Result<bool, StoreError>;

    /// Removes the keys that were claimed before this time. Answers how many.
    async fn forget_keys(&self, before_ms: u64) -> Result<u64, StoreError>;

    /// Adds a token. Answers false, and changes nothing, if its id is there. Two tokens of one hash are a
    /// [`StoreError::Conflict`].
    async fn put_token(&self, row: &TokenRow) -> Result<bool, StoreError>;

    /// The token of this hash, also if it has expired or was revoked: the caller judges.
    async fn token_by_hash(&self, hash: &[u8; 32]) -> Result<Option<TokenRow>, StoreError>;

    /// All tokens, the oldest first.
    async fn tokens(&self) -> Result<Vec<TokenRow>, StoreError>;

    /// Takes a token back. Answers false, and changes nothing, if that was done before or if there is no such token.
    async fn revoke_token(&self, id: &str, at_ms: u64) -> Result<bool, StoreError>;

    /// Adds a build. Answers false, and changes nothing, if its id is there. Its session must be there: else
    /// [`StoreError::Conflict`].
    async fn put_build(&self, row: &BuildRow) -> Result<bool, StoreError>;

    /// The build of this id.
    async fn build(&self, id: BuildId) -> Result<Option<BuildRow>, StoreError>;

    /// Builds of a session, the newest first.
    async fn builds(&self, session: SessionId, page: PageRequest) -> Result<Page<BuildRow>, StoreError>;

    /// Notes what became of a build. The first result stays. Answers false, and changes nothing, if there is one, or no
    /// such build.
    async fn end_build(&self, id: BuildId, result: &BuildResult, executed: bool) -> Result<bool, StoreError>;

    /// All builds that have no result, the oldest first.
    async fn unfinished_builds(&self) -> Result<Vec<BuildRow>, StoreError>;

    /// Removes a build. Answers false if there is none.
    async fn remove_build(&self, id: BuildId) -> Result<bool, StoreError>;

    /// Adds an audit row.
    async fn append_audit(&self, row: &AuditRow) -> Result<(), StoreError>;

    /// Audit rows, the newest first.
    async fn audit(&self, filter: &AuditFilter, page: PageRequest) -> Result<Page<AuditRow>, StoreError>;

    /// Notes that logs of executions were removed. Rows that are unknown or have no end are left as they are.
    async fn note_removed_logs(&self, rows: &[RemovedLogRow]) -> Result<(), StoreError>;

    /// Removes rows that are no longer kept: of executions whose log was removed, of ended sessions without executions, of
    /// expired tokens and links. Answers how many.
    async fn remove_old_rows(&self, rules: &RowRules) -> Result<u64, StoreError>;

    /// Removes old audit rows, those of the last seven days never. Answers how many.
    async fn remove_old_audit(&self, rules: &AuditRules) -> Result<u64, StoreError>;

    /// How many sessions of this owner have not ended.
    async fn count_sessions(&self, owner: &str) -> Result<u64, StoreError>;

    /// Adds processor time to an owner's day (days since 1970).
    async fn add_cpu(&self, owner: &str, day: u64, cpu_ms: u64) -> Result<(), StoreError>;

    /// An owner's processor time of a day.
    async fn cpu_of_day(&self, owner: &str, day: u64) -> Result<u64, StoreError>;

    /// Whether the store answers.
    async fn ping(&self) -> Result<(), StoreError>;

    /// Writes all that waits and lets go of the file or the connections. Every later call is [`StoreError::Closed`].
    async fn close(&self) -> Result<(), StoreError>;
}
