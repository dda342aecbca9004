//! Copies files and trees, with reflinks where the file system supports them.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;

use super::change::{Overwrite, within};
use super::entry::{Entry, Kind};
use super::staging::set_modified;
use super::walk::WalkEntry;
use super::write::Expect;
use super::{Workspace, WorkspaceError, WorkspacePath, from_errno};
use crate::sparse::{self, IsCancelled};

/// The most entries that one call copies: a caller waits for it.
pub(crate) const MAX_COPIED_ENTRIES: u64 = 1_000_000;
/// The bytes of one system call: after each, the limit and the cancellation are checked.
const CHUNK_BYTES: usize = 64 << 20;
/// The permissions that the owner of a folder needs to fill it. The folder gets its own mode when it is filled.
const OWNER_ACCESS: u32 = 0o700;

/// The space that is left for a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Bytes of data.
    pub bytes: u64,
    /// Files, folders and links.
    pub inodes: u64,
}

/// The totals of a copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CopyTotals {
    /// Bytes of data.
    pub bytes: u64,
    /// Files, folders and links.
    pub inodes: u64,
    /// FIFOs, sockets, devices, and entries that the session's owner may not read.
    pub skipped: u64,
    /// A folder could not be read, or is nested too deep.
    pub cut: bool,
}

impl Workspace {
    /// Copies a file. The copy appears atomically.
    pub fn copy_file(
        &self,
        from: &WorkspacePath,
        to: &WorkspacePath,
        overwrite: Overwrite,
        room: Room,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<(Entry, CopyTotals), WorkspaceError> {
        if from == to {
            return Err(WorkspaceError::Exists { path: to.to_string() });
        }
        let (source, entry) = self.open_file(from)?;
        let new = self.create(to)?;
        let bytes = copy_bytes(source.as_fd(), new.fd(), room.bytes, to, is_cancelled)?;
        let expect = if overwrite == Overwrite::Never { Expect::Nothing } else { Expect::Anything };
        let made = new.commit(&expect, Some(entry.mode))?;
        Ok((made, CopyTotals { bytes, inodes: 1, ..CopyTotals::default() }))
    }

    /// Writes all bytes of a draft into an existing file: from this offset on, or at its end.
    pub fn write_into(
        &self,
        path: &WorkspacePath,
        draft: BorrowedFd<'_>,
        at: Option<u64>,
        expect: &Expect,
    ) -> Result<Entry, WorkspaceError> {
        let file = self.open_to_write(path, expect)?;
        let stat = || rustix::fs::fstat(&file).map(|stat| Entry::from(&stat));
        let written = stat().and_then(|before| {
            put_into(draft, file.as_fd(), at.unwrap_or(before.size))?;
            stat()
        });
        written.map_err(|error| from_errno(path, error))
    }
}

impl Workspace {
    /// Copies a folder into an empty tree that will be moved to `to`, within the space that the session has left.
    pub fn copy_tree(
        &self,
        folder: &WorkspacePath,
        to: &WorkspacePath,
        tree: &Self,
        room: Room,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<CopyTotals, WorkspaceError> {
        if to.is_within(folder) {
            return Err(within(to));
        }
        let room = Room { inodes: room.inodes.min(MAX_COPIED_ENTRIES).saturating_sub(1), ..room }; // less the folder itself
        let fidelity = Fidelity::Readable;
        let copied =
            TreeCopy { from: self, folder, to: tree, room, fidelity, is_cancelled }.run(|_, _, _| Ok(()))?;
        let skipped = copied.skipped + u64::from(copied.cut);
        Ok(CopyTotals { inodes: copied.inodes + 1, skipped, ..copied })
    }
}

/// How a copy of a tree treats unreadable entries and times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fidelity {
    /// Unreadable entries fail the copy, and times are kept: for snapshots, restores and forks.
    Exact,
    /// Unreadable entries are left out and counted, and times are new, as with `cp -r`.
    Readable,
}

/// One entry that was copied.
#[derive(Debug)]
pub enum CopiedEntry {
    /// A folder.
    Folder,
    /// A symbolic link with this target.
    Link(Vec<u8>),
    /// A file, open for reading and writing in the copy.
    File(File),
}

/// A copy of a tree: blocks are shared where the file system supports it, holes stay holes, links are copied as links.
/// Programs may change the tree meanwhile: each file is as it was when it was copied, not all at the same moment.
#[derive(Clone, Copy)]
pub struct TreeCopy<'a> {
    /// The workspace that is read.
    pub from: &'a Workspace,
    /// The folder whose content is copied.
    pub folder: &'a WorkspacePath,
    /// The empty tree that is filled.
    pub to: &'a Workspace,
    /// The space that is left.
    pub room: Room,
    /// How unreadable entries and times are treated.
    pub fidelity: Fidelity,
    /// Called before each chunk of a file.
    pub is_cancelled: IsCancelled<'a>,
}

impl TreeCopy<'_> {
    /// Copies the tree. Calls `note` with each entry: its path in the copy, its metadata in the original, and the copy.
    pub fn run(
        &self,
        mut note: impl FnMut(&WorkspacePath, &Entry, CopiedEntry) -> Result<(), WorkspaceError>,
    ) -> Result<CopyTotals, WorkspaceError> {
        let (mut copied, mut shut) = (CopyTotals::default(), Vec::new());
        let mut left = self.room.bytes;
        let mut walk = self.from.walk(self.folder, usize::MAX, None)?;
        for step in walk.by_ref() {
            if copied.inodes >= self.room.inodes {
                return Err(full(&step.path));
            }
            if (self.is_cancelled)() {
                return Err(from_errno(&step.path, Errno::CANCELED));
            }
            let path = step.path.below(self.folder);
            let Some((entry, made)) = self.copy_step(&step, &path, &mut left)? else {
                copied.skipped += 1;
                continue;
            };
            copied.inodes += 1;
            note(&path, &entry, made)?;
            if entry.kind == Kind::Folder && entry.mode & OWNER_ACCESS != OWNER_ACCESS {
                shut.push((path, entry.mode));
            }
        }
        copied.bytes = self.room.bytes - left;
        copied.cut = walk.is_incomplete();
        // The innermost first: below a folder without access nothing can be changed.
        for (path, mode) in shut.into_iter().rev() {
            self.to.chmod(&path, mode)?;
        }
        Ok(copied)
    }

    /// Copies one entry; `None` if it is of another kind, cannot be read, or no longer exists.
    fn copy_step(
        &self,
        step: &WalkEntry,
        path: &WorkspacePath,
        left: &mut u64,
    ) -> Result<Option<(Entry, CopiedEntry)>, WorkspaceError> {
        let failed = |error: Errno| failed(&step.path, error);
        match step.entry.kind {
            Kind::Folder => {
                self.to.stage_folder(path, step.entry.mode).map_err(failed)?;
                Ok(Some((step.entry, CopiedEntry::Folder)))
            }
            Kind::Link => {
                let Some(target) = self.readable(self.from.read_link(&step.path))? else { return Ok(None) };
                self.to.stage_link(path, &target).map_err(failed)?;
                Ok(Some((step.entry, CopiedEntry::Link(target))))
            }
            Kind::File => {
                let Some((source, entry)) = self.readable(self.from.open_file(&step.path))? else {
                    return Ok(None);
                };
                let file = self.to.stage_file(path).map_err(failed)?;
                sparse::copy(source.as_fd(), file.as_fd(), left, self.is_cancelled).map_err(failed)?;
                if self.fidelity == Fidelity::Exact {
                    // A time that the file system cannot store is left out.
                    let _ = set_modified(file.as_fd(), entry.modified_ns);
                }
                self.to.give(file.as_fd(), entry.mode).map_err(failed)?;
                Ok(Some((entry, CopiedEntry::File(file.into()))))
            }
            Kind::Other => Ok(None),
        }
    }

    /// The result of a read, or `None` if the entry is left out.
    fn readable<T>(&self, read: Result<T, WorkspaceError>) -> Result<Option<T>, WorkspaceError> {
        match read {
            Ok(read) => Ok(Some(read)),
            Err(error) if self.fidelity == Fidelity::Readable || error.is_gone() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn full(path: &WorkspacePath) -> WorkspaceError {
    WorkspaceError::Full { path: path.to_string() }
}

/// `DQUOT` is our own limit or the kernel's quota of the session.
fn failed(path: &WorkspacePath, error: Errno) -> WorkspaceError {
    if error == Errno::DQUOT { full(path) } else { from_errno(path, error) }
}

/// Copies the bytes of a file, without its holes; returns their number.
fn copy_bytes(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    room: u64,
    path: &WorkspacePath,
    is_cancelled: IsCancelled<'_>,
) -> Result<u64, WorkspaceError> {
    let mut left = room;
    sparse::copy(from, to, &mut left, is_cancelled).map_err(|error| failed(path, error))?;
    Ok(room - left)
}

/// Copies all bytes of one file to an offset of another, without using either file position.
fn put_into(from: BorrowedFd<'_>, to: BorrowedFd<'_>, mut at: u64) -> Result<(), Errno> {
    let mut read = 0;
    loop {
        let copy = || rustix::fs::copy_file_range(from, Some(&mut read), to, Some(&mut at), CHUNK_BYTES);
        match rustix::io::retry_on_intr(copy) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(Errno::XDEV | Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS) => {
                return put_through_memory(from, to, read, at);
            }
            Err(error) => return Err(error),
        }
    }
}

fn put_through_memory(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    mut read: u64,
    mut at: u64,
) -> Result<(), Errno> {
    let mut buffer = vec![0; 1 << 20];
    loop {
        let n = rustix::io::retry_on_intr(|| rustix::io::pread(from, &mut buffer, read))?;
        if n == 0 {
            return Ok(());
        }
        read += n as u64;
        let mut left = buffer.get(..n).unwrap_or_default();
        while !left.is_empty() {
            let n = rustix::io::retry_on_intr(|| rustix::io::pwrite(to, left, at))?;
            left = left.get(n..).unwrap_or_default();
            at += n as u64;
        }
    }
}
