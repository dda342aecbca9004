//! The folder of the next execution, made ahead.
//!
//! Making a folder and two files costs a file system a tenth of a millisecond, and several times that where many files
//! were deleted lately (ext4 passes over inodes that were freed in the last minutes, one by one). So one folder waits
//! in each session, and taking it costs a rename. Whoever finds none makes one, as a log does anyway.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use headwater_protocol::ExecutionId;

use super::Session;
use crate::layout;

/// Whether a session has a folder for its next execution.
#[derive(Debug)]
pub(crate) struct Spare(AtomicU8);

const NONE: u8 = 0;
const MAKING: u8 = 1;
const READY: u8 = 2;

impl Spare {
    /// As a session is found: `ready` if the folder was made with it.
    pub(crate) fn new(ready: bool) -> Self {
        Self(AtomicU8::new(if ready { READY } else { NONE }))
    }

    fn change(&self, from: u8, to: u8) -> bool {
        self.0.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

fn place(session: &Path) -> PathBuf {
    session.join("spare")
}

/// Makes the folder: one that a killed worker left half made will do.
pub(crate) fn make(session: &Path) -> io::Result<()> {
    let dir = place(session);
    headwater_workspace::create_private_folder(&dir)?;
    layout::make_empty(&dir.join(layout::EXECUTION))?;
    layout::make_empty(&dir.join("index"))
}

/// Removes it, if there is one.
pub(crate) fn remove(session: &Path) {
    let dir = place(session);
    for file in [layout::EXECUTION, "index"] {
        // A session that was never used, or a one-shot one, has none.
        if fs::remove_file(dir.join(file)).is_err() {
            break;
        }
    }
    let _ = fs::remove_dir(dir);
}

/// Removes an execution's folder that no log could be made in.
pub(crate) fn discard(execution: &Path) {
    // With an index it holds a log, and is not ours.
    if !execution.join("index").exists() {
        let _ = fs::remove_file(execution.join(layout::EXECUTION));
        let _ = fs::remove_dir(execution);
    }
}

impl Session {
    /// Gives the folder that was made ahead to this execution, if there is one.
    pub(crate) fn use_spare(&self, id: ExecutionId) {
        if self.spare.change(READY, MAKING) {
            // If it is not there after all, the log makes a folder of its own.
            let _ = fs::rename(place(&self.dir), layout::executions(&self.dir).join(id.to_string()));
            self.spare.change(MAKING, NONE);
        }
    }

    /// Makes the folder for the next execution, in the background.
    pub(crate) fn make_spare(self: &Arc<Self>) {
        if self.record().spec.one_shot || !self.spare.change(NONE, MAKING) {
            return;
        }
        let session = Arc::clone(self);
        tokio::task::spawn_blocking(move || {
            let made = make(&session.dir);
            session.spare.change(MAKING, if made.is_ok() { READY } else { NONE });
            if session.phase().is_gone() {
                remove(&session.dir);
            }
        });
    }
}
