//! Trees that appear whole or not at all: filled in a folder that no program can reach, then renamed into the workspace.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};

use super::change::Overwrite;
use super::entry::Entry;
use super::put::hidden_name;
use super::{FOLDER_MODE, Workspace, WorkspaceError, WorkspacePath, hand_over, told};
use crate::tree;

/// A folder that is filled. Removed, unless it was put into its place.
#[derive(Debug)]
pub(crate) struct Staging {
    /// What is filled, to be used like a workspace.
    pub(crate) inside: Workspace,
    parent: OwnedFd,
    name: String,
    path: PathBuf,
}

impl Staging {
    /// Begins one in a folder of ours, on the disk of the workspace that it is meant for.
    pub(crate) fn new(folder: &Path, workspace: &Workspace) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let parent = rustix::fs::openat(CWD, folder, flags, Mode::empty())?;
        let name = hidden_name();
        let path = folder.join(&name);
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        let staging = Self { inside: Workspace::open(&path, workspace.owner)?, parent, name, path };
        workspace.share_project(&staging.inside)?;
        Ok(staging)
    }

    /// Gives it to the session and puts it at this path, in one step.
    pub(crate) fn publish(
        self,
        workspace: &Workspace,
        to: &WorkspacePath,
        overwrite: Overwrite,
    ) -> Result<Entry, WorkspaceError> {
        let root = WorkspacePath::root();
        let folder = self.inside.open_dir(&root)?;
        let given = hand_over(workspace.owner, folder.as_fd(), FOLDER_MODE);
        given.map_err(|error| told(to, error))?;
        workspace.place(self.parent.as_fd(), self.name.as_bytes(), to, overwrite)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // What was put into its place is not there any more; the rest goes when the next worker starts.
        let _ = tree::remove(&self.path);
    }
}
