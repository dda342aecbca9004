//! All access from the host to a workspace. Programs of the session change it at the same time and may be hostile.
//!
//! Paths are opened with `openat2(2)`, one folder below the other, which follows no link of any kind. Writes go to a
//! new file with an unguessable name, through its descriptor; the file is then renamed to its path atomically. An
//! existing file is replaced, unless a caller writes at a position of it or changes many files at once ([`Journal`]).

mod build_files;
mod change;
mod copy;
mod entry;
mod error;
mod find;
mod guard;
mod journal;
mod path;
mod slots;
pub mod sparse;
mod staging;
mod swap;
#[cfg(test)]
mod tests;
pub mod tree;
mod walk;
mod write;

use std::fs::DirBuilder;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;

use headwater_sandbox::project_quota;
use rustix::fs::{CWD, Gid, Mode, OFlags, ResolveFlags, Uid};
use rustix::io::Errno;

pub use self::change::Overwrite;
pub use self::copy::{CopiedEntry, CopyTotals, Fidelity, Room, TreeCopy};
pub use self::entry::{Entry, Kind};
pub use self::error::WorkspaceError;
use self::error::from_errno;
pub use self::guard::{Guard, GuardRule};
pub use self::journal::{FileIdentity, Journal, Span, Staged, StagedBytes, Step};
pub use self::path::{PathError, WorkspacePath};
pub use self::staging::{StagingDir, set_modified, staging_root};
pub use self::walk::{MAX_DEPTH, WalkEntry};
pub use self::write::{Expect, NewFile, is_hidden_name, write_to};

/// Resolution stays below the folder, follows no link (not even those of `/proc`), and enters no other file system.
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
    /// The host user of the session's programs, if it differs from ours.
    owner: Option<Owner>,
    /// What may be changed, if that is not everything.
    guard: Option<Arc<Guard>>,
}

/// A user and a group of the host that files are given to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// The user.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

impl From<u32> for Owner {
    fn from(id: u32) -> Self {
        Self { uid: id, gid: id }
    }
}

/// A workspace that is a folder of the host.
#[derive(Debug, Clone)]
pub struct InPlace<'a> {
    /// The absolute path of the folder.
    pub folder: &'a Path,
    /// The device and the inode that the folder must have.
    pub id: Option<(u64, u64)>,
    /// The owner of new files, if that is not the worker's user.
    pub owner: Option<Owner>,
    /// What may be changed, if that is not everything.
    pub guard: Option<Guard>,
}

impl Workspace {
    /// Opens the workspace in this folder, whose path no program of the session can change.
    pub fn open(folder: &Path, owner: Option<u32>) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, folder, flags, Mode::empty())?;
        Ok(Self { root, owner: owner.map(Owner::from), guard: None })
    }

    /// Opens a folder of the host as a workspace. Fails with `ESTALE` if another folder is at its path now.
    pub fn open_in_place(place: InPlace<'_>) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let open = || rustix::fs::openat2(CWD, place.folder, flags, Mode::empty(), resolve);
        let root = rustix::io::retry_on_intr(open)?;
        let stat = rustix::fs::fstat(&root)?;
        if place.id.is_some_and(|id| id != (stat.st_dev, stat.st_ino)) {
            return Err(Errno::STALE.into());
        }
        Ok(Self { root, owner: place.owner, guard: place.guard.map(Arc::new) })
    }

    /// Opens the same workspace again.
    fn again(&self) -> Result<Self, Errno> {
        let root = open_beneath(self.root.as_fd(), b".", OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
        Ok(Self { root, owner: self.owner, guard: self.guard.clone() })
    }

    /// Assigns a folder to the quota project of this workspace, if it has one: the kernel refuses to move entries of
    /// another project into it.
    pub fn share_project(&self, folder: &Self) -> io::Result<()> {
        let open = |workspace: &Self| {
            open_beneath(workspace.root.as_fd(), b".", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
        };
        // A folder that cannot be opened, or a file system without project ids, has no project.
        let project = open(self).ok().and_then(|root| project_quota::project(root.as_fd()).ok().flatten());
        let Some(project) = project else { return Ok(()) };
        let folder = open(folder)?;
        if project_quota::project(folder.as_fd())? == Some(project) {
            return Ok(());
        }
        project_quota::join(folder.as_fd(), project)
    }

    /// Writes a file and replaces an existing one; missing parents are created.
    pub fn save(&self, path: &WorkspacePath, bytes: &[u8]) -> Result<(), WorkspaceError> {
        let file = self.create(path)?;
        file.write(bytes)?;
        file.commit(&Expect::Anything, None).map(drop)
    }

    /// Refuses a change that the workspace's guard does not allow.
    fn guarded(
        &self,
        check: impl FnOnce(&Guard) -> Result<(), WorkspaceError>,
    ) -> Result<(), WorkspaceError> {
        self.guard.as_deref().map_or(Ok(()), check)
    }

    /// Opens these folders, each in the one before it, and creates missing ones.
    fn enter_all(&self, folders: &[Vec<u8>]) -> Result<OwnedFd, Errno> {
        let (mut folder, mut path) = (None, WorkspacePath::root());
        for next in folders {
            let parent = folder.as_ref().unwrap_or(&self.root).as_fd();
            path = path.join(next).ok_or(Errno::NAMETOOLONG)?;
            folder = Some(self.enter(parent, next, &path)?);
        }
        folder.map_or_else(|| open_beneath(self.root.as_fd(), b".", OFlags::PATH, Mode::empty()), Ok)
    }

    /// Opens a folder, or creates it.
    fn enter(&self, parent: BorrowedFd<'_>, name: &[u8], path: &WorkspacePath) -> Result<OwnedFd, Errno> {
        let open = |flags| open_beneath(parent, name, flags | OFlags::DIRECTORY, Mode::empty());
        match open(OFlags::PATH) {
            Err(Errno::NOENT) => {}
            other => return other,
        }
        self.guarded(|guard| guard.check_entry(path)).map_err(|_| Errno::ROFS)?;
        match rustix::fs::mkdirat(parent, name, FOLDER_MODE) {
            Err(Errno::EXIST) => return open(OFlags::PATH), // a program of the session was faster
            created => created?,
        }
        let folder = open(OFlags::RDONLY)?;
        // A folder that a program created instead has its owner already.
        if rustix::fs::fstat(&folder)?.st_uid == rustix::process::geteuid().as_raw() {
            hand_over(self.owner, folder.as_fd(), FOLDER_MODE)?;
        }
        Ok(folder)
    }
}

/// Gives a new entry to the session. The owner is changed last: after that we may not be able to change it.
fn hand_over(owner: Option<Owner>, fd: BorrowedFd<'_>, mode: Mode) -> Result<(), Errno> {
    rustix::fs::fchmod(fd, mode)?;
    let owner = owner.map(|owner| (Uid::from_raw(owner.uid), Gid::from_raw(owner.gid)));
    owner.map_or(Ok(()), |(uid, gid)| rustix::fs::fchown(fd, Some(uid), Some(gid)))
}

fn open_beneath(folder: BorrowedFd<'_>, name: &[u8], flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::io::retry_on_intr(|| rustix::fs::openat2(folder, name, flags, mode, BENEATH))
}

/// Creates a folder and its parents with mode 0700.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}
