//! Events: the records of a log, as every reader sees them.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{ExecutionId, ExitDetail, documented};

/// The number of an event in an execution's log. The first is 1; `Seq(0)` is before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// The next number.
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

/// The source of output bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = OutputStream))]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Stream {
    /// The program's standard output, if the streams are separate.
    Stdout = 1,
    /// The program's standard error, if the streams are separate.
    Stderr = 2,
    /// A terminal, or both streams merged.
    Output = 3,
}

impl Stream {
    /// All streams, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Stdout, Self::Stderr, Self::Output];

    /// The name in file names and on the wire.
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

documented! {
    /// Why an execution ended.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
    #[cfg_attr(feature = "openapi", schema(as = ExitReason))]
    #[serde(rename_all = "snake_case")]
    pub enum Reason: &'static str {
        /// It exited by itself, with an exit code.
        Exited = "exited",
        /// A signal ended it that did not come from Headwater.
        Signalled = "signalled",
        /// Its wall time or CPU time ran out.
        TimedOut = "timed_out",
        /// It was cancelled, or its session was ended or hibernated.
        Cancelled = "cancelled",
        /// The kernel killed it because it reached its memory limit.
        Oom = "oom",
        /// It reached its output limit and was stopped.
        OutputLimit = "output_limit",
        /// Its session reached its disk limit.
        DiskLimit = "disk_limit",
        /// It could not be started: missing command, bad working directory, and the like.
        SetupFailed = "setup_failed",
        /// Its end was not observed.
        Lost = "lost",
    }
}

impl Reason {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        self.value()
    }

    /// The reason with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }
}

/// Resources that a program used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Usage {
    /// User and system time of the program and the children that it waited for.
    pub cpu_ms: u64,
    /// The peak resident size of any one of them.
    pub max_rss_bytes: u64,
}

/// How an execution ended: the content of its one `exited` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
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
    /// The time from start to exit.
    pub duration_ms: u64,
    /// CPU time and peak memory.
    pub usage: Usage,
    /// Bytes written to standard output when the program exited, kept or not.
    pub stdout_bytes: u64,
    /// Bytes written to standard error; 0 if the streams are merged.
    pub stderr_bytes: u64,
    /// Bytes written to a terminal or to merged output; 0 if the streams are separate.
    pub output_bytes: u64,
}

impl Verdict {
    /// A verdict with a reason only.
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

    /// The exit status as shells report it: the exit code, or 128 plus the number of the signal.
    pub fn exit_status(&self) -> Option<i32> {
        self.code.or_else(|| self.signal.map(|signal| 128 + signal))
    }
}

/// An event of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The number; for a batch of chunks, the number of the last one.
    pub seq: Seq,
    /// Milliseconds since the execution started.
    pub at_ms: u64,
    /// The kind of event, with its data.
    pub kind: EventKind,
}

/// The kinds of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// The program is running.
    Started {
        /// The execution that this log belongs to.
        execution_id: ExecutionId,
        /// The program's process id inside its session.
        pid: i32,
    },
    /// The program wrote bytes.
    Output {
        /// The stream that they were written to.
        stream: Stream,
        /// The position of the first byte in that stream.
        offset: u64,
        /// The bytes, unchanged.
        bytes: Bytes,
    },
    /// Bytes that are no longer kept, or that were skipped because the reader requested a tail.
    Gap {
        /// The stream that they belong to.
        stream: Stream,
        /// The first missing byte.
        from_byte: u64,
        /// The first byte after the gap.
        to_byte: u64,
    },
    /// The program has exited. Occurs exactly once.
    Exited(Verdict),
    /// No writer is left. The last event.
    Closed,
}

impl EventKind {
    /// The type of the event on the wire.
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
