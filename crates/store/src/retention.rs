//! Rules for the retention of rows.

use headwater_protocol::{ExecutionId, LogRemoved, StartSpec};

/// The minimum age of audit rows that can be removed: a trigger refuses to delete newer ones.
pub const AUDIT_FLOOR_MS: u64 = 7 * 86_400_000;

/// The record that the log of an execution was removed.
#[derive(Debug, Clone, PartialEq)]
pub struct RemovedLogRow {
    /// The id of the execution.
    pub id: ExecutionId,
    /// When and why it was removed.
    pub removed: LogRemoved,
    /// The spec that the row keeps, without long code.
    pub spec: StartSpec,
}

/// Which rows to remove. Times are in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowRules {
    /// Rows of executions that were accepted after this time are kept: an idempotency key may name them.
    pub keys_ms: u64,
    /// Rows of executions whose log was removed before this time are removed, tool calls before it, and ended
    /// sessions without executions.
    pub before_ms: Option<u64>,
    /// The number of newest executions, and of newest tool calls, that are kept of each owner.
    pub of_owner: Option<u64>,
    /// The number of newest executions, and of newest tool calls, that are kept in all.
    pub in_all: Option<u64>,
    /// Tokens and links that expired or were revoked before this time are removed.
    pub credentials_ms: Option<u64>,
    /// CPU times of days before this one (days since 1970) are removed.
    pub usage_day: u64,
}

/// Which audit rows to remove; those of the last seven days are always kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditRules {
    /// The current time, in milliseconds since 1970.
    pub now_ms: u64,
    /// Rows before this time are removed.
    pub before_ms: Option<u64>,
    /// The number of newest rows that are kept.
    pub rows: Option<u64>,
}
