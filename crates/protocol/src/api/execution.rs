//! Executions in the API.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Timestamp;
use crate::{
    Command, Execution, ExecutionId, ExecutionState, ExitDetail, Reason, Seq, SessionId, TtySize, Usage,
    Verdict,
};

/// The state of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExecutionStateName {
    /// Accepted, not yet started.
    Queued,
    /// The program is running.
    Running,
    /// The program has exited; another process may still hold its output open.
    Exited,
    /// The program has exited, and no writer of its output is left.
    Closed,
}

/// How an execution ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExitBody {
    /// Why it ended.
    pub reason: Reason,
    /// The exit code, unless a signal ended the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The signal that ended the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Details for people: what was missing, or which limit was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The same for programs. Absent if nothing is known beyond the reason.
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
    /// The time of removal.
    pub at: Timestamp,
    /// The rule that removed it: `age`, `number`, `size`, or `prune` for an explicit request.
    pub reason: String,
}

/// One run of a program in a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(examples(json!({
    "id": "exe_0123456789abcdef0123456789abcdef", "session_id": "ses_0123456789abcdef0123456789abcdef",
    "owner": "ann", "state": "closed", "pid": null, "started_at": "2026-01-02T03:04:05.678Z",
    "exited_at": "2026-01-02T03:04:05.700Z", "exit": {"reason": "exited", "code": 0}, "duration_ms": 22,
    "usage": {"cpu_ms": 15, "max_rss_bytes": 9_437_184}, "stdout_bytes": 6, "stderr_bytes": 0, "output_bytes": 0,
    "last_seq": 4, "command": {"code": {"language": "python", "code": "print('Hello')", "args": []}},
    "language": "python", "tty": null, "metadata": {}
}))))]
pub struct ExecutionBody {
    /// The id: `exe_` and 32 hexadecimal digits.
    pub id: ExecutionId,
    /// The session that it runs in.
    pub session_id: SessionId,
    /// The user that its session belongs to.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub owner: String,
    /// The current state.
    pub state: ExecutionStateName,
    /// The program's process id inside its session, while it runs.
    pub pid: Option<i32>,
    /// When it was accepted.
    pub started_at: Timestamp,
    /// When the program exited.
    pub exited_at: Option<Timestamp>,
    /// How it ended.
    pub exit: Option<ExitBody>,
    /// The time from start to exit.
    pub duration_ms: Option<u64>,
    /// CPU time and peak memory.
    pub usage: Option<Usage>,
    /// Bytes written to standard output so far, kept or not.
    pub stdout_bytes: u64,
    /// Bytes written to standard error so far; 0 if the streams are merged.
    pub stderr_bytes: u64,
    /// Bytes written to a terminal or to merged output so far; 0 if the streams are separate.
    pub output_bytes: u64,
    /// The newest event of the log.
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    pub last_seq: Seq,
    /// Set if the log was removed: `/output` and `/events` return 410.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_removed: Option<LogRemovedBody>,
    /// The command that runs.
    pub command: Command,
    /// The language, if the command is code.
    pub language: Option<String>,
    /// The size of the terminal, if there is one.
    pub tty: Option<TtySize>,
    /// Metadata that the client set.
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
            owner: String::new(), // only the gateway knows it
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
