//! Whole files, for builds: taken out of one workspace, put into another.

use std::fs::File;
use std::io::Read;

use super::entry::Kind;
use super::walk::MAX_DEPTH;
use super::{Expect, Workspace, WorkspaceError, WorkspacePath};

/// A file of a workspace that is there.
#[derive(Debug)]
pub struct Whole {
    pub file: File,
    pub bytes: u64,
}

/// The mode of what can be run.
const PROGRAM_MODE: u32 = 0o755;
/// What is copied at a time.
const PIECE: usize = 256 << 10;

impl Workspace {
    /// Opens an ordinary file to read, through no link. None if there is none.
    pub fn take(&self, path: &WorkspacePath) -> Result<Option<Whole>, WorkspaceError> {
        match self.open_file(path) {
            Ok((fd, entry)) => Ok(Some(Whole { file: fd.into(), bytes: entry.size })),
            Err(
                WorkspaceError::Missing { .. }
                | WorkspaceError::NoFolder { .. }
                | WorkspaceError::NoFile { .. }
                | WorkspaceError::Linked { .. },
            ) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All of a file, if it is there and no longer than this.
    pub fn take_all(&self, path: &WorkspacePath, most: u64) -> Result<Option<Vec<u8>>, WorkspaceError> {
        let Some(whole) = self.take(path)? else { return Ok(None) };
        let mut bytes = Vec::with_capacity(usize::try_from(whole.bytes.min(most)).unwrap_or(0));
        // One more than may be: a program may make it longer while it is read.
        let read = whole.file.take(most + 1).read_to_end(&mut bytes);
        read.map_err(|error| WorkspaceError::io(path, &error))?;
        Ok((bytes.len() as u64 <= most).then_some(bytes))
    }

    /// Writes a file from what can be read, in place of the one that is there; the folders above it are made.
    pub fn put(&self, path: &WorkspacePath, source: &mut dyn Read, runs: bool) -> Result<(), WorkspaceError> {
        let new = self.create(path)?;
        let mut piece = vec![0; PIECE];
        loop {
            let n = source.read(&mut piece).map_err(|error| WorkspaceError::io(path, &error))?;
            match piece.get(..n) {
                None | Some([]) => break,
                Some(bytes) => new.write(bytes)?,
            }
        }
        new.commit(&Expect::Anything, runs.then_some(PROGRAM_MODE)).map(drop)
    }

    /// The paths of all ordinary files whose name is text, but for those that `skip` says; none if there are more than
    /// `most` of anything.
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
