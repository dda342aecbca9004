//! Notices: messages to a client that are not events of a log.

use headwater_contract::{Mark, Snapshot};
use headwater_protocol::TtySize;

use crate::error::ApiError;

/// A message that is not an event of the log.
#[derive(Debug, Clone)]
pub(crate) enum Notice {
    /// A request of the client failed.
    Error(ApiError),
    /// The terminal was resized.
    Resized(TtySize),
    /// Which terminal this is, and its size; sent first.
    Attached(TtySize),
    /// The screen follows as output, in place of earlier output.
    Snapshot(SnapshotHead),
    /// A mark of the shell about its prompts and commands.
    Mark(Mark),
}

/// The header of a screen, sent before its bytes.
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
