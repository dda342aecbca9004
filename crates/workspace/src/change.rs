//! Changes in a workspace: creating folders, renaming, removing, permissions.

use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::entry::{Entry, Kind};
use super::{Workspace, WorkspaceError, WorkspacePath, from_errno};
use crate::tree;

/// What to do if the name exists already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// Fail.
    Never,
    /// Replace a file by a file, an empty folder by a folder.
    Replace,
}

impl Workspace {
    /// Creates a folder and its parents; returns whether it is new.
    pub fn create_folder(&self, path: &WorkspacePath) -> Result<(Entry, bool), WorkspaceError> {
        let there = match self.stat(path) {
            Err(WorkspaceError::Missing { .. }) => None,
            there => Some(there?),
        };
        if there.is_some_and(|there| there.kind != Kind::Folder) {
            return Err(WorkspaceError::Exists { path: path.to_string() });
        }
        let folder = self.enter_all(path.names()).map_err(|error| from_errno(path, error))?;
        let stat = rustix::fs::fstat(&folder).map_err(|error| from_errno(path, error))?;
        Ok((Entry::from(&stat), there.is_none()))
    }

    /// Renames a file or folder atomically; missing parents are created.
    pub fn rename(
        &self,
        from: &WorkspacePath,
        to: &WorkspacePath,
        overwrite: Overwrite,
    ) -> Result<Entry, WorkspaceError> {
        self.stat(from)?; // before folders are created in vain
        if to.is_within(from) {
            return Err(if to == from { exists(to) } else { within(to) });
        }
        let (old, old_name) = self.parent(from, false)?;
        self.move_from(old.as_fd(), old_name, to, overwrite)
    }

    /// Moves an entry of a folder that no program of the session can reach to a path.
    pub fn move_from(
        &self,
        folder: BorrowedFd<'_>,
        name: &[u8],
        to: &WorkspacePath,
        overwrite: Overwrite,
    ) -> Result<Entry, WorkspaceError> {
        let (new, new_name) = self.parent(to, true)?;
        let flags = match overwrite {
            Overwrite::Never => RenameFlags::NOREPLACE,
            Overwrite::Replace => RenameFlags::empty(),
        };
        match rustix::fs::renameat_with(folder, name, &new, new_name, flags) {
            Ok(()) => self.stat(to),
            Err(Errno::INVAL) => Err(within(to)),
            // One of the two is a folder and the other is not: the existing one is in the way.
            Err(Errno::ISDIR | Errno::NOTDIR) => Err(exists(to)),
            Err(error) => Err(from_errno(to, error)),
        }
    }

    /// Removes a file or folder; a folder that is not empty only with `recursive`.
    pub fn remove(&self, path: &WorkspacePath, recursive: bool) -> Result<(), WorkspaceError> {
        let (parent, name) = self.parent(path, false)?;
        let removed = match rustix::fs::unlinkat(&parent, name, AtFlags::empty()) {
            Err(Errno::ISDIR | Errno::PERM) if recursive => {
                let name = CString::new(name).map_err(|_| from_errno(path, Errno::INVAL))?;
                tree::remove_below(parent.as_fd(), &name).map_err(|error| errno(&error))
            }
            Err(Errno::ISDIR | Errno::PERM) => rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR),
            removed => removed,
        };
        removed.map_err(|error| from_errno(path, error))
    }

    /// Changes the mode of a file or a folder.
    pub fn chmod(&self, path: &WorkspacePath, mode: u32) -> Result<Entry, WorkspaceError> {
        self.guarded(|guard| guard.check_content(path))?;
        let found = self.find(path)?;
        if found.entry.kind != Kind::Folder {
            self.may_open(path, &found.entry)?;
        }
        // By the descriptor: the name may have become a link meanwhile.
        let fd = format!("/proc/self/fd/{}", found.fd.as_raw_fd());
        let changed = rustix::fs::chmodat(CWD, fd, Mode::from_raw_mode(mode & 0o777), AtFlags::empty())
            .and_then(|()| rustix::fs::fstat(&found.fd));
        changed.map(|stat| Entry::from(&stat)).map_err(|error| from_errno(path, error))
    }

    /// The parent folder of a path whose entry is to be changed, and the last name.
    pub fn parent<'p>(
        &self,
        path: &'p WorkspacePath,
        make: bool,
    ) -> Result<(OwnedFd, &'p [u8]), WorkspaceError> {
        let (folders, name) = path.split();
        if path.is_root() {
            return Err(WorkspaceError::Root);
        }
        self.guarded(|guard| guard.check_entry(path))?;
        let parent = if make {
            self.enter_all(folders)
        } else {
            self.open_path(&path.parent(), OFlags::PATH | OFlags::DIRECTORY, Mode::empty())
        };
        Ok((parent.map_err(|error| from_errno(path, error))?, name))
    }
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

fn exists(path: &WorkspacePath) -> WorkspaceError {
    WorkspaceError::Exists { path: path.to_string() }
}

pub(crate) fn within(path: &WorkspacePath) -> WorkspaceError {
    WorkspaceError::Within { path: path.to_string() }
}
