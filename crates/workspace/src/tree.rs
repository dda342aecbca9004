//! Removes and measures folders with hostile content: follows no link and limits the depth.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::path::Arg;

/// Folders nested deeper than this are moved up before they are entered: each level holds a descriptor and a stack
/// frame.
const MAX_DEPTH: usize = 64;

/// Flags to open a folder without following a link.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a folder so that its entries can be removed, even if its owner removed their own permissions.
fn open_folder(parent: BorrowedFd<'_>, name: &CString) -> rustix::io::Result<OwnedFd> {
    let folder = match rustix::fs::openat(parent, name, FOLDER, Mode::empty()) {
        Err(Errno::ACCESS) => {
            set_mode(parent, name, Mode::RWXU)?;
            rustix::fs::openat(parent, name, FOLDER, Mode::empty())?
        }
        other => other?,
    };
    if lacks(rustix::fs::fstat(&folder)?.st_mode, Mode::RWXU) {
        rustix::fs::fchmod(&folder, Mode::RWXU)?;
    }
    Ok(folder)
}

/// Changes the mode of a folder. By a descriptor: the name may have become a link to a file of the host meanwhile.
fn set_mode(parent: BorrowedFd<'_>, name: impl Arg, mode: Mode) -> rustix::io::Result<()> {
    let found = rustix::fs::openat(parent, name, FOLDER | OFlags::PATH, Mode::empty())?;
    rustix::fs::chmod(format!("/proc/self/fd/{}", found.as_raw_fd()), mode)
}

/// Whether a mode denies access. It never does for root.
fn lacks(mode: u32, wanted: Mode) -> bool {
    !Mode::from_raw_mode(mode).contains(wanted) && !rustix::process::geteuid().is_root()
}

/// Removes a folder with its content. A missing folder is not an error.
pub fn remove(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    };
    let name = CString::new(name.as_encoded_bytes())?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = match rustix::fs::openat(CWD, parent, flags, Mode::empty()) {
        Ok(parent) => parent,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    match remove_below(parent.as_fd(), &name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Removes a folder in a folder, with its content.
pub fn remove_below(parent: BorrowedFd<'_>, name: &CString) -> io::Result<()> {
    let folder = open_folder(parent, name)?;
    let mut top = Top { folder: folder.as_fd(), moved: 0 };
    // Folders that were moved up are new entries, so list again until nothing is left.
    while top.empty(folder.as_fd(), 0)? {}
    Ok(rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)?)
}

struct Top<'a> {
    folder: BorrowedFd<'a>,
    moved: u64,
}

impl Top<'_> {
    /// Empties a folder; returns whether something was moved to the top meanwhile.
    fn empty(&mut self, folder: BorrowedFd<'_>, depth: usize) -> io::Result<bool> {
        // Removing while listing may skip entries; they are found by listing again.
        loop {
            let mut found = false;
            let before = self.moved;
            for entry in Dir::read_from(folder)? {
                let entry = entry?;
                let name = entry.file_name().to_owned();
                if matches!(name.as_bytes(), b"." | b"..") {
                    continue;
                }
                found = true;
                self.remove_entry(folder, &name, depth)?;
            }
            if !found {
                return Ok(false);
            }
            if depth == 0 && self.moved > before {
                return Ok(true);
            }
        }
    }

    fn remove_entry(&mut self, folder: BorrowedFd<'_>, name: &CString, depth: usize) -> io::Result<()> {
        match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::ISDIR | Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
        if depth >= MAX_DEPTH {
            drop(open_folder(folder, name)?); // a folder must be writable to be moved
            let aside = format!(".headwater-removed-{}", self.moved);
            self.moved += 1;
            return Ok(rustix::fs::renameat(folder, name, self.folder, aside)?);
        }
        let inner = open_folder(folder, name)?;
        self.empty(inner.as_fd(), depth + 1)?;
        drop(inner);
        match rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The disk usage of a folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes allocated on the disk.
    pub bytes: u64,
    /// The number of files and folders.
    pub inodes: u64,
    /// Bytes allocated for the largest file.
    pub largest_bytes: u64,
    /// Folders nested too deep were not measured: the usage may be higher.
    pub too_deep: bool,
}

/// How deep folders are measured: each level holds a descriptor.
const MAX_MEASURED_DEPTH: usize = 256;

/// Measures a folder. Entries that vanish meanwhile do not count.
pub fn measure(path: &Path) -> io::Result<Usage> {
    let mut usage = Usage::default();
    let mode = rustix::fs::stat(path)?.st_mode;
    with_access(CWD, path, mode, |folder| add(folder, 0, &mut usage))?;
    Ok(usage)
}

/// Opens a folder. If its owner removed their own permissions (to hide how much it contains), they are restored while
/// `act` runs.
fn with_access(
    parent: BorrowedFd<'_>,
    name: impl Arg + Copy,
    mode: u32,
    act: impl FnOnce(BorrowedFd<'_>),
) -> rustix::io::Result<()> {
    let needed = Mode::RUSR | Mode::XUSR;
    let shut = lacks(mode, needed);
    let mode = Mode::from_raw_mode(mode);
    if shut {
        set_mode(parent, name, mode | needed)?;
    }
    let opened = rustix::fs::openat(parent, name, FOLDER, Mode::empty());
    let opened = opened.inspect(|folder| act(folder.as_fd()));
    match opened {
        Ok(folder) if shut => rustix::fs::fchmod(folder, mode),
        other => other.map(drop),
    }
}

fn add(folder: BorrowedFd<'_>, depth: usize, usage: &mut Usage) {
    if depth >= MAX_MEASURED_DEPTH {
        usage.too_deep = true;
        return;
    }
    let Ok(entries) = Dir::read_from(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let Ok(stat) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        usage.inodes += 1;
        let bytes = u64::try_from(stat.st_blocks).unwrap_or(0) * 512;
        usage.bytes += bytes;
        usage.largest_bytes = usage.largest_bytes.max(bytes);
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            // It may have been removed meanwhile.
            let _ = with_access(folder, name, stat.st_mode, |inner| add(inner, depth + 1, usage));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_tree_far_deeper_than_any_path_is_removed() {
        let top = tempfile::tempdir().unwrap();
        let tree = top.path().join("tree");
        fs::create_dir(&tree).unwrap();
        let mut at = open_folder(CWD, &CString::new(tree.as_os_str().as_encoded_bytes()).unwrap()).unwrap();
        let name = CString::new("d").unwrap();
        for _ in 0..3000 {
            rustix::fs::mkdirat(&at, &name, Mode::RWXU).unwrap();
            at = open_folder(at.as_fd(), &name).unwrap();
        }
        assert!(measure(&tree).unwrap().too_deep);
        remove(&tree).unwrap();
        assert!(!tree.exists());
    }

    #[test]
    fn links_are_removed_and_not_followed() {
        let top = tempfile::tempdir().unwrap();
        let kept = top.path().join("kept");
        fs::create_dir(&kept).unwrap();
        fs::write(kept.join("file"), "x").unwrap();
        let tree = top.path().join("tree");
        fs::create_dir_all(tree.join("a/b")).unwrap();
        symlink(&kept, tree.join("a/link")).unwrap();
        symlink("/nonexistent", tree.join("dangling")).unwrap();
        fs::write(tree.join("a/b/file"), vec![1; 10_000]).unwrap();
        fs::set_permissions(tree.join("a/b"), fs::Permissions::from_mode(0o000)).unwrap();
        remove(&tree).unwrap();
        assert!(!tree.exists() && kept.join("file").exists());
        remove(&tree).unwrap();
    }

    #[test]
    fn a_folder_is_measured_in_blocks_and_inodes_without_following_links() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join("a")).unwrap();
        fs::write(top.path().join("a/file"), vec![1; 100_000]).unwrap();
        symlink("/usr", top.path().join("link")).unwrap();
        let usage = measure(top.path()).unwrap();
        assert_eq!(usage.inodes, 3);
        assert!((98_304..300_000).contains(&usage.bytes), "{usage:?}");
    }
}
