//! Several changes of a workspace as one: all of them, or the state before.
//!
//! New files are staged as numbered slots in a folder beside the workspace. [`Journal::apply`] moves files out of the
//! workspace into slots and slots into the workspace, one [`Step`] after the other. Which steps were done can be read from
//! the slots alone, which programs of the session cannot change. So [`Journal::undo`] restores the old state after any
//! number of steps, even in a worker that was started after a crash, and even if it is interrupted itself.

mod run;

use std::os::fd::AsFd;

use serde::{Deserialize, Serialize};

use self::run::Run;
pub(crate) use self::run::slot_name;
use super::entry::Entry;
use super::write::hidden_name;
use super::{Workspace, WorkspaceError, WorkspacePath};

/// The format of an encoded journal.
const VERSION: u8 = 1;

/// Identifies a file with its content. A rename and a new hard link change neither of these, unlike the time of the last
/// change of metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIdentity {
    inode: u64,
    size: u64,
    modified_ns: i128,
}

impl From<&Entry> for FileIdentity {
    fn from(entry: &Entry) -> Self {
        Self { inode: entry.inode, size: entry.size, modified_ns: entry.modified_ns }
    }
}

/// One move. Its parents exist when it is carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Creates a folder.
    MakeFolder {
        /// The folder.
        path: WorkspacePath,
    },
    /// Moves a file of the workspace to an empty slot.
    Take {
        /// The file.
        path: WorkspacePath,
        /// The slot.
        slot: u32,
        /// The file that must be there.
        was: FileIdentity,
    },
    /// Moves a slot to a path where nothing exists.
    Put {
        /// The slot.
        slot: u32,
        /// The new file.
        path: WorkspacePath,
        /// The inode in the slot.
        inode: u64,
    },
    /// Replaces a file by a slot, atomically for programs.
    Replace {
        /// The slot.
        slot: u32,
        /// The file.
        path: WorkspacePath,
        /// The inode in the slot.
        inode: u64,
        /// The file that must be there.
        was: FileIdentity,
    },
}

/// The steps of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    steps: Vec<Step>,
    /// The name of a file in the folder of one that it replaces, for a moment: watches recognise it.
    hidden: String,
}

impl Journal {
    /// A journal of these steps.
    pub fn new(steps: Vec<Step>) -> Self {
        Self { steps, hidden: hidden_name() }
    }

    /// The number of steps.
    pub const fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there is nothing to do.
    pub const fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// As bytes, for a file.
    pub fn encode(&self) -> std::io::Result<Vec<u8>> {
        postcard::to_extend(self, vec![VERSION]).map_err(std::io::Error::other)
    }

    /// Reads what [`Self::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> std::io::Result<Self> {
        match bytes.split_first() {
            Some((&VERSION, steps)) => postcard::from_bytes(steps).map_err(std::io::Error::other),
            _ => Err(std::io::Error::other("the journal has an unknown format")),
        }
    }

    /// Carries out the steps. `goes_on` is asked before each change of the file system. After an error, and only then,
    /// the caller calls [`Self::undo`].
    pub fn apply(
        &self,
        workspace: &Workspace,
        slots: &Workspace,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(), WorkspaceError> {
        let run = self.run(workspace, slots, goes_on);
        self.steps.iter().try_for_each(|step| run.apply(step))
    }

    /// Restores the state before [`Self::apply`], whatever part of it was carried out. Steps that cannot be undone do not
    /// prevent the others; the first error is returned.
    pub fn undo(&self, workspace: &Workspace, slots: &Workspace) -> Result<(), WorkspaceError> {
        let run = self.run(workspace, slots, &|| true);
        let mut result = Ok(());
        for step in self.steps.iter().rev() {
            let undone = run.undo(step);
            if result.is_ok() {
                result = undone;
            }
        }
        result
    }

    fn run<'a>(
        &'a self,
        workspace: &'a Workspace,
        slots: &'a Workspace,
        goes_on: &'a dyn Fn() -> bool,
    ) -> Run<'a> {
        Run { workspace, slots: slots.root.as_fd(), hidden: &self.hidden, goes_on }
    }

    /// The same, interrupted: for tests of crashes.
    #[cfg(test)]
    pub(crate) fn undo_while(
        &self,
        workspace: &Workspace,
        slots: &Workspace,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(), WorkspaceError> {
        let run = self.run(workspace, slots, goes_on);
        self.steps.iter().rev().try_for_each(|step| run.undo(step))
    }
}
