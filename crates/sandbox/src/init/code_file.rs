//! Code that is too long to be an argument: a file that exists while its program runs.

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, unlinkat};
use rustix::io::{Errno, retry_on_intr, write};

use crate::wire;

/// The path of the file, which is removed on drop.
#[derive(Debug)]
pub(super) struct CodeFile {
    path: String,
}

impl CodeFile {
    /// Creates the file. The path must not exist: a symbolic link that a program left there is refused, not
    /// followed.
    pub(super) fn write(file: &wire::CodeFile) -> Result<Self, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(CWD, &file.path, flags, Mode::RUSR | Mode::WUSR)?;
        let written = Self { path: file.path.clone() };
        let mut left = file.text.as_bytes();
        while !left.is_empty() {
            let n = retry_on_intr(|| write(&fd, left))?;
            left = left.get(n..).unwrap_or_default();
        }
        Ok(written)
    }
}

impl Drop for CodeFile {
    fn drop(&mut self) {
        // The program may have removed it already.
        let _ = unlinkat(CWD, &self.path, AtFlags::empty());
    }
}
