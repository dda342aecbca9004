//! Opens files and folders by their path, to stat, read or list them.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use super::entry::{Entry, Kind};
use super::{Workspace, WorkspaceError, WorkspacePath, from_errno, open_beneath};

/// An entry that was found. Its descriptor (`O_PATH`) only gives access to metadata.
#[derive(Debug)]
pub struct Found {
    pub fd: OwnedFd,
    pub entry: Entry,
}

impl Workspace {
    /// Finds the entry at a path without opening it: links are not followed, FIFOs do not block.
    pub fn find(&self, path: &WorkspacePath) -> Result<Found, WorkspaceError> {
        let found = self.open_path(path, OFlags::PATH, Mode::empty()).and_then(|fd| {
            let entry = Entry::from(&rustix::fs::fstat(&fd)?);
            Ok(Found { fd, entry })
        });
        found.map_err(|error| from_errno(path, error))
    }

    /// The metadata of the entry at a path.
    pub fn stat(&self, path: &WorkspacePath) -> Result<Entry, WorkspaceError> {
        Ok(self.find(path)?.entry)
    }

    /// The target of a symbolic link: its bytes, for display only.
    pub fn read_link(&self, path: &WorkspacePath) -> Result<Vec<u8>, WorkspaceError> {
        let link = self.find(path)?;
        let target =
            rustix::fs::readlinkat(&link.fd, "", Vec::new()).map_err(|error| from_errno(path, error))?;
        Ok(target.into_bytes())
    }

    /// Opens a folder, to list it or to open entries below it.
    pub fn open_dir(&self, path: &WorkspacePath) -> Result<OwnedFd, WorkspaceError> {
        let opened = self.open_path(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty());
        opened.map_err(|error| from_errno(path, error))
    }

    /// Opens a regular file for reading; nothing else is opened, not even for a moment.
    pub fn open_file(&self, path: &WorkspacePath) -> Result<(OwnedFd, Entry), WorkspaceError> {
        let found = self.find(path)?;
        self.may_open(path, &found.entry)?;
        let file = reopen(found.fd.as_fd(), OFlags::RDONLY).map_err(|error| from_errno(path, error))?;
        Ok((file, found.entry))
    }

    /// Whether it is a regular file of the session. A file with several hard links and another owner was linked here by
    /// a process with more privileges than the session's programs.
    pub fn may_open(&self, path: &WorkspacePath, entry: &Entry) -> Result<(), WorkspaceError> {
        if entry.kind != Kind::File {
            return Err(WorkspaceError::NoFile { path: path.to_string() });
        }
        let own = self.owner.map_or_else(|| rustix::process::geteuid().as_raw(), |owner| owner.uid);
        if entry.links > 1 && entry.owner != own {
            return Err(WorkspaceError::Linked { path: path.to_string() });
        }
        Ok(())
    }

    /// Opens a path with a single system call.
    pub fn open_path(&self, path: &WorkspacePath, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        if path.is_root() {
            return open_beneath(self.root.as_fd(), b".", flags, mode);
        }
        open_beneath(self.root.as_fd(), &path.bytes(), flags, mode)
    }
}

/// Opens the same file that a descriptor refers to, without blocking.
pub(crate) fn reopen(fd: BorrowedFd<'_>, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    rustix::io::retry_on_intr(|| rustix::fs::openat(CWD, &path, flags, Mode::empty()))
}
