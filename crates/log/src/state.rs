//! The state of a log in memory, shared by its writer and its readers.

use std::sync::Arc;

use headwater_protocol::{Seq, Verdict};

use super::positions::{Ends, Position};
use super::trim::Trim;

/// The start of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started {
    /// The process id inside the session.
    pub pid: i32,
    /// The time in microseconds since 1970.
    pub at_us: u64,
}

/// The end of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The newest record.
    pub last_seq: Seq,
    /// Bytes written to each stream, kept or not.
    pub ends: Ends,
    /// The start, if the program has started.
    pub started: Option<Started>,
    /// The verdict, if the program has ended.
    pub verdict: Option<Arc<Verdict>>,
    /// Whether the newest record is `closed`.
    pub closed: bool,
}

/// The part of the state that a reader needs for every event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct View {
    pub last: Position,
    pub trim: Option<Trim>,
    /// The position of the verdict.
    pub exited: Option<Position>,
    /// The time of the first record; times of events are relative to it.
    pub base_us: u64,
    pub closed: bool,
    /// Whether the log has a writer, that is, whether more records may follow.
    pub writer: bool,
}

impl View {
    pub fn trimmed(&self, seq: u64) -> Option<Trim> {
        self.trim.filter(|trim| trim.contains(seq))
    }

    /// Milliseconds from the start to this time.
    pub const fn since_start_ms(&self, at_us: u64) -> u64 {
        at_us.saturating_sub(self.base_us) / 1000
    }
}

/// The whole state.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    pub view: View,
    pub started: Option<Started>,
    pub verdict: Option<Arc<Verdict>>,
}

impl State {
    pub(crate) fn head(&self) -> Head {
        Head {
            last_seq: Seq(self.view.last.seq),
            ends: self.view.last.ends,
            started: self.started,
            verdict: self.verdict.clone(),
            closed: self.view.closed,
        }
    }
}
