//! Copying files and trees, by the disk itself where it can.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;

use super::change::{Overwrite, within};
use super::entry::{Entry, Kind};
use super::plant::set_modified;
use super::put::Expect;
use super::walk::Step;
use super::{Workspace, WorkspaceError, WorkspacePath, told};
use crate::sparse::{self, IsCancelled};

/// Things that one call copies at most: more is no work for a call that somebody waits for.
pub(crate) const MAX_COPIED: u64 = 1_000_000;
/// Moved by one call into the kernel: so often at least it is looked whether more may be copied.
const PIECE: usize = 64 << 20;
/// What the owner of a folder needs to fill it. A folder that lacks some of it gets its own rights when it is filled.
const FILLABLE: u32 = 0o700;

/// How much may be copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Bytes of data.
    pub bytes: u64,
    /// Files, folders and links.
    pub inodes: u64,
}

/// What was copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Copied {
    /// Bytes of data.
    pub bytes: u64,
    /// Files, folders and links.
    pub inodes: u64,
    /// FIFOs, sockets, devices, and what the session's owner may not read.
    pub skipped: u64,
    /// A folder of it cannot be read, or is nested too deep.
    pub cut: bool,
}

impl Workspace {
    /// Copies a file. The copy appears in one step.
    pub fn copy_file(
        &self,
        from: &WorkspacePath,
        to: &WorkspacePath,
        overwrite: Overwrite,
        room: Room,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<(Entry, Copied), WorkspaceError> {
        if from == to {
            return Err(WorkspaceError::Exists { path: to.to_string() });
        }
        let (source, entry) = self.open_file(from)?;
        let new = self.create(to)?;
        let bytes = copy_bytes(source.as_fd(), new.fd(), room.bytes, to, is_cancelled)?;
        let expect = if overwrite == Overwrite::Never { Expect::Nothing } else { Expect::Anything };
        let made = new.commit(&expect, Some(entry.mode))?;
        Ok((made, Copied { bytes, inodes: 1, ..Copied::default() }))
    }

    /// Writes all bytes of a draft into the file that is there: from this byte on, or at its end.
    pub fn write_into(
        &self,
        path: &WorkspacePath,
        draft: BorrowedFd<'_>,
        at: Option<u64>,
        expect: &Expect,
    ) -> Result<Entry, WorkspaceError> {
        let file = self.open_to_write(path, expect)?;
        let look = || rustix::fs::fstat(&file).map(|stat| Entry::from(&stat));
        let written = look().and_then(|before| {
            put_into(draft, file.as_fd(), at.unwrap_or(before.size))?;
            look()
        });
        written.map_err(|error| told(path, error))
    }
}

impl Workspace {
    /// Copies a folder into an empty tree that is to lie at `to`, within what the session may hold.
    pub fn copy_tree(
        &self,
        folder: &WorkspacePath,
        to: &WorkspacePath,
        tree: &Self,
        room: Room,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<Copied, WorkspaceError> {
        if to.is_within(folder) {
            return Err(within(to));
        }
        let room = Room { inodes: room.inodes.min(MAX_COPIED).saturating_sub(1), ..room }; // less the folder itself
        let fidelity = Fidelity::Readable;
        let copied =
            TreeCopy { from: self, folder, to: tree, room, fidelity, is_cancelled }.run(|_, _, _| Ok(()))?;
        let skipped = copied.skipped + u64::from(copied.cut);
        Ok(Copied { inodes: copied.inodes + 1, skipped, ..copied })
    }
}

/// What becomes of things that a copy of a tree cannot have as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fidelity {
    /// What cannot be read fails the copy, and times are kept: for snapshots, restores and forks.
    Exact,
    /// What cannot be read is left out and counted, and times are new, as with `cp -r`.
    Readable,
}

/// Something that was copied.
#[derive(Debug)]
pub enum Made {
    /// A folder.
    Folder,
    /// A symbolic link with this target.
    Link(Vec<u8>),
    /// The copy.
    File(File),
}

/// A copy of a tree: blocks are shared where the disk can, holes stay holes, links are copied as links. Programs may change
/// the tree meanwhile: each file is as it was when it was copied, not all of them as of one moment.
#[derive(Clone, Copy)]
pub struct TreeCopy<'a> {
    /// The workspace that is read.
    pub from: &'a Workspace,
    /// What is copied is in this folder.
    pub folder: &'a WorkspacePath,
    /// An empty tree.
    pub to: &'a Workspace,
    /// How much may be written.
    pub room: Room,
    /// Which attributes are copied.
    pub fidelity: Fidelity,
    /// Asked before each piece of a file.
    pub is_cancelled: IsCancelled<'a>,
}

impl TreeCopy<'_> {
    /// Copies all of it. `note` gets each thing that was copied: where it lies in the copy, and what it was copied from.
    pub fn run(
        &self,
        mut note: impl FnMut(&WorkspacePath, &Entry, Made) -> Result<(), WorkspaceError>,
    ) -> Result<Copied, WorkspaceError> {
        let (mut copied, mut shut) = (Copied::default(), Vec::new());
        let mut left = self.room.bytes;
        let mut walk = self.from.walk(self.folder, usize::MAX, None)?;
        for step in walk.by_ref() {
            if copied.inodes >= self.room.inodes {
                return Err(full(&step.path));
            }
            if (self.is_cancelled)() {
                return Err(told(&step.path, Errno::CANCELED));
            }
            let place = step.path.below(self.folder);
            let Some((entry, made)) = self.copy_step(&step, &place, &mut left)? else {
                copied.skipped += 1;
                continue;
            };
            copied.inodes += 1;
            note(&place, &entry, made)?;
            if entry.kind == Kind::Folder && entry.mode & FILLABLE != FILLABLE {
                shut.push((place, entry.mode));
            }
        }
        copied.bytes = self.room.bytes - left;
        copied.cut = walk.is_cut();
        // The innermost first: behind a folder that is shut nothing can be changed.
        for (place, mode) in shut.into_iter().rev() {
            self.to.chmod(&place, mode)?;
        }
        Ok(copied)
    }

    /// Copies one thing; none if it is of a kind that is not copied, cannot be read, or is gone by now.
    fn copy_step(
        &self,
        step: &Step,
        place: &WorkspacePath,
        left: &mut u64,
    ) -> Result<Option<(Entry, Made)>, WorkspaceError> {
        let failed = |error: Errno| failed(&step.path, error);
        match step.entry.kind {
            Kind::Folder => {
                self.to.plant_folder(place, step.entry.mode).map_err(failed)?;
                Ok(Some((step.entry, Made::Folder)))
            }
            Kind::Link => {
                let Some(target) = self.readable(self.from.read_link(&step.path))? else { return Ok(None) };
                self.to.plant_link(place, &target).map_err(failed)?;
                Ok(Some((step.entry, Made::Link(target))))
            }
            Kind::File => {
                let Some((source, entry)) = self.readable(self.from.open_file(&step.path))? else {
                    return Ok(None);
                };
                let file = self.to.plant_file(place).map_err(failed)?;
                sparse::copy(source.as_fd(), file.as_fd(), left, self.is_cancelled).map_err(failed)?;
                if self.fidelity == Fidelity::Exact {
                    // A time that the disk cannot hold is left out.
                    let _ = set_modified(file.as_fd(), entry.modified_ns);
                }
                self.to.give(file.as_fd(), entry.mode).map_err(failed)?;
                Ok(Some((entry, Made::File(file.into()))))
            }
            Kind::Other => Ok(None),
        }
    }

    /// What was read, or none if it is left out.
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

/// `DQUOT` is our own limit, or the kernel's for the session: either way it does not fit.
fn failed(path: &WorkspacePath, error: Errno) -> WorkspaceError {
    if error == Errno::DQUOT { full(path) } else { told(path, error) }
}

/// Copies the bytes of a file, without its holes; answers how many.
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

/// Puts all bytes of one file at a place of another; neither's position counts.
fn put_into(from: BorrowedFd<'_>, to: BorrowedFd<'_>, mut at: u64) -> Result<(), Errno> {
    let mut read = 0;
    loop {
        let copy = || rustix::fs::copy_file_range(from, Some(&mut read), to, Some(&mut at), PIECE);
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
