//! Writes files: replaces one atomically, or writes into an existing one.
//!
//! A new file has no name while it is written, so that no program sees an incomplete file, and nothing is left of it if
//! the worker is killed.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use headwater_protocol::ExecutionId;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use super::entry::{Entry, Kind};
use super::find::reopen;
use super::{FILE_MODE, Workspace, WorkspaceError, WorkspacePath, from_errno, hand_over, open_beneath};

/// The condition for a write: what must exist at the path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Expect {
    /// No condition.
    #[default]
    Anything,
    /// The path must not exist.
    Nothing,
    /// The path must exist, in any state.
    Something,
    /// The path must exist with one of these entity tags.
    Tags(Vec<String>),
}

impl Expect {
    /// Checks the condition.
    pub fn check(&self, path: &WorkspacePath, existing: Option<&Entry>) -> Result<(), WorkspaceError> {
        let met = match (self, existing) {
            (Self::Anything, _) | (Self::Nothing, None) | (Self::Something, Some(_)) => true,
            (Self::Nothing, Some(_)) => return Err(WorkspaceError::Exists { path: path.to_string() }),
            (Self::Something | Self::Tags(_), None) => false,
            (Self::Tags(tags), Some(existing)) => tags.contains(&existing.etag()),
        };
        if met { Ok(()) } else { Err(WorkspaceError::Changed { path: path.to_string() }) }
    }
}

/// A file that is being written and has no name yet.
#[derive(Debug)]
pub struct NewFile {
    workspace: Workspace,
    path: WorkspacePath,
    file: OwnedFd,
    /// A temporary name, on file systems that do not support files without a name.
    named: Option<String>,
}

impl Workspace {
    /// Begins a file for this path. The path is not touched before the commit.
    pub fn create(&self, path: &WorkspacePath) -> Result<NewFile, WorkspaceError> {
        self.guarded(|guard| guard.check_entry(path))?;
        let begun = self.again().and_then(|workspace| {
            let (file, named) = new_file(workspace.root.as_fd())?;
            Ok(NewFile { workspace, path: path.clone(), file, named })
        });
        begun.map_err(|error| from_errno(path, error))
    }

    /// Opens a regular file with a single hard link for writing.
    pub fn open_to_write(&self, path: &WorkspacePath, expect: &Expect) -> Result<OwnedFd, WorkspaceError> {
        self.guarded(|guard| guard.check_content(path))?;
        let found = match self.find(path) {
            Err(WorkspaceError::Missing { .. }) if *expect != Expect::Anything => {
                expect.check(path, None)?;
                return Err(WorkspaceError::Missing { path: path.to_string() });
            }
            found => found?,
        };
        expect.check(path, Some(&found.entry))?;
        may_change(path, &found.entry)?;
        reopen(found.fd.as_fd(), OFlags::WRONLY).map_err(|error| from_errno(path, error))
    }
}

impl NewFile {
    /// The descriptor, for writing.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Appends bytes.
    pub fn write(&self, bytes: &[u8]) -> Result<(), WorkspaceError> {
        write_all(self.fd(), bytes).map_err(|error| from_errno(&self.path, error))
    }

    /// Gives the file to the session and moves it to its path atomically; missing parents are created. Without a mode it
    /// gets that of the file that it replaces.
    pub fn commit(mut self, expect: &Expect, mode: Option<u32>) -> Result<Entry, WorkspaceError> {
        let path = self.path.clone();
        let folder = self.workspace.parent(&path, true)?.0;
        let existing = replaceable(folder.as_fd(), &path)?;
        expect.check(&path, existing.as_ref())?;
        let kept = existing.as_ref().map_or(FILE_MODE, |existing| Mode::from_raw_mode(existing.mode & 0o777));
        let mode = mode.map_or(kept, |mode| Mode::from_raw_mode(mode & 0o777));
        let placed = hand_over(self.workspace.owner, self.file.as_fd(), mode).and_then(|()| {
            if existing.is_some() {
                return self.replace(&folder);
            }
            // A new file appears under its name at once: watches report it as created, and not as renamed.
            match self.appear(&folder) {
                Err(Errno::EXIST) if *expect != Expect::Nothing => self.replace(&folder),
                placed => placed,
            }
        });
        let stat = placed.and_then(|()| rustix::fs::fstat(&self.file));
        stat.map(|stat| Entry::from(&stat)).map_err(|error| match error {
            Errno::EXIST if *expect == Expect::Nothing => WorkspaceError::Exists { path: path.to_string() },
            error => from_errno(&path, error),
        })
    }

    /// Gets its name, which must not exist.
    fn appear(&mut self, folder: &OwnedFd) -> Result<(), Errno> {
        let (_, name) = self.path.split();
        if let Some(named) = &self.named {
            let flags = rustix::fs::RenameFlags::NOREPLACE;
            rustix::fs::renameat_with(&self.workspace.root, named, folder, name, flags)?;
            self.named = None;
            return Ok(());
        }
        link(self.file.as_fd(), folder.as_fd(), name)
    }

    /// Gets its name and replaces an existing entry. The hidden name is in the same folder, so that a watch on the folder
    /// sees where the file comes from.
    fn replace(&mut self, folder: &OwnedFd) -> Result<(), Errno> {
        let (_, name) = self.path.split();
        if let Some(hidden) = &self.named {
            rustix::fs::renameat(&self.workspace.root, hidden, folder, name)?;
            self.named = None;
            return Ok(());
        }
        let hidden = hidden_name();
        link(self.file.as_fd(), folder.as_fd(), hidden.as_bytes())?;
        let renamed = rustix::fs::renameat(folder, &hidden, folder, name);
        if renamed.is_err() {
            // A program may have removed it.
            let _ = rustix::fs::unlinkat(folder, &hidden, AtFlags::empty());
        }
        renamed
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(named) = &self.named {
            // A program may have removed it.
            let _ = rustix::fs::unlinkat(&self.workspace.root, named, AtFlags::empty());
        }
    }
}

/// Writes all bytes at the position of a file.
pub fn write_to(file: impl AsFd, bytes: &[u8]) -> std::io::Result<()> {
    Ok(write_all(file.as_fd(), bytes)?)
}

/// Writes all bytes at the file position.
fn write_all(file: BorrowedFd<'_>, bytes: &[u8]) -> Result<(), Errno> {
    let mut left = bytes;
    while !left.is_empty() {
        let n = rustix::io::retry_on_intr(|| rustix::io::write(file, left))?;
        left = left.get(n..).unwrap_or_default();
    }
    Ok(())
}

/// The mode of a file before it is given to the session.
const PRIVATE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// The beginning of the names that the server gives to entries for a moment.
const HIDDEN_PREFIX: &str = ".headwater-";

/// A name that no program can guess.
pub(crate) fn hidden_name() -> String {
    format!("{HIDDEN_PREFIX}{}", ExecutionId::random())
}

/// Whether the server gave this name to an entry for a moment.
pub fn is_hidden_name(name: &[u8]) -> bool {
    let rest = name.strip_prefix(HIDDEN_PREFIX.as_bytes()).and_then(|rest| std::str::from_utf8(rest).ok());
    rest.is_some_and(|rest| rest.parse::<ExecutionId>().is_ok() || rest.starts_with("removed-"))
}

fn new_file(folder: BorrowedFd<'_>) -> Result<(OwnedFd, Option<String>), Errno> {
    match unnamed_file(folder) {
        Err(Errno::OPNOTSUPP | Errno::ISDIR) => {}
        file => return Ok((file?, None)),
    }
    let name = hidden_name();
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
    Ok((open_beneath(folder, name.as_bytes(), flags, PRIVATE_MODE)?, Some(name)))
}

/// Creates a file without a name.
pub(crate) fn unnamed_file(folder: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    open_beneath(folder, b".", OFlags::RDWR | OFlags::TMPFILE, PRIVATE_MODE)
}

/// Gives a name to a file without one.
pub(crate) fn link(file: BorrowedFd<'_>, folder: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
    let fd = format!("/proc/self/fd/{}", file.as_raw_fd());
    rustix::fs::linkat(CWD, fd, folder, name, AtFlags::SYMLINK_FOLLOW)
}

/// The existing entry, if it may be replaced. Only for the error message: it is replaced by name and not opened, so it
/// does not matter if it changes meanwhile.
fn replaceable(folder: BorrowedFd<'_>, path: &WorkspacePath) -> Result<Option<Entry>, WorkspaceError> {
    let (_, name) = path.split();
    let existing = match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(existing) => Entry::from(&existing),
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(from_errno(path, error)),
    };
    may_change(path, &existing)?;
    Ok(Some(existing))
}

/// Only a regular file with a single hard link: a write would also change the file under its other names.
pub(crate) fn may_change(path: &WorkspacePath, existing: &Entry) -> Result<(), WorkspaceError> {
    if existing.kind != Kind::File {
        return Err(WorkspaceError::NoFile { path: path.to_string() });
    }
    if existing.links != 1 {
        return Err(WorkspaceError::Linked { path: path.to_string() });
    }
    Ok(())
}
