//! Walks a folder: every entry in the order of the bytes of its name, a folder before its content.
//!
//! A walk follows no link and enters no other file system. Its memory is limited however wide and deep a folder is: a
//! number of names of each folder, and a number of folders. It can begin after any path, for paging.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::vec::IntoIter;

use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;

use super::entry::{Entry, Kind};
use super::{Workspace, WorkspaceError, WorkspacePath, from_errno, open_beneath};

/// The depth of folders that are entered: each level holds a descriptor.
pub const MAX_DEPTH: usize = 128;
/// Names of one folder in memory at a time.
const MAX_BATCH_NAMES: usize = 8192;

/// A walk. The entries are in the order of [`WorkspacePath`]; those that vanish meanwhile are left out.
#[derive(Debug)]
pub struct Walk {
    frames: Vec<Frame>,
    depth: usize,
    device: u64,
    cut: bool,
}

/// A folder that is being walked.
#[derive(Debug)]
struct Frame {
    folder: OwnedFd,
    path: WorkspacePath,
    names: IntoIter<Vec<u8>>,
    /// The last name of `names`; more may follow.
    next: Option<Vec<u8>>,
}

/// One entry of a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkEntry {
    /// The path relative to the workspace.
    pub path: WorkspacePath,
    /// Its metadata.
    pub entry: Entry,
}

impl Workspace {
    /// Walks a folder. `depth` 1 is its direct content; entries up to and including `after` are left out.
    pub fn walk(
        &self,
        folder: &WorkspacePath,
        depth: usize,
        after: Option<&WorkspacePath>,
    ) -> Result<Walk, WorkspaceError> {
        let fd = self.open_dir(folder)?;
        let device = rustix::fs::fstat(&fd).map_err(|error| from_errno(folder, error))?.st_dev;
        let mut walk = Walk { frames: Vec::new(), depth: depth.min(MAX_DEPTH), device, cut: false };
        walk.enter(fd, folder.clone(), None).map_err(|error| from_errno(folder, error))?;
        if let Some(after) = after.filter(|after| after.is_within(folder) && *after != folder) {
            walk.skip_to(after).map_err(|error| from_errno(folder, error))?;
        }
        Ok(walk)
    }
}

impl Walk {
    /// Whether entries were left out: nested too deep, with a path that is too long, or in an unreadable folder.
    pub const fn is_incomplete(&self) -> bool {
        self.cut
    }

    /// Skips the content of the folder that was returned last.
    pub fn skip_folder(&mut self, folder: &WorkspacePath) {
        if self.frames.last().is_some_and(|frame| frame.path == *folder) {
            self.frames.pop();
        }
    }

    fn enter(&mut self, folder: OwnedFd, path: WorkspacePath, after: Option<&[u8]>) -> Result<(), Errno> {
        let (names, next) = batch(folder.as_fd(), after)?;
        self.frames.push(Frame { folder, path, names, next });
        Ok(())
    }

    /// Enters the parents of a path, as if everything up to and including it had been returned.
    fn skip_to(&mut self, after: &WorkspacePath) -> Result<(), Errno> {
        let from = self.frames.last().map_or(0, |frame| frame.path.names().len());
        for name in after.names().iter().skip(from) {
            let Some(frame) = self.frames.last_mut() else { return Ok(()) };
            (frame.names, frame.next) = batch(frame.folder.as_fd(), Some(name))?;
            let Some(path) = frame.path.join(name) else { return Ok(()) };
            let inner = open_folder(frame.folder.as_fd(), name);
            match inner {
                Ok(inner) if self.frames.len() < self.depth && self.is_here(&inner) => {
                    self.enter(inner, path, None)?;
                }
                _ => return Ok(()), // not a folder, or removed: continue after it
            }
        }
        Ok(())
    }

    fn is_here(&self, folder: &OwnedFd) -> bool {
        rustix::fs::fstat(folder).is_ok_and(|stat| stat.st_dev == self.device)
    }

    /// The next entry of the innermost folder; `None` at its end.
    fn step(&mut self) -> Option<Result<WalkEntry, Errno>> {
        let frame = self.frames.last_mut()?;
        let name = if let Some(name) = frame.names.next() {
            name
        } else {
            let after = frame.next.take()?;
            match batch(frame.folder.as_fd(), Some(&after)) {
                Ok((names, next)) => (frame.names, frame.next) = (names, next),
                Err(error) => return Some(Err(error)),
            }
            frame.names.next()?
        };
        let stat = match rustix::fs::statat(&frame.folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(error) => return Some(Err(error)),
        };
        let entry = Entry::from(&stat);
        let Some(path) = frame.path.join(&name) else {
            return Some(Err(Errno::NAMETOOLONG));
        };
        if entry.kind == Kind::Folder && entry.device == self.device {
            self.go_down(&name, &path);
        }
        Some(Ok(WalkEntry { path, entry }))
    }

    fn go_down(&mut self, name: &[u8], path: &WorkspacePath) {
        if self.frames.len() >= self.depth {
            self.cut |= self.depth == MAX_DEPTH;
            return;
        }
        let Some(frame) = self.frames.last() else { return };
        let entered = open_folder(frame.folder.as_fd(), name).and_then(|inner| {
            let is_here = self.is_here(&inner);
            if is_here { self.enter(inner, path.clone(), None) } else { Ok(()) }
        });
        if let Err(error) = entered {
            self.cut |= !has_changed(error);
        }
    }
}

impl Iterator for Walk {
    type Item = WalkEntry;

    fn next(&mut self) -> Option<WalkEntry> {
        while !self.frames.is_empty() {
            match self.step() {
                Some(Ok(step)) => return Some(step),
                Some(Err(error)) => self.cut |= !has_changed(error),
                None => drop(self.frames.pop()),
            }
        }
        None
    }
}

/// Whether the error means that a program removed or replaced the entry meanwhile.
const fn has_changed(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV)
}

fn open_folder(parent: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
    open_beneath(parent, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
}

/// Sorted names, and the last of them if more may follow.
type Batch = (IntoIter<Vec<u8>>, Option<Vec<u8>>);

/// The first names of a folder after this one.
fn batch(folder: BorrowedFd<'_>, after: Option<&[u8]>) -> Result<Batch, Errno> {
    let (mut names, mut more) = (BTreeSet::new(), false);
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") || after.is_some_and(|after| name <= after) {
            continue;
        }
        if names.len() == MAX_BATCH_NAMES {
            more = true;
            if names.last().is_some_and(|last: &Vec<u8>| name >= last.as_slice()) {
                continue;
            }
            names.pop_last();
        }
        names.insert(name.to_vec());
    }
    let next = names.last().filter(|_| more).cloned();
    Ok((names.into_iter().collect::<Vec<_>>().into_iter(), next))
}
