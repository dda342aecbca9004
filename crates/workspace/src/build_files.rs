//! Files of builds: read from one workspace, written to another.

use std::fs::File;
use std::io::Read;

use super::entry::Kind;
use super::walk::MAX_DEPTH;
use super::{Expect, Workspace, WorkspaceError, WorkspacePath};

/// A regular file that is open for reading.
#[derive(Debug)]
pub struct WholeFile {
    pub file: File,
    pub bytes: u64,
}

/// The mode of executables.
const PROGRAM_MODE: u32 = 0o755;
/// The bytes of one read.
const CHUNK_BYTES: usize = 256 << 10;

impl Workspace {
    /// Opens a regular file for reading, through no link. `None` if it does not exist.
    pub fn open_whole(&self, path: &WorkspacePath) -> Result<Option<WholeFile>, WorkspaceError> {
        match self.open_file(path) {
            Ok((fd, entry)) => Ok(Some(WholeFile { file: fd.into(), bytes: entry.size })),
            Err(
                WorkspaceError::Missing { .. }
                | WorkspaceError::NoFolder { .. }
                | WorkspaceError::NoFile { .. }
                | WorkspaceError::Linked { .. },
            ) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The content of a file, if it exists and has at most `most` bytes.
    pub fn read_limited(&self, path: &WorkspacePath, most: u64) -> Result<Option<Vec<u8>>, WorkspaceError> {
        let Some(whole) = self.open_whole(path)? else { return Ok(None) };
        let mut bytes = Vec::with_capacity(usize::try_from(whole.bytes.min(most)).unwrap_or(0));
        // One byte more, because a program may extend it during the read.
        let read = whole.file.take(most + 1).read_to_end(&mut bytes);
        read.map_err(|error| WorkspaceError::io(path, &error))?;
        Ok((bytes.len() as u64 <= most).then_some(bytes))
    }

    /// Writes a file from a reader and replaces an existing one; missing parents are created.
    pub fn write_from(
        &self,
        path: &WorkspacePath,
        source: &mut dyn Read,
        runs: bool,
    ) -> Result<(), WorkspaceError> {
        let new = self.create(path)?;
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let n = source.read(&mut chunk).map_err(|error| WorkspaceError::io(path, &error))?;
            match chunk.get(..n) {
                None | Some([]) => break,
                Some(bytes) => new.write(bytes)?,
            }
        }
        new.commit(&Expect::Anything, runs.then_some(PROGRAM_MODE)).map(drop)
    }

    /// The paths of all regular files with a UTF-8 name, except those that `skip` excludes; `None` if the workspace has more
    /// than `most` entries.
    pub fn all_files(
        &self,
        most: usize,
        skip: &dyn Fn(&str) -> bool,
    ) -> Result<Option<Vec<String>>, WorkspaceError> {
        let mut found = Vec::new();
        for (n, step) in self.walk(&WorkspacePath::root(), MAX_DEPTH, None)?.enumerate() {
            if n >= most {
                return Ok(None);
            }
            let Ok(path) = String::from_utf8(step.path.bytes()) else { continue };
            if step.entry.kind == Kind::File && !skip(&path) {
                found.push(path);
            }
        }
        found.sort();
        Ok(Some(found))
    }
}
