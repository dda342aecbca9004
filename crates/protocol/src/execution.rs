//! Executions and their states.

use serde::{Deserialize, Serialize};

use crate::{ExecutionId, Seq, SessionId, StartSpec, Verdict};

/// The state of an execution, with its data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum ExecutionState {
    /// Accepted, not yet started.
    Queued,
    /// The program is running.
    Running {
        /// The program's process id inside its session.
        pid: i32,
    },
    /// The program has exited; another process may still hold its output open.
    Exited {
        /// How it ended.
        verdict: Verdict,
    },
    /// The program has exited, and no writer of its output is left.
    Closed {
        /// How it ended.
        verdict: Verdict,
    },
}

impl ExecutionState {
    /// The name on the wire.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running { .. } => "running",
            Self::Exited { .. } => "exited",
            Self::Closed { .. } => "closed",
        }
    }

    /// The verdict, if it has ended.
    pub const fn verdict(&self) -> Option<&Verdict> {
        match self {
            Self::Exited { verdict } | Self::Closed { verdict } => Some(verdict),
            Self::Queued | Self::Running { .. } => None,
        }
    }
}

/// A process of an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// The process id inside the session.
    pub pid: i32,
    /// The parent's process id inside the session.
    pub ppid: i32,
    /// The kernel's name of the process: at most 15 bytes, set by the program and so untrusted.
    pub name: String,
}

/// When and why the log of an execution was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRemoved {
    /// The time of removal, in milliseconds since 1970.
    pub at_ms: u64,
    /// The rule that removed it: `age`, `number`, `size` or `prune`.
    pub reason: String,
}

/// One run of a program in a session, from its start to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Execution {
    /// The id of the execution.
    pub id: ExecutionId,
    /// The session that it runs in.
    pub session_id: SessionId,
    /// The spec that it was started with, without the bytes of given input.
    pub spec: StartSpec,
    /// The current state.
    #[serde(flatten)]
    pub state: ExecutionState,
    /// The start time, in milliseconds since 1970.
    pub started_at_ms: u64,
    /// Bytes written to standard output so far, kept or not.
    pub stdout_bytes: u64,
    /// Bytes written to standard error so far; 0 if the streams are merged.
    pub stderr_bytes: u64,
    /// Bytes written to a terminal or to merged output so far; 0 if the streams are separate.
    pub output_bytes: u64,
    /// The newest event of the log.
    pub last_seq: Seq,
    /// Set if the log was removed: the output can no longer be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_removed: Option<LogRemoved>,
}
