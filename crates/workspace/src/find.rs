//! Finding things by their path: to look at them, to read them, to list them.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use super::entry::{Entry, Kind};
use super::{Workspace, WorkspaceError, WorkspacePath, open_beneath, told};

/// Something that was found: its descriptor can look at it, and nothing else.
#[derive(Debug)]
pub struct Found {
    pub fd: OwnedFd,
    pub entry: Entry,
}

impl Workspace {
    /// What lies at a path. Opens nothing: a link is the link, a FIFO just a name.
    pub fn find(&self, path: &WorkspacePath) -> Result<Found, WorkspaceError> {
        let found = self.open_path(path, OFlags::PATH, Mode::empty()).and_then(|fd| {
            let entry = Entry::from(&rustix::fs::fstat(&fd)?);
            Ok(Found { fd, entry })
        });
        found.map_err(|error| told(path, error))
    }

    /// What is known of the thing at a path.
    pub fn stat(&self, path: &WorkspacePath) -> Result<Entry, WorkspaceError> {
        Ok(self.find(path)?.entry)
    }

    /// Where a symbolic link says it leads: the bytes, which are only shown.
    pub fn read_link(&self, path: &WorkspacePath) -> Result<Vec<u8>, WorkspaceError> {
        let link = self.find(path)?;
        let target = rustix::fs::readlinkat(&link.fd, "", Vec::new()).map_err(|error| told(path, error))?;
        Ok(target.into_bytes())
    }

    /// Opens a folder to list it, or to look for things below it.
    pub fn open_dir(&self, path: &WorkspacePath) -> Result<OwnedFd, WorkspaceError> {
        let opened = self.open_path(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty());
        opened.map_err(|error| told(path, error))
    }

    /// Opens an ordinary file to read it; nothing else is opened, not even for a moment.
    pub fn open_file(&self, path: &WorkspacePath) -> Result<(OwnedFd, Entry), WorkspaceError> {
        let found = self.find(path)?;
        self.may_open(path, &found.entry)?;
        let file = reopen(found.fd.as_fd(), OFlags::RDONLY).map_err(|error| told(path, error))?;
        Ok((file, found.entry))
    }

    /// Whether it is an ordinary file, and the session's. A file with several names that is another's was linked here by
    /// somebody who may do more than the session's programs.
    pub fn may_open(&self, path: &WorkspacePath, entry: &Entry) -> Result<(), WorkspaceError> {
        if entry.kind != Kind::File {
            return Err(WorkspaceError::NoFile { path: path.to_string() });
        }
        let own = self.owner.unwrap_or_else(|| rustix::process::geteuid().as_raw());
        if entry.links > 1 && entry.owner != own {
            return Err(WorkspaceError::Linked { path: path.to_string() });
        }
        Ok(())
    }

    /// Opens a path in one step.
    pub fn open_path(&self, path: &WorkspacePath, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        if path.is_root() {
            return open_beneath(self.root.as_fd(), b".", flags, mode);
        }
        open_beneath(self.root.as_fd(), &path.bytes(), flags, mode)
    }
}

/// Opens what a descriptor stands for, the very same thing, without waiting for anybody.
pub(crate) fn reopen(fd: BorrowedFd<'_>, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    rustix::io::retry_on_intr(|| rustix::fs::openat(CWD, &path, flags, Mode::empty()))
}
