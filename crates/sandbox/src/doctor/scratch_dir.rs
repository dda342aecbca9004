//! A temporary folder for a trial.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The path of the folder, which is removed with its contents on drop.
#[derive(Debug)]
pub(super) struct ScratchDir(PathBuf);

impl ScratchDir {
    /// Creates a folder below `parent`, accessible to this user only.
    pub(super) fn new(parent: &Path) -> io::Result<Self> {
        let mut number = 0_u32;
        loop {
            let path = parent.join(format!(".headwater-doctor-{}-{number}", std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 1000 => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// A path in the folder.
    pub(super) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0); // best effort: it contains a few small files at most
    }
}
