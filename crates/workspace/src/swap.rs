//! Moves staged entries into a workspace and existing ones out of it, each atomically, by name and without opening what
//! programs have created there.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::entry::{Entry, Kind};
use super::{Guard, Workspace, WorkspaceError, WorkspacePath, from_errno, open_beneath};

/// How often a folder is listed again for entries that programs created meanwhile.
const MAX_PASSES: usize = 64;

impl Workspace {
    /// Whether everything in `staged` can be moved into a folder: a folder only over a folder or nothing, anything else
    /// not over a folder. Only for the error message: programs may change the folder right after.
    pub fn check_move_in(&self, staged: &Self, into: &WorkspacePath) -> Result<(), WorkspaceError> {
        let folder = match self.open_dir(into) {
            Ok(folder) => folder,
            Err(WorkspaceError::Missing { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        let top = staged.open_dir(&WorkspacePath::root())?;
        check_move_in(top.as_fd(), folder.as_fd(), into)
    }

    /// Moves everything in `staged` into a folder, which is created if it does not exist.
    pub fn move_in(&self, staged: &Self, into: &WorkspacePath) -> Result<(), WorkspaceError> {
        self.guarded(|_| Guard::refuse_all())?;
        let folder = self.enter_all(into.names()).map_err(|error| from_errno(into, error))?;
        let top = staged.open_dir(&WorkspacePath::root())?;
        move_in(top.as_fd(), folder.as_fd(), into)
    }

    /// Moves the whole content of the workspace to `aside`.
    pub fn clear_into(&self, aside: &Self) -> Result<(), WorkspaceError> {
        self.guarded(|_| Guard::refuse_all())?;
        let root = WorkspacePath::root();
        let here = self.open_dir(&root)?;
        for _ in 0..MAX_PASSES {
            let names = names(here.as_fd()).map_err(|error| from_errno(&root, error))?;
            if names.is_empty() {
                return Ok(());
            }
            for name in names {
                put_aside(here.as_fd(), &name, aside.root.as_fd())
                    .map_err(|error| from_errno(&root, error))?;
            }
        }
        Ok(()) // programs keep creating entries: from now on they belong to the new content
    }

    /// Moves everything in `fresh` into the workspace; entries that programs created meanwhile go to `aside`.
    pub fn fill_from(&self, fresh: &Self, aside: &Self) -> Result<(), WorkspaceError> {
        self.guarded(|_| Guard::refuse_all())?;
        let root = WorkspacePath::root();
        let (here, from) = (self.open_dir(&root)?, fresh.open_dir(&root)?);
        let move_all = || -> Result<(), Errno> {
            for name in names(from.as_fd())? {
                let mut moved = rename(from.as_fd(), &name, here.as_fd());
                for _ in 0..MAX_PASSES {
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
        move_all().map_err(|error| from_errno(&root, error))
    }
}

fn rename(from: BorrowedFd<'_>, name: &[u8], to: BorrowedFd<'_>) -> Result<(), Errno> {
    with_write_access(from, name, || rustix::fs::renameat_with(from, name, to, name, RenameFlags::NOREPLACE))
}

/// Renames a folder even if its owner may not write into it, which a rename does (`..` changes). It keeps its mode.
fn with_write_access(
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

/// Moves an entry aside under a unique name: one that was moved before may have had the same name.
fn put_aside(from: BorrowedFd<'_>, name: &[u8], aside: BorrowedFd<'_>) -> Result<(), Errno> {
    let hidden = super::write::hidden_name();
    match with_write_access(from, name, || rustix::fs::renameat(from, name, aside, &hidden)) {
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

fn stat_at(folder: BorrowedFd<'_>, name: &[u8]) -> Result<Option<Entry>, Errno> {
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

/// How one staged entry is moved in.
enum Merge {
    /// It is renamed as a whole.
    Move,
    /// Both are folders: its content is moved.
    Descend,
}

fn merge(staged: &Entry, existing: Option<&Entry>, path: &WorkspacePath) -> Result<Merge, WorkspaceError> {
    match (staged.kind, existing.map(|existing| existing.kind)) {
        (Kind::Folder, Some(Kind::Folder)) => Ok(Merge::Descend),
        (Kind::Folder, Some(_)) => Err(WorkspaceError::NoFolder { path: path.to_string() }),
        (_, Some(Kind::Folder)) => Err(WorkspaceError::NoFile { path: path.to_string() }),
        _ => Ok(Merge::Move),
    }
}

/// Calls `act` with each staged entry and how to move it.
fn each(
    staged: BorrowedFd<'_>,
    folder: BorrowedFd<'_>,
    path: &WorkspacePath,
    mut act: impl FnMut(&[u8], &Entry, Merge, &WorkspacePath) -> Result<(), WorkspaceError>,
) -> Result<(), WorkspaceError> {
    for name in names(staged).map_err(|error| from_errno(path, error))? {
        let path = at(path, &name);
        let from_errno = |error| from_errno(&path, error);
        let Some(entry) = stat_at(staged, &name).map_err(from_errno)? else { continue };
        let existing = stat_at(folder, &name).map_err(from_errno)?;
        act(&name, &entry, merge(&entry, existing.as_ref(), &path)?, &path)?;
    }
    Ok(())
}

/// The folders of this name on both sides.
fn open_both(
    staged: BorrowedFd<'_>,
    folder: BorrowedFd<'_>,
    name: &[u8],
    path: &WorkspacePath,
) -> Result<(OwnedFd, OwnedFd), WorkspaceError> {
    let both = open(staged, name).and_then(|inner| Ok((inner, open(folder, name)?)));
    both.map_err(|error| from_errno(path, error))
}

fn check_move_in(
    staged: BorrowedFd<'_>,
    folder: BorrowedFd<'_>,
    path: &WorkspacePath,
) -> Result<(), WorkspaceError> {
    each(staged, folder, path, |name, _, merge, path| match merge {
        Merge::Move => Ok(()),
        Merge::Descend => {
            let (inner, existing) = open_both(staged, folder, name, path)?;
            check_move_in(inner.as_fd(), existing.as_fd(), path)
        }
    })
}

fn move_in(
    staged: BorrowedFd<'_>,
    folder: BorrowedFd<'_>,
    path: &WorkspacePath,
) -> Result<(), WorkspaceError> {
    each(staged, folder, path, |name, entry, merge, path| match merge {
        Merge::Move => {
            // A folder replaces nothing, not even an empty folder.
            let flags =
                if entry.kind == Kind::Folder { RenameFlags::NOREPLACE } else { RenameFlags::empty() };
            let moved = rustix::fs::renameat_with(staged, name, folder, name, flags);
            moved.map_err(|error| from_errno(path, error))
        }
        Merge::Descend => {
            let (inner, existing) = open_both(staged, folder, name, path)?;
            move_in(inner.as_fd(), existing.as_fd(), path)
        }
    })
}
