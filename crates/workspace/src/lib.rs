//! The one way from the host into a workspace: programs of the session change it at the same time, and are hostile.
//!
//! A path is walked a folder at a time, each opened below the one before it by `openat2(2)`, which follows no link of any
//! kind. What is written goes to a new file that only we know the name of, by its descriptor, and then takes the name that
//! was asked for in one step: whatever lies there is replaced, and never opened.

mod change;
mod copy;
mod entry;
mod error;
mod find;
mod path;
mod plant;
mod put;
mod shift;
pub mod sparse;
mod staging;
#[cfg(test)]
mod tests;
pub mod tree;
mod walk;
mod whole;

use std::fs::DirBuilder;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use headwater_sandbox::quota;
use rustix::fs::{CWD, Gid, Mode, OFlags, ResolveFlags, Uid};
use rustix::io::Errno;

pub use self::change::Overwrite;
pub use self::copy::{Copied, Fidelity, Made, Room, TreeCopy};
pub use self::entry::{Entry, Kind};
pub use self::error::WorkspaceError;
use self::error::told;
pub use self::path::{PathError, WorkspacePath};
pub use self::plant::set_modified;
pub use self::put::{Expect, NewFile};
pub use self::staging::{Stage, staging};
pub use self::walk::{MAX_DEPTH, Step};

/// Nothing above the folder, no link, none of those that `/proc` has, and no other disk.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);

const FILE_MODE: Mode = Mode::from_raw_mode(0o644);
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o755);

/// A session's workspace.
#[derive(Debug)]
pub struct Workspace {
    root: OwnedFd,
    /// The host user that the session's programs run as, if not ours.
    owner: Option<u32>,
}

impl Workspace {
    /// The workspace in this folder, whose path no program of the session can change.
    pub fn open(folder: &Path, owner: Option<u32>) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self { root: rustix::fs::openat(CWD, folder, flags, Mode::empty())?, owner })
    }

    /// The same workspace once more.
    fn again(&self) -> Result<Self, Errno> {
        let root = open_beneath(self.root.as_fd(), b".", OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
        Ok(Self { root, owner: self.owner })
    }

    /// Gives a folder of ours the project of this workspace, if it has one: the kernel lets nothing of another project be
    /// moved into it.
    pub fn share_project(&self, folder: &Self) -> io::Result<()> {
        let open = |workspace: &Self| {
            open_beneath(workspace.root.as_fd(), b".", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
        };
        // One that cannot be opened, or whose file system has no such ids, has no project.
        let project = open(self).ok().and_then(|root| quota::project(root.as_fd()).ok().flatten());
        let Some(project) = project else { return Ok(()) };
        let folder = open(folder)?;
        if quota::project(folder.as_fd())? == Some(project) {
            return Ok(());
        }
        quota::join(folder.as_fd(), project)
    }

    /// Writes a file, in place of the one that is there; the folders above it are made.
    pub fn save(&self, path: &WorkspacePath, bytes: &[u8]) -> Result<(), WorkspaceError> {
        let file = self.create(path)?;
        file.write(bytes)?;
        file.commit(&Expect::Anything, None).map(drop)
    }

    /// Opens these folders, each in the one before it, or makes them.
    fn enter_all(&self, folders: &[Vec<u8>]) -> Result<OwnedFd, Errno> {
        let mut folder = None;
        for next in folders {
            let parent = folder.as_ref().unwrap_or(&self.root).as_fd();
            folder = Some(self.enter(parent, next)?);
        }
        folder.map_or_else(|| open_beneath(self.root.as_fd(), b".", OFlags::PATH, Mode::empty()), Ok)
    }

    /// Opens a folder, or makes it.
    fn enter(&self, parent: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
        let open = |flags| open_beneath(parent, name, flags | OFlags::DIRECTORY, Mode::empty());
        match open(OFlags::PATH) {
            Err(Errno::NOENT) => {}
            other => return other,
        }
        match rustix::fs::mkdirat(parent, name, FOLDER_MODE) {
            Err(Errno::EXIST) => return open(OFlags::PATH), // a program of the session was faster
            made => made?,
        }
        let folder = open(OFlags::RDONLY)?;
        // One that a program has put there instead has its owner already.
        if rustix::fs::fstat(&folder)?.st_uid == rustix::process::geteuid().as_raw() {
            hand_over(self.owner, folder.as_fd(), FOLDER_MODE)?;
        }
        Ok(folder)
    }
}

/// Gives what we made to the session. The owner last: after that it is no longer ours to change.
fn hand_over(owner: Option<u32>, fd: BorrowedFd<'_>, mode: Mode) -> Result<(), Errno> {
    rustix::fs::fchmod(fd, mode)?;
    let owner = owner.map(|id| (Uid::from_raw(id), Gid::from_raw(id)));
    owner.map_or(Ok(()), |(uid, gid)| rustix::fs::fchown(fd, Some(uid), Some(gid)))
}

fn open_beneath(folder: BorrowedFd<'_>, name: &[u8], flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::io::retry_on_intr(|| rustix::fs::openat2(folder, name, flags, mode, BENEATH))
}

/// Makes a folder, and those above it, that only its owner can enter.
pub fn make_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}
