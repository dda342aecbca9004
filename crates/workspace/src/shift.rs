//! Moving whole things between a workspace and a folder beside it on the same disk, by name and without opening what
//! programs have put there: each takes its place in one step.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::entry::{Entry, Kind};
use super::{Workspace, WorkspaceError, WorkspacePath, open_beneath, told};

/// How often a folder is looked through again for what programs have put there meanwhile.
const ROUNDS: usize = 64;

impl Workspace {
    /// Whether everything in `staged` may take its place in a folder: a folder where a folder or nothing is, anything
    /// else where no folder is. For people: programs may change it right after.
    pub fn fits(&self, staged: &Self, into: &WorkspacePath) -> Result<(), WorkspaceError> {
        let folder = match self.open_dir(into) {
            Ok(folder) => folder,
            Err(WorkspaceError::Missing { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        let top = staged.open_dir(&WorkspacePath::root())?;
        fits(top.as_fd(), folder.as_fd(), into)
    }

    /// Moves everything in `staged` to its place in a folder, which is made if it is not there.
    pub fn settle(&self, staged: &Self, into: &WorkspacePath) -> Result<(), WorkspaceError> {
        let folder = self.enter_all(into.names()).map_err(|error| told(into, error))?;
        let top = staged.open_dir(&WorkspacePath::root())?;
        settle(top.as_fd(), folder.as_fd(), into)
    }

    /// Moves everything that is in it to `aside`, until nothing is left.
    pub fn clear_into(&self, aside: &Self) -> Result<(), WorkspaceError> {
        let root = WorkspacePath::root();
        let here = self.open_dir(&root)?;
        for _ in 0..ROUNDS {
            let names = names(here.as_fd()).map_err(|error| told(&root, error))?;
            if names.is_empty() {
                return Ok(());
            }
            for name in names {
                put_aside(here.as_fd(), &name, aside.root.as_fd()).map_err(|error| told(&root, error))?;
            }
        }
        Ok(()) // programs make more all the time: what they make from now on is of the new time
    }

    /// Moves everything that is in `fresh` here; what programs have put there meanwhile goes `aside`.
    pub fn fill_from(&self, fresh: &Self, aside: &Self) -> Result<(), WorkspaceError> {
        let root = WorkspacePath::root();
        let (here, from) = (self.open_dir(&root)?, fresh.open_dir(&root)?);
        let shift = || -> Result<(), Errno> {
            for name in names(from.as_fd())? {
                let mut moved = rename(from.as_fd(), &name, here.as_fd());
                for _ in 0..ROUNDS {
                    if moved != Err(Errno::EXIST) {
                        break;
                    }
                    put_aside(here.as_fd(), &name, aside.root.as_fd())?;
                    moved = rename(from.as_fd(), &name, here.as_fd());
                }
                moved?;
            }
            Ok(())
        };
        shift().map_err(|error| told(&root, error))
    }
}

fn rename(from: BorrowedFd<'_>, name: &[u8], to: BorrowedFd<'_>) -> Result<(), Errno> {
    even_if_shut(from, name, || rustix::fs::renameat_with(from, name, to, name, RenameFlags::NOREPLACE))
}

/// Moves a folder also if its owner may not write into it, which a move does (`..` changes). It keeps its rights.
fn even_if_shut(
    from: BorrowedFd<'_>,
    name: &[u8],
    rename: impl Fn() -> Result<(), Errno>,
) -> Result<(), Errno> {
    match rename() {
        Err(Errno::ACCESS) => {}
        moved => return moved,
    }
    let folder = open_beneath(from, name, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
    // By the descriptor: the name may have become a link meanwhile.
    let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&folder)?.st_mode & 0o7777);
    rustix::fs::chmod(&path, mode | Mode::RWXU)?;
    let moved = rename();
    rustix::fs::chmod(&path, mode)?;
    moved
}

/// Under a name that nothing has: what was put aside before may have had the same.
fn put_aside(from: BorrowedFd<'_>, name: &[u8], aside: BorrowedFd<'_>) -> Result<(), Errno> {
    let hidden = super::put::hidden_name();
    match even_if_shut(from, name, || rustix::fs::renameat(from, name, aside, &hidden)) {
        Err(Errno::NOENT) => Ok(()),
        moved => moved,
    }
}

fn names(folder: BorrowedFd<'_>) -> Result<Vec<Vec<u8>>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if !matches!(name.as_slice(), b"." | b"..") {
            names.push(name);
        }
    }
    Ok(names)
}

fn look(folder: BorrowedFd<'_>, name: &[u8]) -> Result<Option<Entry>, Errno> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(Entry::from(&stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

fn open(folder: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
    open_beneath(folder, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
}

fn at(folder: &WorkspacePath, name: &[u8]) -> WorkspacePath {
    folder.join(name).unwrap_or_else(|| folder.clone())
}

/// What becomes of one thing that is to take its place.
enum Fate {
    /// It moves there whole.
    Moves,
    /// Both are folders: what is in it does.
    Joins,
}

fn fate(staged: &Entry, there: Option<&Entry>, path: &WorkspacePath) -> Result<Fate, WorkspaceError> {
    match (staged.kind, there.map(|there| there.kind)) {
        (Kind::Folder, Some(Kind::Folder)) => Ok(Fate::Joins),
        (Kind::Folder, Some(_)) => Err(WorkspaceError::NoFolder { path: path.to_string() }),
        (_, Some(Kind::Folder)) => Err(WorkspaceError::NoFile { path: path.to_string() }),
        _ => Ok(Fate::Moves),
    }
}

/// Looks at each thing that is staged and at what lies in its place.
fn each(
    staged: BorrowedFd<'_>,
    folder: BorrowedFd<'_>,
    path: &WorkspacePath,
    mut act: impl FnMut(&[u8], &Entry, Fate, &WorkspacePath) -> Result<(), WorkspaceError>,
) -> Result<(), WorkspaceError> {
    for name in names(staged).map_err(|error| told(path, error))? {
        let path = at(path, &name);
        let told = |error| told(&path, error);
        let Some(entry) = look(staged, &name).map_err(told)? else { continue };
        let there = look(folder, &name).map_err(told)?;
        act(&name, &entry, fate(&entry, there.as_ref(), &path)?, &path)?;
    }
    Ok(())
}

fn fits(staged: BorrowedFd<'_>, folder: BorrowedFd<'_>, path: &WorkspacePath) -> Result<(), WorkspaceError> {
    each(staged, folder, path, |name, _, fate, path| match fate {
        Fate::Moves => Ok(()),
        Fate::Joins => {
            let inner = open(staged, name).and_then(|inner| Ok((inner, open(folder, name)?)));
            let (inner, there) = inner.map_err(|error| told(path, error))?;
            fits(inner.as_fd(), there.as_fd(), path)
        }
    })
}

fn settle(
    staged: BorrowedFd<'_>,
    folder: BorrowedFd<'_>,
    path: &WorkspacePath,
) -> Result<(), WorkspaceError> {
    each(staged, folder, path, |name, entry, fate, path| match fate {
        Fate::Moves => {
            // A folder replaces nothing, not even an empty one.
            let flags =
                if entry.kind == Kind::Folder { RenameFlags::NOREPLACE } else { RenameFlags::empty() };
            let moved = rustix::fs::renameat_with(staged, name, folder, name, flags);
            moved.map_err(|error| told(path, error))
        }
        Fate::Joins => {
            let inner = open(staged, name).and_then(|inner| Ok((inner, open(folder, name)?)));
            let (inner, there) = inner.map_err(|error| told(path, error))?;
            settle(inner.as_fd(), there.as_fd(), path)
        }
    })
}
