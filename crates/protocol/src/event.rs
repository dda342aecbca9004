//! Events: what a log holds and what every watcher sees.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{ExecutionId, ExitDetail};

/// The number of a record in an execution's log; the first is 1, and `Seq(0)` stands before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// The one after this.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Where output bytes came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Stream {
    /// The program's standard output, when it is kept apart.
    Stdout = 1,
    /// The program's standard error, when it is kept apart.
    Stderr = 2,
    /// Both in one: a terminal, or merged mode.
    Output = 3,
}

impl Stream {
    /// All streams, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Stdout, Self::Stderr, Self::Output];

    /// The name, as in file names and on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
            Self::Output => "output",
        }
    }

    /// The stream with this number.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Stdout),
            2 => Some(Self::Stderr),
            3 => Some(Self::Output),
            _ => None,
        }
    }
}

/// Why an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It returned by itself, with an exit code.
    Exited,
    /// A signal that nobody here asked for ended it.
    Signalled,
    /// Its wall time or cpu time ran out.
    TimedOut,
    /// Somebody cancelled it.
    Cancelled,
    /// The kernel ended it for lack of memory within its limit.
    Oom,
    /// It printed more than it may, and was to be stopped for that.
    OutputLimit,
    /// Its session used more disk than it may.
    DiskLimit,
    /// It never ran: missing command, bad working directory, and the like.
    SetupFailed,
    /// Nobody saw how it ended.
    Lost,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 9] = [
        Self::Exited,
        Self::Signalled,
        Self::TimedOut,
        Self::Cancelled,
        Self::Oom,
        Self::OutputLimit,
        Self::DiskLimit,
        Self::SetupFailed,
        Self::Lost,
    ];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exited => "exited",
            Self::Signalled => "signalled",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Oom => "oom",
            Self::OutputLimit => "output_limit",
            Self::DiskLimit => "disk_limit",
            Self::SetupFailed => "setup_failed",
            Self::Lost => "lost",
        }
    }

    /// The reason of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }
}

/// What a program used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Usage {
    /// User and system time of the program and the children it waited for.
    pub cpu_ms: u64,
    /// The largest resident size of any one of them.
    pub max_rss_bytes: u64,
}

/// How an execution ended: the content of its one `exited` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Verdict {
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
    /// From start to end.
    pub duration_ms: u64,
    /// Cpu time and peak memory.
    pub usage: Usage,
    /// Bytes written to each stream when it ended, kept or not.
    pub stdout_bytes: u64,
    /// As above; 0 where the streams are one.
    pub stderr_bytes: u64,
    /// As above; 0 where the streams are apart.
    pub output_bytes: u64,
}

impl Verdict {
    /// An end of which only the reason is known.
    pub const fn new(reason: Reason) -> Self {
        Self {
            reason,
            code: None,
            signal: None,
            message: None,
            detail: None,
            duration_ms: 0,
            usage: Usage { cpu_ms: 0, max_rss_bytes: 0 },
            stdout_bytes: 0,
            stderr_bytes: 0,
            output_bytes: 0,
        }
    }
}

/// One entry of a log as a watcher sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its number; for a batch of chunks, the number of the last one.
    pub seq: Seq,
    /// Milliseconds since the execution started.
    pub at_ms: u64,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// The program runs.
    Started {
        /// Which execution this is the log of.
        execution_id: ExecutionId,
        /// Its process id, as seen inside its session.
        pid: i32,
    },
    /// Bytes were printed.
    Output {
        /// Where.
        stream: Stream,
        /// The position of the first byte in that stream.
        offset: u64,
        /// The bytes, exactly.
        bytes: Bytes,
    },
    /// Bytes that are not here: no longer kept, or skipped because the reader asked for a tail.
    Gap {
        /// Of this stream.
        stream: Stream,
        /// The first missing byte.
        from_byte: u64,
        /// The first byte after the gap.
        to_byte: u64,
    },
    /// The program ended. Exactly once.
    Exited(Verdict),
    /// No writer is left. The last event.
    Closed,
}

impl EventKind {
    /// The event's type on the wire.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Started { .. } => "started",
            Self::Output { stream, .. } => stream.name(),
            Self::Gap { .. } => "gap",
            Self::Exited(_) => "exited",
            Self::Closed => "closed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stream_and_reason_has_a_name_and_a_number_that_lead_back_to_it() {
        for stream in Stream::ALL {
            assert_eq!(Stream::from_number(stream as u8), Some(stream));
            assert_eq!(serde_json::to_value(stream).unwrap(), stream.name());
        }
        for reason in Reason::ALL {
            assert_eq!(Reason::from_name(reason.name()), Some(reason));
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.name());
        }
    }
}
