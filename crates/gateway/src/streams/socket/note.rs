//! What a client is told besides the events of a log.

use headwater_contract::{Mark, Snapshot};
use headwater_protocol::TtySize;

use crate::error::ApiError;

/// Something to be told.
#[derive(Debug, Clone)]
pub(crate) enum Note {
    /// What was asked for cannot be done.
    Error(ApiError),
    /// The terminal has another size.
    Resized(TtySize),
    /// Which terminal this is, and how large: the first thing that is told.
    Attached(TtySize),
    /// The screen follows as output, in the place of what came before.
    Snapshot(SnapshotHead),
    /// What the shell told of its prompts and commands.
    Mark(Mark),
}

/// What is told of a screen before its bytes.
#[derive(Debug, Clone)]
pub(crate) struct SnapshotHead {
    pub(crate) seq: u64,
    pub(crate) size: TtySize,
    pub(crate) title: String,
    pub(crate) bytes: usize,
}

impl SnapshotHead {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        Self {
            seq: snapshot.seq.0,
            size: snapshot.size,
            title: snapshot.title.clone(),
            bytes: snapshot.data.len(),
        }
    }
}
