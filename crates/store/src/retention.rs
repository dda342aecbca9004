//! Retention of rows: what the store no longer keeps.

use headwater_protocol::{ExecutionId, LogRemoved, StartSpec};

/// Audit rows are kept at least so long: a trigger of the store refuses to delete newer ones.
pub const AUDIT_FLOOR_MS: u64 = 7 * 86_400_000;

/// The log of an execution was removed.
#[derive(Debug, Clone, PartialEq)]
pub struct RemovedLogRow {
    /// Of which execution.
    pub id: ExecutionId,
    /// When and why.
    pub removed: LogRemoved,
    /// What the row keeps of the request: long code is left out.
    pub spec: StartSpec,
}

/// Which rows are removed. Times are in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowRules {
    /// Executions that were accepted later keep their rows: an idempotency key may name them.
    pub keys_ms: u64,
    /// Executions whose log was removed before lose their rows, and so do ended sessions without executions.
    pub before_ms: Option<u64>,
    /// The newest rows of executions that are kept of each owner.
    pub of_owner: Option<u64>,
    /// The newest rows of executions that are kept in all.
    pub in_all: Option<u64>,
    /// Tokens and links that expired or were revoked before are removed.
    pub credentials_ms: Option<u64>,
    /// Processor time of days before this one (days since 1970) is removed.
    pub usage_day: u64,
}

/// Which audit rows are removed; those of the last seven days never are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditRules {
    /// The time now, in milliseconds since 1970.
    pub now_ms: u64,
    /// Rows before this time are removed.
    pub before_ms: Option<u64>,
    /// The newest rows that are kept.
    pub rows: Option<u64>,
}
