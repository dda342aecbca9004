//! The directory in which code is compiled. It exists while its program runs.
//!
//! Programs may write any number of files to it, so its removal is bounded. What exceeds the bounds stays in
//! the session's `/tmp` until the session ends.

use std::ffi::CString;
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, mkdirat, openat, unlinkat};
use rustix::io::Errno;

/// Entries removed at most: more would delay init's other work.
const MAX_REMOVED_ENTRIES: usize = 20_000;
/// Levels of directories removed at most.
const MAX_DEPTH: usize = 32;

/// The path of the directory, which is removed on drop.
#[derive(Debug)]
pub(super) struct ScratchDir {
    path: String,
}

impl ScratchDir {
    /// Creates the directory. The path must not exist.
    pub(super) fn create(path: &str) -> Result<Self, Errno> {
        mkdirat(CWD, path, Mode::RWXU)?;
        Ok(Self { path: path.to_owned() })
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        // The program may have removed it, or replaced it with something else, which is left alone.
        let mut left = MAX_REMOVED_ENTRIES;
        empty(CWD, &c_path(&self.path), MAX_DEPTH, &mut left);
        let _ = unlinkat(CWD, &self.path, AtFlags::REMOVEDIR);
    }
}

fn c_path(path: &str) -> CString {
    CString::new(path).unwrap_or_default()
}

/// Removes the contents of a directory; entries that cannot be removed stay.
fn empty(parent: BorrowedFd<'_>, name: &CString, depth: usize, left: &mut usize) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(folder) = openat(parent, name, flags, Mode::empty()) else {
        return;
    };
    let Ok(entries) = Dir::read_from(&folder) else {
        return;
    };
    // Collect all names first: reading a directory while it changes may skip some.
    let names: Vec<CString> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.file_name().to_owned())
        .filter(|name| !matches!(name.to_bytes(), b"." | b".."))
        .take(*left)
        .collect();
    for name in names {
        *left = left.saturating_sub(1);
        if unlinkat(&folder, &name, AtFlags::empty()).is_ok() || depth == 0 || *left == 0 {
            continue;
        }
        empty(std::os::fd::AsFd::as_fd(&folder), &name, depth - 1, left);
        let _ = unlinkat(&folder, &name, AtFlags::REMOVEDIR);
    }
}
