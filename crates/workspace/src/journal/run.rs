//! Carries out the steps of a journal, and undoes them.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::{FileIdentity, Span, StagedBytes, Step};
use crate::entry::{Entry, Kind};
use crate::find::reopen;
use crate::write::{link, unnamed_file};
use crate::{Workspace, WorkspaceError, WorkspacePath, from_errno, hand_over, set_modified};

/// The mark of a file that is being rewritten.
const BEGUN: u64 = 1;

/// The name of a slot.
pub(crate) fn slot_name(slot: u32) -> String {
    slot.to_string()
}

/// The name of the file that a slot replaces.
fn old_name(slot: u32) -> String {
    format!("{slot}.old")
}

/// Carries out steps, or undoes them.
pub(super) struct Run<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) slots: BorrowedFd<'a>,
    pub(super) bytes: Option<&'a StagedBytes>,
    pub(super) hidden: &'a str,
    /// Whether the marks are complete.
    pub(super) has_marks: bool,
    pub(super) goes_on: &'a dyn Fn() -> bool,
}

impl Run<'_> {
    /// Asked before each change: the points where a crash makes a difference.
    fn go_on(&self, path: &WorkspacePath) -> Result<(), WorkspaceError> {
        if (self.goes_on)() { Ok(()) } else { Err(from_errno(path, Errno::CANCELED)) }
    }

    /// The bytes of files without a slot. A journal that needs them has them.
    fn bytes(&self) -> Result<&StagedBytes, Errno> {
        self.bytes.ok_or(Errno::NOENT)
    }

    pub(super) fn apply(&self, number: usize, step: &Step) -> Result<(), WorkspaceError> {
        match step {
            Step::MakeFolder { path } => {
                self.go_on(path)?;
                self.workspace.enter_all(path.names()).map(drop).map_err(|error| from_errno(path, error))
            }
            Step::Take { path, slot, was } => self.take(path, *slot, was),
            Step::Put { slot, path, .. } => self.put(*slot, path),
            Step::Replace { slot, path, was, .. } => self.replace(*slot, path, was),
            Step::Create { path, content, mode } => self.create(number, path, *content, *mode),
            Step::Rewrite { path, content, was, .. } => self.rewrite(number, path, *content, was),
        }
    }

    /// The file has no name until it is complete.
    fn create(
        &self,
        number: usize,
        path: &WorkspacePath,
        content: Span,
        mode: u32,
    ) -> Result<(), WorkspaceError> {
        let (parent, name) = self.workspace.parent(path, false)?;
        let created = || {
            let file = unnamed_file(parent.as_fd())?;
            self.bytes()?.write_new(content, &file)?;
            hand_over(self.workspace.owner, file.as_fd(), Mode::from_raw_mode(mode & 0o777))?;
            self.bytes()?.mark(number, rustix::fs::fstat(&file)?.st_ino)?;
            io::Result::Ok(file)
        };
        self.go_on(path)?;
        let file = created().map_err(|error| from_io(path, &error))?;
        self.go_on(path)?;
        link(file.as_fd(), parent.as_fd(), name).map_err(|error| match error {
            Errno::EXIST => WorkspaceError::Changed { path: path.to_string() },
            error => from_errno(path, error),
        })
    }

    fn rewrite(
        &self,
        number: usize,
        path: &WorkspacePath,
        content: Span,
        was: &FileIdentity,
    ) -> Result<(), WorkspaceError> {
        let (file, there) = self.workspace.open_to_rewrite(path)?;
        if there.links != 1 || FileIdentity::from(&there) != *was {
            return Err(WorkspaceError::Changed { path: path.to_string() });
        }
        self.go_on(path)?;
        let begun = self.bytes().map_err(io::Error::from).and_then(|bytes| {
            bytes.mark(number, BEGUN)?;
            bytes.write_new(content, &file)
        });
        begun.map_err(|error| from_io(path, &error))?;
        self.go_on(path)?;
        let finished = || {
            if content.len() < was.size {
                file.set_len(content.len())?;
            }
            // The kernel's own time is too coarse for two changes of a file to have different tags.
            set_modified(file.as_fd(), now_ns())
        };
        finished().map_err(|error| from_io(path, &error))
    }

    fn take(&self, path: &WorkspacePath, slot: u32, was: &FileIdentity) -> Result<(), WorkspaceError> {
        let (parent, name) = self.workspace.parent(path, false)?;
        self.go_on(path)?;
        rustix::fs::renameat(&parent, name, self.slots, slot_name(slot))
            .map_err(|error| from_errno(path, error))?;
        self.check_taken(path, &slot_name(slot), was)
    }

    fn put(&self, slot: u32, path: &WorkspacePath) -> Result<(), WorkspaceError> {
        let (parent, name) = self.workspace.parent(path, false)?;
        self.go_on(path)?;
        rename_to_nothing(self.slots, slot_name(slot).as_bytes(), parent.as_fd(), name).map_err(|error| {
            match error {
                Errno::EXIST => WorkspaceError::Changed { path: path.to_string() },
                error => from_errno(path, error),
            }
        })
    }

    /// Keeps the old file by a second hard link, and renames the new one within its folder: programs that watch the folder
    /// see one rename over the file, and never that it is missing.
    fn replace(&self, slot: u32, path: &WorkspacePath, was: &FileIdentity) -> Result<(), WorkspaceError> {
        let (parent, name) = self.workspace.parent(path, false)?;
        self.go_on(path)?;
        let old = old_name(slot);
        let kept = match rustix::fs::linkat(&parent, name, self.slots, &old, AtFlags::empty()) {
            // File systems without hard links, and files that may not be linked.
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::MLINK | Errno::NOSYS) => {
                rustix::fs::renameat(&parent, name, self.slots, &old)
            }
            linked => linked,
        };
        kept.map_err(|error| from_errno(path, error))?;
        self.check_taken(path, &old, was)?;
        self.go_on(path)?;
        rustix::fs::renameat(self.slots, slot_name(slot), &parent, self.hidden)
            .map_err(|error| from_errno(path, error))?;
        self.go_on(path)?;
        rustix::fs::renameat(&parent, self.hidden, &parent, name).map_err(|error| from_errno(path, error))
    }

    /// Whether a file of the workspace was the expected one: a program may have changed it after the check.
    fn check_taken(
        &self,
        path: &WorkspacePath,
        name: &str,
        was: &FileIdentity,
    ) -> Result<(), WorkspaceError> {
        let there = self.stat_slot(name).map_err(|error| from_errno(path, error))?;
        let is_same =
            there.is_some_and(|there| there.kind == Kind::File && FileIdentity::from(&there) == *was);
        if is_same { Ok(()) } else { Err(WorkspaceError::Changed { path: path.to_string() }) }
    }

    fn stat_slot(&self, name: &str) -> Result<Option<Entry>, Errno> {
        match rustix::fs::statat(self.slots, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Entry::from(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn undo(&self, number: usize, step: &Step) -> Result<(), WorkspaceError> {
        let undone = match step {
            Step::MakeFolder { path } => return self.undo_folder(path),
            Step::Take { path, slot, .. } => (path, self.undo_take(path, *slot)),
            Step::Put { slot, path, inode } => (path, self.undo_put(*slot, path, *inode)),
            Step::Replace { slot, path, inode, .. } => (path, self.undo_replace(*slot, path, *inode)),
            Step::Create { path, content, .. } => (path, self.undo_create(number, path, *content)),
            Step::Rewrite { path, old, was, .. } => (path, self.undo_rewrite(number, path, *old, was)),
        };
        let (path, result) = undone;
        result.map_err(|error| match error {
            UndoError::Workspace(error) => error,
            UndoError::Errno(error) => from_errno(path, error),
        })
    }

    /// Removes a folder that is empty again. If a program has put something into it, it stays.
    fn undo_folder(&self, path: &WorkspacePath) -> Result<(), WorkspaceError> {
        let Ok((parent, name)) = self.workspace.parent(path, false) else { return Ok(()) };
        self.go_on(path)?;
        // It may never have been created, or a file may be in its place.
        let _ = rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR);
        Ok(())
    }

    fn undo_take(&self, path: &WorkspacePath, slot: u32) -> Result<(), UndoError> {
        if self.stat_slot(&slot_name(slot))?.is_none() {
            return Ok(()); // it was not taken
        }
        self.bring_back(&slot_name(slot), path)
    }

    fn undo_put(&self, slot: u32, path: &WorkspacePath, inode: u64) -> Result<(), UndoError> {
        if self.stat_slot(&slot_name(slot))?.is_some() {
            return Ok(()); // it was not put
        }
        self.take_back(slot, path, path.name(), inode)
    }

    fn undo_replace(&self, slot: u32, path: &WorkspacePath, inode: u64) -> Result<(), UndoError> {
        let old = old_name(slot);
        if self.stat_slot(&old)?.is_none() {
            return Ok(()); // nothing was replaced
        }
        if self.stat_slot(&slot_name(slot))?.is_none() {
            // It may be a moved file, of which there is only one.
            self.take_back(slot, path, self.hidden.as_bytes(), inode)?;
            self.take_back(slot, path, path.name(), inode)?;
        }
        // If only the hard link was made, both names have the same file, and the rename does nothing.
        self.bring_back(&old, path)
    }

    /// Removes a file that the step created, unless a program has changed it: its inode alone may be that of another file
    /// by now.
    fn undo_create(&self, number: usize, path: &WorkspacePath, content: Span) -> Result<(), UndoError> {
        let bytes = self.bytes()?;
        let Ok((file, there)) = self.workspace.open_file(path) else { return Ok(()) };
        if self.has_marks && bytes.mark_of(number).map_err(|error| errno(&error))? != there.inode {
            return Ok(());
        }
        if !bytes.is_new(content, &File::from(file)).map_err(|error| errno(&error))? {
            return Ok(());
        }
        let (parent, name) = self.workspace.parent(path, false)?;
        self.go_on(path)?;
        Ok(rustix::fs::unlinkat(&parent, name, AtFlags::empty())?)
    }

    /// Writes the old content, unless a program has replaced the file, or the step has not begun.
    fn undo_rewrite(
        &self,
        number: usize,
        path: &WorkspacePath,
        old: Span,
        was: &FileIdentity,
    ) -> Result<(), UndoError> {
        let bytes = self.bytes()?;
        let has_begun = !self.has_marks || bytes.mark_of(number).map_err(|error| errno(&error))? == BEGUN;
        if !has_begun {
            return Ok(());
        }
        let (file, there) = match self.workspace.open_to_rewrite(path) {
            Err(WorkspaceError::Missing { .. } | WorkspaceError::NoFile { .. }) => return Ok(()),
            opened => opened?,
        };
        if there.inode != was.inode {
            return Ok(());
        }
        self.go_on(path)?;
        let written = bytes.write_old(old, &file).and_then(|()| {
            file.set_len(old.len())?;
            set_modified(file.as_fd(), was.modified_ns)
        });
        Ok(written.map_err(|error| errno(&error))?)
    }

    /// Moves a file of this name in the folder of a path back to its slot, unless a program has put another one there.
    fn take_back(&self, slot: u32, path: &WorkspacePath, name: &[u8], inode: u64) -> Result<(), UndoError> {
        let Ok((parent, _)) = self.workspace.parent(path, false) else { return Ok(()) };
        let is_ours = rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| stat.st_ino == inode);
        if !is_ours {
            return Ok(());
        }
        self.go_on(path)?;
        Ok(rustix::fs::renameat(&parent, name, self.slots, slot_name(slot))?)
    }

    /// Moves a file from the slots back to its path.
    fn bring_back(&self, name: &str, path: &WorkspacePath) -> Result<(), UndoError> {
        let (parent, last) = self.workspace.parent(path, true)?;
        self.go_on(path)?;
        Ok(rustix::fs::renameat(self.slots, name, &parent, last)?)
    }
}

impl Workspace {
    /// Opens a regular file for reading and writing; nothing else is opened, not even for a moment.
    pub fn open_to_rewrite(&self, path: &WorkspacePath) -> Result<(File, Entry), WorkspaceError> {
        let found = self.find(path)?;
        if found.entry.kind != Kind::File {
            return Err(WorkspaceError::NoFile { path: path.to_string() });
        }
        let file = reopen(found.fd.as_fd(), OFlags::RDWR).map_err(|error| from_errno(path, error))?;
        Ok((File::from(file), found.entry))
    }
}

fn now_ns() -> i128 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

fn from_io(path: &WorkspacePath, error: &io::Error) -> WorkspaceError {
    from_errno(path, errno(error))
}

enum UndoError {
    Workspace(WorkspaceError),
    Errno(Errno),
}

impl From<WorkspaceError> for UndoError {
    fn from(error: WorkspaceError) -> Self {
        Self::Workspace(error)
    }
}

impl From<Errno> for UndoError {
    fn from(error: Errno) -> Self {
        Self::Errno(error)
    }
}

/// Renames to a name that must not exist, even on file systems that cannot refuse to replace.
fn rename_to_nothing(
    from: BorrowedFd<'_>,
    name: &[u8],
    to: BorrowedFd<'_>,
    new_name: &[u8],
) -> Result<(), Errno> {
    match rustix::fs::renameat_with(from, name, to, new_name, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => {}
        renamed => return renamed,
    }
    match rustix::fs::statat(to, new_name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => rustix::fs::renameat(from, name, to, new_name),
        Ok(_) => Err(Errno::EXIST),
        Err(error) => Err(error),
    }
}
