//! Staging: trees are built in the session's folder, on the disk of its workspace, before its programs see them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use headwater_protocol::ExecutionId;
use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, Timespec, Timestamps, Uid};
use rustix::io::Errno;

use super::change::Overwrite;
use super::entry::Entry;
use super::{
    FOLDER_MODE, Workspace, WorkspaceError, WorkspacePath, create_private_folder, from_errno, hand_over,
    open_beneath, tree,
};

/// The mode bits that are kept; set-user-id, set-group-id and sticky are dropped.
const PERMISSION_BITS: u32 = 0o777;

/// The staging area of a session. The next worker removes what a killed one leaves there.
pub fn staging_root(session: &Path) -> PathBuf {
    session.join("staging")
}

/// A folder in the staging area; dropping it removes the folder with its content.
#[derive(Debug)]
pub struct StagingDir(PathBuf);

impl StagingDir {
    /// Creates a folder in the staging area of a session.
    pub fn new(session: &Path) -> io::Result<Self> {
        let path = staging_root(session).join(ExecutionId::random().to_string());
        create_private_folder(&path)?;
        Ok(Self(path))
    }

    /// Takes over an existing folder.
    pub const fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// The path on the host.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Creates a folder in it that belongs to the worker's user.
    pub fn tree(&self, name: &str) -> io::Result<Workspace> {
        let path = self.0.join(name);
        create_private_folder(&path)?;
        Workspace::open(&path, None)
    }
}

impl Drop for StagingDir {
    fn drop(&mut self) {
        if let Err(error) = tree::remove(&self.0) {
            tracing::warn!(dir = %self.0.display(), %error, "cannot remove a staging folder");
        }
    }
}

impl Workspace {
    /// Creates a staging folder for entries that will be moved into this workspace: they belong to its owner and to its
    /// quota project.
    pub fn staged_tree(&self, staging: &StagingDir, name: &str) -> io::Result<Self> {
        let tree = Self { owner: self.owner, ..staging.tree(name)? };
        self.share_project(&tree)?;
        Ok(tree)
    }

    /// Gives a staged folder to the session and moves it to a path atomically.
    pub fn publish(
        &self,
        staging: &StagingDir,
        name: &str,
        to: &WorkspacePath,
        overwrite: Overwrite,
    ) -> Result<Entry, WorkspaceError> {
        let open = |path: &Path, flags: OFlags| {
            let flags = flags | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat(CWD, path, flags, Mode::empty())
        };
        let given = open(staging.path(), OFlags::PATH).and_then(|parent| {
            let tree = open(&staging.path().join(name), OFlags::RDONLY)?;
            hand_over(self.owner, tree.as_fd(), FOLDER_MODE)?;
            Ok(parent)
        });
        let parent = given.map_err(|error| from_errno(to, error))?;
        self.move_from(parent.as_fd(), name.as_bytes(), to, overwrite)
    }
}

impl Workspace {
    /// Creates a folder that its owner can fill, whatever its mode will be; its parent must exist.
    pub fn stage_folder(&self, path: &WorkspacePath, mode: u32) -> Result<(), Errno> {
        let (parent, name) = self.parent_of(path)?;
        rustix::fs::mkdirat(&parent, name.as_slice(), Mode::RWXU)?;
        let folder = open_beneath(parent.as_fd(), &name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        self.give(folder.as_fd(), mode | 0o700)
    }

    /// Creates a file and opens it for writing. [`Self::give`] completes it.
    pub fn stage_file(&self, path: &WorkspacePath) -> Result<OwnedFd, Errno> {
        let (parent, name) = self.parent_of(path)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        open_beneath(parent.as_fd(), &name, flags, Mode::RUSR | Mode::WUSR)
    }

    /// Creates a symbolic link with this target.
    pub fn stage_link(&self, path: &WorkspacePath, target: &[u8]) -> Result<(), Errno> {
        let (parent, name) = self.parent_of(path)?;
        rustix::fs::symlinkat(target, &parent, name.as_slice())?;
        match self.owner {
            Some(owner) => {
                let (uid, gid) = (Some(Uid::from_raw(owner.uid)), Some(Gid::from_raw(owner.gid)));
                rustix::fs::chownat(&parent, name.as_slice(), uid, gid, AtFlags::SYMLINK_NOFOLLOW)
            }
            None => Ok(()),
        }
    }

    /// Gives a new entry to the session, with this mode.
    pub fn give(&self, fd: BorrowedFd<'_>, mode: u32) -> Result<(), Errno> {
        hand_over(self.owner, fd, Mode::from_raw_mode(mode & PERMISSION_BITS))
    }

    fn parent_of(&self, path: &WorkspacePath) -> Result<(OwnedFd, Vec<u8>), Errno> {
        let (folders, name) = path.split();
        let parent = if folders.is_empty() { b".".to_vec() } else { folders.join(&b'/') };
        let parent =
            open_beneath(self.root.as_fd(), &parent, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        Ok((parent, name.to_vec()))
    }
}

/// Sets the modification time, in nanoseconds since 1970.
pub fn set_modified(fd: BorrowedFd<'_>, modified_ns: i128) -> io::Result<()> {
    const NS: i128 = 1_000_000_000;
    let at = Timespec {
        tv_sec: i64::try_from(modified_ns.div_euclid(NS)).map_err(io::Error::other)?,
        tv_nsec: i64::try_from(modified_ns.rem_euclid(NS)).map_err(io::Error::other)?,
    };
    Ok(rustix::fs::futimens(fd, &Timestamps { last_access: at, last_modification: at })?)
}
