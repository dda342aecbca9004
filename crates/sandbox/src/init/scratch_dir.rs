//! The folder that code is compiled in: it is there for as long as its program runs.
//!
//! Programs of the session write into it what they like, so that its removal is bounded: what is past the bounds stays
//! until the session ends, in the session's own `/tmp`.

use std::ffi::CString;
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, mkdirat, openat, unlinkat};
use rustix::io::Errno;

/// So many entries are removed: more would keep init from its other work.
const MAX_REMOVED_ENTRIES: usize = 20_000;
/// So many folders deep.
const MAX_DEPTH: usize = 32;

/// The folder. Dropping this removes it.
#[derive(Debug)]
pub(super) struct ScratchDir {
    path: String,
}

impl ScratchDir {
    /// Makes it, only where nothing is.
    pub(super) fn create(path: &str) -> Result<Self, Errno> {
        mkdirat(CWD, path, Mode::RWXU)?;
        Ok(Self { path: path.to_owned() })
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        // Its program may have removed it, or have put something else in its place, which is left alone.
        let mut left = MAX_REMOVED_ENTRIES;
        empty(CWD, &c_path(&self.path), MAX_DEPTH, &mut left);
        let _ = unlinkat(CWD, &self.path, AtFlags::REMOVEDIR);
    }
}

fn c_path(path: &str) -> CString {
    CString::new(path).unwrap_or_default()
}

/// Removes what is in a folder; what cannot be removed stays.
fn empty(parent: BorrowedFd<'_>, name: &CString, depth: usize, left: &mut usize) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(folder) = openat(parent, name, flags, Mode::empty()) else {
        return;
    };
    let Ok(entries) = Dir::read_from(&folder) else {
        return;
    };
    // All names first: a folder that changes while it is read may leave some out.
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
