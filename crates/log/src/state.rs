//! What a log knows about itself, shared between its writer and its readers.

use std::sync::Arc;

use headwater_protocol::{Seq, Verdict};

use super::marks::{Ends, Mark};
use super::trim::Trim;

/// The start of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started {
    /// Its process id, as seen inside its session.
    pub pid: i32,
    /// In microseconds since 1970.
    pub at_us: u64,
}

/// How far a log has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The newest record.
    pub last_seq: Seq,
    /// Bytes written to each stream, kept or not.
    pub ends: Ends,
    /// The start, if there was one.
    pub started: Option<Started>,
    /// How it ended, if it has.
    pub verdict: Option<Arc<Verdict>>,
    /// Whether the newest record is `closed`.
    pub closed: bool,
}

/// The part of the state that a reader looks at with every event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct View {
    pub last: Mark,
    pub trim: Option<Trim>,
    /// Where the verdict is.
    pub exited: Option<Mark>,
    /// The time that events are relative to.
    pub base_us: u64,
    pub closed: bool,
    /// Whether there is a writer, that is, whether more may come.
    pub writer: bool,
}

impl View {
    pub fn trimmed(&self, seq: u64) -> Option<Trim> {
        self.trim.filter(|trim| trim.has(seq))
    }

    /// Milliseconds from the start to this time.
    pub const fn since_start_ms(&self, at_us: u64) -> u64 {
        at_us.saturating_sub(self.base_us) / 1000
    }
}

/// All of it.
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
