//! Executions as told to others.

use serde::{Deserialize, Serialize};

use crate::{ExecutionId, Seq, SessionId, StartSpec, Verdict};

/// Where an execution stands; each state carries what is known in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum ExecutionState {
    /// Accepted, not yet started.
    Queued,
    /// The program runs.
    Running {
        /// Its process id, as seen inside its session.
        pid: i32,
    },
    /// The program has ended; something may still hold its output open.
    Exited {
        /// How it ended.
        verdict: Verdict,
    },
    /// Ended, and no writer is left.
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

    /// How it ended, if it has.
    pub const fn verdict(&self) -> Option<&Verdict> {
        match self {
            Self::Exited { verdict } | Self::Closed { verdict } => Some(verdict),
            Self::Queued | Self::Running { .. } => None,
        }
    }
}

/// A process that belongs to an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// As seen inside the session.
    pub pid: i32,
    /// Its parent, likewise.
    pub ppid: i32,
    /// Its name, as the kernel has it (at most 15 bytes; chosen by the program, so data).
    pub name: String,
}

/// When and why the log of an execution was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRemoved {
    /// In milliseconds since 1970.
    pub at_ms: u64,
    /// `age`, `number`, `size` or `prune`.
    pub reason: String,
}

/// An execution as told to others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Execution {
    /// Its name for programs.
    pub id: ExecutionId,
    /// Where it runs.
    pub session_id: SessionId,
    /// What was asked for (given stdin bytes left out).
    pub spec: StartSpec,
    /// Where it stands.
    #[serde(flatten)]
    pub state: ExecutionState,
    /// In milliseconds since 1970.
    pub started_at_ms: u64,
    /// Bytes printed so far, kept or not.
    pub stdout_bytes: u64,
    /// As above; 0 where the streams are one.
    pub stderr_bytes: u64,
    /// As above; 0 where the streams are apart.
    pub output_bytes: u64,
    /// The newest event of its log.
    pub last_seq: Seq,
    /// Set if its log was removed: its output can no longer be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_removed: Option<LogRemoved>,
}
