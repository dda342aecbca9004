//! Several changes of a workspace as one: all of them, or the state before.
//!
//! New files are staged as numbered slots in a folder beside the workspace, or, if they are many, their bytes in one file
//! ([`StagedBytes`]). [`Journal::apply`] moves files out of the workspace into slots and slots into the workspace, creates
//! files and writes into files, one [`Step`] after the other. Which steps were done can be read from the slots and the
//! marks of the stage, which programs of the session cannot change. So [`Journal::undo`] restores the old state after any
//! number of steps, even in a worker that was started after a crash, and even if it is interrupted itself.

mod bytes;
mod run;

use std::os::fd::AsFd;

use serde::{Deserialize, Serialize};

pub use self::bytes::{Span, StagedBytes};
use self::run::Run;
pub(crate) use self::run::slot_name;
use super::entry::Entry;
use super::write::hidden_name;
use super::{Workspace, WorkspaceError, WorkspacePath};

/// The format of an encoded journal.
const VERSION: u8 = 2;

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
    /// Creates a file where nothing exists, from staged bytes. It appears complete.
    Create {
        /// The new file.
        path: WorkspacePath,
        /// Its content.
        content: Span,
        /// Its mode.
        mode: u32,
    },
    /// Writes staged bytes into a file. Programs may see a part of them for a moment.
    Rewrite {
        /// The file.
        path: WorkspacePath,
        /// Its new content.
        content: Span,
        /// Its old content.
        old: Span,
        /// The file that must be there.
        was: FileIdentity,
    },
}

/// Where the steps find what is not in the workspace.
#[derive(Debug, Clone, Copy)]
pub struct Staged<'a> {
    /// The slots.
    pub slots: &'a Workspace,
    /// The bytes of files without a slot.
    pub bytes: Option<&'a StagedBytes>,
}

/// The steps of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    steps: Vec<Step>,
    /// The name of a file in the folder of one that it replaces, for a moment: watches recognise it.
    hidden: String,
    /// The boot of the host in which it was written.
    boot: String,
}

impl Journal {
    /// A journal of these steps.
    pub fn new(steps: Vec<Step>) -> Self {
        Self { steps, hidden: hidden_name(), boot: boot() }
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
        staged: Staged<'_>,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(), WorkspaceError> {
        let run = self.run(workspace, staged, goes_on);
        self.steps.iter().enumerate().try_for_each(|(number, step)| run.apply(number, step))
    }

    /// Restores the state before [`Self::apply`], whatever part of it was carried out. Steps that cannot be undone do not
    /// prevent the others; the first error is returned.
    pub fn undo(&self, workspace: &Workspace, staged: Staged<'_>) -> Result<(), WorkspaceError> {
        let run = self.run(workspace, staged, &|| true);
        let mut result = Ok(());
        for (number, step) in self.steps.iter().enumerate().rev() {
            let undone = run.undo(number, step);
            if result.is_ok() {
                result = undone;
            }
        }
        result
    }

    fn run<'a>(
        &'a self,
        workspace: &'a Workspace,
        staged: Staged<'a>,
        goes_on: &'a dyn Fn() -> bool,
    ) -> Run<'a> {
        Run {
            workspace,
            slots: staged.slots.root.as_fd(),
            bytes: staged.bytes,
            hidden: &self.hidden,
            // A power failure loses marks.
            has_marks: self.boot == boot(),
            goes_on,
        }
    }

    /// The same, interrupted: for tests of crashes.
    #[cfg(test)]
    pub(crate) fn undo_while(
        &self,
        workspace: &Workspace,
        staged: Staged<'_>,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(), WorkspaceError> {
        let run = self.run(workspace, staged, goes_on);
        self.steps.iter().enumerate().rev().try_for_each(|(number, step)| run.undo(number, step))
    }

    /// The same journal, read after the host was restarted.
    #[cfg(test)]
    pub(crate) fn after_a_restart_of_the_host(self) -> Self {
        Self { boot: "another".into(), ..self }
    }
}

/// Identifies the boot of the host.
fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}
