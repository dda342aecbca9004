//! The folder of the next execution, created in advance.
//!
//! Creating a folder and two files takes a tenth of a millisecond, and several times that where many files were deleted
//! recently (ext4 passes over inodes that were freed in the last minutes, one by one). So each session has one folder in
//! reserve, and using it takes a rename. Without one, the log creates its folder itself.

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
const CREATING: u8 = 1;
const READY: u8 = 2;

impl Spare {
    /// `ready` if the folder was created together with the session.
    pub(crate) fn new(ready: bool) -> Self {
        Self(AtomicU8::new(if ready { READY } else { NONE }))
    }

    fn change(&self, from: u8, to: u8) -> bool {
        self.0.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

fn path(session: &Path) -> PathBuf {
    session.join("spare")
}

/// Creates the folder, or completes one that a killed worker left.
pub(crate) fn create(session: &Path) -> io::Result<()> {
    let dir = path(session);
    headwater_workspace::create_private_folder(&dir)?;
    layout::make_empty(&dir.join(layout::EXECUTION))?;
    layout::make_empty(&dir.join("index"))
}

/// Removes the folder, if it exists.
pub(crate) fn remove(session: &Path) {
    let dir = path(session);
    for file in [layout::EXECUTION, "index"] {
        // The session of a one-shot has none.
        if fs::remove_file(dir.join(file)).is_err() {
            break;
        }
    }
    let _ = fs::remove_dir(dir);
}

/// Removes an execution's folder in which no log could be created.
pub(crate) fn discard(execution: &Path) {
    // With an index it contains a log of another execution with this id.
    if !execution.join("index").exists() {
        let _ = fs::remove_file(execution.join(layout::EXECUTION));
        let _ = fs::remove_dir(execution);
    }
}

impl Session {
    /// Gives the folder in reserve to this execution, if there is one.
    pub(crate) fn use_spare(&self, id: ExecutionId) {
        if self.spare.change(READY, CREATING) {
            // If it does not exist after all, the log creates a folder.
            let _ = fs::rename(path(&self.dir), layout::executions(&self.dir).join(id.to_string()));
            self.spare.change(CREATING, NONE);
        }
    }

    /// Creates the folder of the next execution in the background.
    pub(crate) fn create_spare(self: &Arc<Self>) {
        if self.record().spec.one_shot || !self.spare.change(NONE, CREATING) {
            return;
        }
        let session = Arc::clone(self);
        tokio::task::spawn_blocking(move || {
            let created = create(&session.dir);
            session.spare.change(CREATING, if created.is_ok() { READY } else { NONE });
            if session.phase().is_gone() {
                remove(&session.dir);
            }
        });
    }
}
