//! Writing files: a new one in place of the old in one step, or into the one that is there.
//!
//! A new file has no name while it is written, so that nobody sees half of it, no program meets it, and nothing is left
//! of it if we are killed.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use headwater_protocol::ExecutionId;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use super::entry::{Entry, Kind};
use super::find::reopen;
use super::{FILE_MODE, Workspace, WorkspaceError, WorkspacePath, hand_over, open_beneath, told};

/// What must lie at a path for something to be written there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Expect {
    /// Anything that may be replaced, or nothing.
    #[default]
    Anything,
    /// Nothing.
    Nothing,
    /// Something, in whatever state.
    Something,
    /// The state with one of these tags.
    Tags(Vec<String>),
}

impl Expect {
    /// Whether what lies there is what was expected.
    pub fn check(&self, path: &WorkspacePath, there: Option<&Entry>) -> Result<(), WorkspaceError> {
        let met = match (self, there) {
            (Self::Anything, _) | (Self::Nothing, None) | (Self::Something, Some(_)) => true,
            (Self::Nothing, Some(_)) => return Err(WorkspaceError::Exists { path: path.to_string() }),
            (Self::Something | Self::Tags(_), None) => false,
            (Self::Tags(tags), Some(there)) => tags.contains(&there.etag()),
        };
        if met { Ok(()) } else { Err(WorkspaceError::Changed { path: path.to_string() }) }
    }
}

/// A file that is written and has no name yet.
#[derive(Debug)]
pub struct NewFile {
    workspace: Workspace,
    path: WorkspacePath,
    file: OwnedFd,
    /// The name that it has after all, where the file system knows no files without one.
    named: Option<String>,
}

impl Workspace {
    /// Begins a file that is to lie at this path. Nothing is made or looked at there before it is committed.
    pub fn create(&self, path: &WorkspacePath) -> Result<NewFile, WorkspaceError> {
        let begun = self.again().and_then(|workspace| {
            let (file, named) = new_file(workspace.root.as_fd())?;
            Ok(NewFile { workspace, path: path.clone(), file, named })
        });
        begun.map_err(|error| told(path, error))
    }

    /// Opens an ordinary file with one name to write into it.
    pub fn open_to_write(&self, path: &WorkspacePath, expect: &Expect) -> Result<OwnedFd, WorkspaceError> {
        let found = match self.find(path) {
            Err(WorkspaceError::Missing { .. }) if *expect != Expect::Anything => {
                expect.check(path, None)?;
                return Err(WorkspaceError::Missing { path: path.to_string() });
            }
            found => found?,
        };
        expect.check(path, Some(&found.entry))?;
        may_change(path, &found.entry)?;
        reopen(found.fd.as_fd(), OFlags::WRONLY).map_err(|error| told(path, error))
    }
}

impl NewFile {
    /// To write to.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Writes at the end of what was written before.
    pub fn write(&self, bytes: &[u8]) -> Result<(), WorkspaceError> {
        write_all(self.fd(), bytes).map_err(|error| told(&self.path, error))
    }

    /// Gives the file to the session and puts it in its place, in one step; the folders above it are made. Without a mode it gets that of the file whose
    /// place it takes.
    pub fn commit(mut self, expect: &Expect, mode: Option<u32>) -> Result<Entry, WorkspaceError> {
        let path = self.path.clone();
        let folder = self.workspace.parent(&path, true)?.0;
        let there = look_at(folder.as_fd(), &path)?;
        expect.check(&path, there.as_ref())?;
        let kept = there.map_or(FILE_MODE, |there| Mode::from_raw_mode(there.mode & 0o777));
        let mode = mode.map_or(kept, |mode| Mode::from_raw_mode(mode & 0o777));
        let placed = hand_over(self.workspace.owner, self.file.as_fd(), mode).and_then(|()| {
            if *expect == Expect::Nothing { self.appear(&folder) } else { self.replace(&folder) }
        });
        let stat = placed.and_then(|()| rustix::fs::fstat(&self.file));
        stat.map(|stat| Entry::from(&stat)).map_err(|error| match error {
            Errno::EXIST if *expect == Expect::Nothing => WorkspaceError::Exists { path: path.to_string() },
            error => told(&path, error),
        })
    }

    /// Takes its name, which nothing may have.
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

    /// Takes its name, whatever has it.
    fn replace(&mut self, folder: &OwnedFd) -> Result<(), Errno> {
        let (_, name) = self.path.split();
        if self.named.is_none() {
            let hidden = hidden_name();
            link(self.file.as_fd(), self.workspace.root.as_fd(), hidden.as_bytes())?;
            self.named = Some(hidden);
        }
        if let Some(hidden) = &self.named {
            rustix::fs::renameat(&self.workspace.root, hidden, folder, name)?;
        }
        self.named = None;
        Ok(())
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

/// Writes all of it at the file's position.
fn write_all(file: BorrowedFd<'_>, bytes: &[u8]) -> Result<(), Errno> {
    let mut left = bytes;
    while !left.is_empty() {
        let n = rustix::io::retry_on_intr(|| rustix::io::write(file, left))?;
        left = left.get(n..).unwrap_or_default();
    }
    Ok(())
}

/// Nobody can guess it and be there first.
pub(crate) fn hidden_name() -> String {
    format!(".headwater-{}", ExecutionId::random())
}

fn new_file(folder: BorrowedFd<'_>) -> Result<(OwnedFd, Option<String>), Errno> {
    let mode = Mode::RUSR | Mode::WUSR;
    match open_beneath(folder, b".", OFlags::RDWR | OFlags::TMPFILE, mode) {
        Err(Errno::OPNOTSUPP | Errno::ISDIR) => {}
        file => return Ok((file?, None)),
    }
    let name = hidden_name();
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
    Ok((open_beneath(folder, name.as_bytes(), flags, mode)?, Some(name)))
}

/// Gives a file without a name this one.
fn link(file: BorrowedFd<'_>, folder: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
    let fd = format!("/proc/self/fd/{}", file.as_raw_fd());
    rustix::fs::linkat(CWD, fd, folder, name, AtFlags::SYMLINK_FOLLOW)
}

/// What lies there, if it may be replaced. For people: it is replaced by name and not opened, so that nothing depends on
/// it being still the same then.
fn look_at(folder: BorrowedFd<'_>, path: &WorkspacePath) -> Result<Option<Entry>, WorkspaceError> {
    let (_, name) = path.split();
    let there = match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(there) => Entry::from(&there),
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(told(path, error)),
    };
    may_change(path, &there)?;
    Ok(Some(there))
}

/// Only an ordinary file that has no other name: whoever changes one of several changes what the others show.
fn may_change(path: &WorkspacePath, there: &Entry) -> Result<(), WorkspaceError> {
    if there.kind != Kind::File {
        return Err(WorkspaceError::NoFile { path: path.to_string() });
    }
    if there.links != 1 {
        return Err(WorkspaceError::Linked { path: path.to_string() });
    }
    Ok(())
}
