//! Walking a folder: each thing in it by name, in the order of the names' bytes, a folder before what is in it.
//!
//! Nothing is followed and no other disk is entered. What a walk holds is bounded however wide and deep programs make a
//! folder: so many names of each folder at a time, and so many folders. It can begin after any path, so that a page can be
//! asked for at a time.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::vec::IntoIter;

use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;

use super::entry::{Entry, Kind};
use super::{Workspace, WorkspaceError, WorkspacePath, open_beneath, told};

/// Folders below folders that are entered: a descriptor is held for each.
pub const MAX_DEPTH: usize = 128;
/// Names of one folder that are held at a time; the next ones are read when these are through.
const BATCH: usize = 8192;

/// A walk. The items are in the order of [`WorkspacePath`]; what vanishes meanwhile is left out.
#[derive(Debug)]
pub struct Walk {
    frames: Vec<Frame>,
    depth: usize,
    device: u64,
    cut: bool,
}

/// A folder that is walked.
#[derive(Debug)]
struct Frame {
    folder: OwnedFd,
    path: WorkspacePath,
    names: IntoIter<Vec<u8>>,
    /// The last name of `names`; there are more after it, perhaps.
    next: Option<Vec<u8>>,
}

/// One thing on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Relative to the workspace.
    pub path: WorkspacePath,
    /// Its metadata.
    pub entry: Entry,
}

impl Workspace {
    /// Walks a folder. `depth` 1 is what is in it; `after` is left out, and all before it.
    pub fn walk(
        &self,
        folder: &WorkspacePath,
        depth: usize,
        after: Option<&WorkspacePath>,
    ) -> Result<Walk, WorkspaceError> {
        let fd = self.open_dir(folder)?;
        let device = rustix::fs::fstat(&fd).map_err(|error| told(folder, error))?.st_dev;
        let mut walk = Walk { frames: Vec::new(), depth: depth.min(MAX_DEPTH), device, cut: false };
        walk.enter(fd, folder.clone(), None).map_err(|error| told(folder, error))?;
        if let Some(after) = after.filter(|after| after.is_within(folder) && *after != folder) {
            walk.skip_to(after).map_err(|error| told(folder, error))?;
        }
        Ok(walk)
    }
}

impl Walk {
    /// Whether something was left out: nested too deep, with too long a path, or in a folder that we may not read.
    pub const fn is_cut(&self) -> bool {
        self.cut
    }

    /// Leaves out what is in the folder that was met last.
    pub fn leave_out(&mut self, folder: &WorkspacePath) {
        if self.frames.last().is_some_and(|frame| frame.path == *folder) {
            self.frames.pop();
        }
    }

    fn enter(&mut self, folder: OwnedFd, path: WorkspacePath, after: Option<&[u8]>) -> Result<(), Errno> {
        let (names, next) = batch(folder.as_fd(), after)?;
        self.frames.push(Frame { folder, path, names, next });
        Ok(())
    }

    /// Enters the folders that lead to a path, as if all before it and itself had been met.
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
                _ => return Ok(()), // it is no folder, or no longer there: what comes after it is next
            }
        }
        Ok(())
    }

    fn is_here(&self, folder: &OwnedFd) -> bool {
        rustix::fs::fstat(folder).is_ok_and(|stat| stat.st_dev == self.device)
    }

    /// The next thing of the innermost folder; `None` when it is through.
    fn step(&mut self) -> Option<Result<Step, Errno>> {
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
        Some(Ok(Step { path, entry }))
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
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
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

/// Whether a program took it away or put something else there meanwhile.
const fn has_changed(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV)
}

fn open_folder(parent: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
    open_beneath(parent, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
}

/// Names in their order, and the last of them if there may be more.
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
        if names.len() == BATCH {
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
