//! The one way from the host into a workspace: programs of the session change it at the same time, and are hostile.
//!
//! A path is walked a folder at a time, each opened below the one before it by `openat2(2)`, which follows no link of any
//! kind. What is written goes to a new file that only we know the name of, by its descriptor, and then takes the name that
//! was asked for in one step: whatever lies there is replaced, and never opened.

mod path;
mod whole;
#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::ExecutionId;
use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, ResolveFlags, Uid};
use rustix::io::Errno;

pub(crate) use self::path::{PathError, WorkspacePath};

/// Nothing above the folder, no link, and none of those that `/proc` has.
const BENEATH: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

const FILE_MODE: Mode = Mode::from_raw_mode(0o644);
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o755);

/// A session's workspace.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: OwnedFd,
    /// The host user that the session's programs run as, if not ours.
    owner: Option<u32>,
}

/// Why something in a workspace cannot be done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkspaceError {
    #[error("`{path}` goes through a link or something else that is no folder")]
    NoFolder { path: String },
    #[error("`{path}` is there and is no ordinary file")]
    NoFile { path: String },
    #[error("`{path}` has another name besides")]
    Linked { path: String },
    #[error("cannot write `{path}`: {source}")]
    Io { path: String, source: Errno },
}

impl Workspace {
    /// The workspace in this folder, whose path no program of the session can change.
    pub(crate) fn open(folder: &Path, owner: Option<u32>) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self { root: rustix::fs::openat(CWD, folder, flags, Mode::empty())?, owner })
    }

    /// Writes a file, in place of the one that is there; the folders above it are made.
    pub(crate) fn save(&self, path: &WorkspacePath, bytes: &[u8]) -> Result<(), WorkspaceError> {
        let (folders, name) = path.split();
        let mut folder = None;
        for next in folders {
            let parent = folder.as_ref().unwrap_or(&self.root).as_fd();
            folder = Some(self.enter(parent, next).map_err(|error| told(path, error))?);
        }
        let folder = folder.as_ref().unwrap_or(&self.root).as_fd();
        look_at(folder, name, path)?;
        let new = format!(".headwater-{}", ExecutionId::random()); // nobody can guess it and be there first
        let saved = self
            .write_new(folder, &new, bytes)
            .and_then(|()| rustix::fs::renameat(folder, &new, folder, name));
        saved.map_err(|error| {
            let _ = rustix::fs::unlinkat(folder, &new, AtFlags::empty()); // it may never have been
            told(path, error)
        })
    }

    /// Opens a folder, or makes it.
    fn enter(&self, parent: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
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
            self.hand_over(folder.as_fd(), FOLDER_MODE)?;
        }
        Ok(folder)
    }

    fn write_new(&self, folder: BorrowedFd<'_>, name: &str, bytes: &[u8]) -> Result<(), Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let file = open_beneath(folder, name, flags, Mode::RUSR | Mode::WUSR)?;
        let mut left = bytes;
        while !left.is_empty() {
            let n = rustix::io::retry_on_intr(|| rustix::io::write(&file, left))?;
            left = left.get(n..).unwrap_or_default();
        }
        self.hand_over(file.as_fd(), FILE_MODE)
    }

    /// Gives what we made to the session. The owner last: after that it is no longer ours to change.
    fn hand_over(&self, fd: BorrowedFd<'_>, mode: Mode) -> Result<(), Errno> {
        rustix::fs::fchmod(fd, mode)?;
        let owner = self.owner.map(|id| (Uid::from_raw(id), Gid::from_raw(id)));
        owner.map_or(Ok(()), |(uid, gid)| rustix::fs::fchown(fd, Some(uid), Some(gid)))
    }
}

fn open_beneath(folder: BorrowedFd<'_>, name: &str, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::io::retry_on_intr(|| rustix::fs::openat2(folder, name, flags, mode, BENEATH))
}

/// Whether what lies there may be replaced. For people: it is replaced by name and not opened, so that nothing depends on
/// it being still the same then.
fn look_at(folder: BorrowedFd<'_>, name: &str, path: &WorkspacePath) -> Result<(), WorkspaceError> {
    let there = match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(there) => there,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(told(path, error)),
    };
    if FileType::from_raw_mode(there.st_mode) != FileType::RegularFile {
        return Err(WorkspaceError::NoFile { path: path.to_string() });
    }
    if there.st_nlink != 1 {
        return Err(WorkspaceError::Linked { path: path.to_string() });
    }
    Ok(())
}

fn told(path: &WorkspacePath, error: Errno) -> WorkspaceError {
    let path = path.to_string();
    match error {
        Errno::LOOP | Errno::NOTDIR | Errno::XDEV => WorkspaceError::NoFolder { path },
        Errno::ISDIR | Errno::NOTEMPTY | Errno::EXIST => WorkspaceError::NoFile { path },
        source => WorkspaceError::Io { path, source },
    }
}

impl From<WorkspaceError> for Fault {
    fn from(error: WorkspaceError) -> Self {
        let message = error.to_string();
        match error {
            WorkspaceError::Io { source: Errno::NOSPC | Errno::DQUOT, .. } => {
                Self::new(FaultKind::Unavailable, message).hint("free space on the disk of the data folder")
            }
            WorkspaceError::Io { source: Errno::ACCESS | Errno::PERM, .. } => {
                Self::new(FaultKind::Conflict, message).hint("make the folder writable in the session first")
            }
            WorkspaceError::Io { .. } => Self::new(FaultKind::Unavailable, message),
            _ => Self::new(FaultKind::Conflict, message)
                .hint("choose another path, or remove what is there in the session"),
        }
    }
}

impl From<PathError> for Fault {
    fn from(error: PathError) -> Self {
        Self::new(FaultKind::Invalid, error.to_string()).hint(error.hint())
    }
}
