//! Where trees are made before programs of the session see them: in the session's folder, on the disk of its workspace.

use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use headwater_protocol::ExecutionId;
use rustix::fs::{CWD, Mode, OFlags};

use super::change::Overwrite;
use super::entry::Entry;
use super::{FOLDER_MODE, Workspace, WorkspaceError, WorkspacePath, hand_over, told};
use crate::make_private;
use crate::tree;

/// The staging area of a session. What a killed worker leaves there the next one removes.
pub fn staging(session: &Path) -> PathBuf {
    session.join("staging")
}

/// A folder of its own in there, which goes with all that is left in it when this is dropped.
#[derive(Debug)]
pub struct Stage(PathBuf);

impl Stage {
    /// A new one in this session's folder.
    pub fn new(session: &Path) -> io::Result<Self> {
        let path = staging(session).join(ExecutionId::random().to_string());
        make_private(&path)?;
        Ok(Self(path))
    }

    /// One that is there.
    pub const fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// Where the stage lies on the host.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A new folder in it that is ours, and so is all that is made in it.
    pub fn tree(&self, name: &str) -> io::Result<Workspace> {
        let path = self.0.join(name);
        make_private(&path)?;
        Workspace::open(&path, None)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Err(error) = tree::remove(&self.0) {
            tracing::warn!(dir = %self.0.display(), %error, "a staging folder cannot be removed");
        }
    }
}

impl Workspace {
    /// A new folder of a stage for things that are to be moved into this workspace: they are its owner's, and in its
    /// project.
    pub fn staged_tree(&self, stage: &Stage, name: &str) -> io::Result<Self> {
        let tree = Self { owner: self.owner, ..stage.tree(name)? };
        self.share_project(&tree)?;
        Ok(tree)
    }

    /// Gives a folder of a stage to the session and puts it at this path, in one step.
    pub fn publish(
        &self,
        stage: &Stage,
        name: &str,
        to: &WorkspacePath,
        overwrite: Overwrite,
    ) -> Result<Entry, WorkspaceError> {
        let open = |path: &Path, flags: OFlags| {
            let flags = flags | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat(CWD, path, flags, Mode::empty())
        };
        let given = open(stage.path(), OFlags::PATH).and_then(|parent| {
            let tree = open(&stage.path().join(name), OFlags::RDONLY)?;
            hand_over(self.owner, tree.as_fd(), FOLDER_MODE)?;
            Ok(parent)
        });
        let parent = given.map_err(|error| told(to, error))?;
        self.place(parent.as_fd(), name.as_bytes(), to, overwrite)
    }
}
