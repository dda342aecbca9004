//! Code that is too long to be an argument: a file that is there for as long as its program runs.

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, unlinkat};
use rustix::io::{Errno, retry_on_intr, write};

use crate::wire;

/// The file. Dropping this removes it.
#[derive(Debug)]
pub(super) struct CodeFile {
    path: String,
}

impl CodeFile {
    /// Writes it. Only where nothing is: a link that a program left there is refused, not followed.
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
        // Its program may have removed it.
        let _ = unlinkat(CWD, &self.path, AtFlags::empty());
    }
}
