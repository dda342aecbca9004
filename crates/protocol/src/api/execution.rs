//! Executions as the API tells of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Timestamp;
use crate::{
    Command, Execution, ExecutionId, ExecutionState, ExitDetail, Reason, Seq, SessionId, TtySize, Usage,
    Verdict,
};

/// Where an execution stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExecutionStateName {
    /// Accepted, not yet started.
    Queued,
    /// The program runs.
    Running,
    /// The program has ended; something may still hold its output open.
    Exited,
    /// Ended, and no writer is left.
    Closed,
}

/// How an execution ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExitBody {
    /// Why.
    pub reason: Reason,
    /// The exit code, if the program returned one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The signal that ended it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// For people: which thing was missing, which limit was hit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// For programs: the same. Absent if nothing is known beyond the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<ExitDetail>,
}

impl From<&Verdict> for ExitBody {
    fn from(verdict: &Verdict) -> Self {
        Self {
            reason: verdict.reason,
            code: verdict.code,
            signal: verdict.signal,
            message: verdict.message.clone(),
            detail: verdict.detail.clone(),
        }
    }
}

/// When and why the log of an execution was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogRemovedBody {
    /// When.
    pub at: Timestamp,
    /// By which rule: `age`, `number`, `size`, or `prune` if somebody asked for it.
    pub reason: String,
}

/// An execution as told to clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExecutionBody {
    /// `exe_` and 32 hexadecimal digits.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: ExecutionId,
    /// Where it runs.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub session_id: SessionId,
    /// Where it stands.
    pub state: ExecutionStateName,
    /// Its process id inside its session, while it runs.
    pub pid: Option<i32>,
    /// When it was accepted.
    pub started_at: Timestamp,
    /// When it ended.
    pub exited_at: Option<Timestamp>,
    /// How it ended.
    pub exit: Option<ExitBody>,
    /// From start to end.
    pub duration_ms: Option<u64>,
    /// Cpu time and peak memory.
    pub usage: Option<Usage>,
    /// Bytes printed so far, kept or not.
    pub stdout_bytes: u64,
    /// As above; 0 where the streams are one.
    pub stderr_bytes: u64,
    /// As above; 0 where the streams are apart.
    pub output_bytes: u64,
    /// The newest event of its log.
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    pub last_seq: Seq,
    /// Set if its log was removed: `/output` and `/events` answer 410.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_removed: Option<LogRemovedBody>,
    /// What runs.
    pub command: Command,
    /// The language, if code was given.
    pub language: Option<String>,
    /// The size of its terminal, if it has one.
    pub tty: Option<TtySize>,
    /// What the caller wants to find again.
    pub metadata: BTreeMap<String, String>,
}

impl From<Execution> for ExecutionBody {
    fn from(execution: Execution) -> Self {
        let verdict = execution.state.verdict();
        let (state, pid) = match &execution.state {
            ExecutionState::Queued => (ExecutionStateName::Queued, None),
            ExecutionState::Running { pid } => (ExecutionStateName::Running, Some(*pid)),
            ExecutionState::Exited { .. } => (ExecutionStateName::Exited, None),
            ExecutionState::Closed { .. } => (ExecutionStateName::Closed, None),
        };
        let language = match &execution.spec.command {
            Command::Code { language, .. } => Some(language.clone()),
            Command::Argv(_) | Command::Shell(_) => None,
        };
        Self {
            id: execution.id,
            session_id: execution.session_id,
            state,
            pid,
            started_at: Timestamp(execution.started_at_ms),
            exited_at: verdict.map(|verdict| Timestamp(execution.started_at_ms + verdict.duration_ms)),
            exit: verdict.map(ExitBody::from),
            duration_ms: verdict.map(|verdict| verdict.duration_ms),
            usage: verdict.map(|verdict| verdict.usage),
            stdout_bytes: execution.stdout_bytes,
            stderr_bytes: execution.stderr_bytes,
            output_bytes: execution.output_bytes,
            last_seq: execution.last_seq,
            log_removed: execution
                .log_removed
                .map(|removed| LogRemovedBody { at: Timestamp(removed.at_ms), reason: removed.reason }),
            language,
            command: execution.spec.command,
            tty: execution.spec.tty,
            metadata: execution.spec.metadata,
        }
    }
}
