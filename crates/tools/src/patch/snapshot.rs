//! The files that a patch is applied to.

use std::collections::BTreeMap;

use super::FilePath;

/// What exists at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    Nothing,
    /// A regular file.
    File {
        /// Identifies its state, for example an entity tag. The plan repeats it, so that the caller can refuse to
        /// replace a file that changed meanwhile.
        version: String,
    },
    /// A folder.
    Folder,
    /// A link, a FIFO, a socket or a device.
    Other,
}

/// Read access to a workspace. Nothing is written through it.
pub trait Workspace {
    /// What exists at the path. Links are not followed. If a parent does not exist or is a file: nothing. An error
    /// is the reason why it is unknown.
    fn kind(&self, path: &FilePath) -> Result<Kind, String>;

    /// The bytes of a regular file. An error is the reason why it cannot be read.
    fn read(&self, path: &FilePath) -> Result<Vec<u8>, String>;
}

/// A workspace in memory: for callers that read files asynchronously before they plan. A path that was not inserted
/// does not exist, except a parent of one that was, which is a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    entries: BTreeMap<FilePath, (Kind, Vec<u8>)>,
}

impl Snapshot {
    /// Inserts a file with its content.
    pub fn insert_file(&mut self, path: FilePath, version: String, bytes: Vec<u8>) {
        self.entries.insert(path, (Kind::File { version }, bytes));
    }

    /// Inserts an entry without content.
    pub fn insert(&mut self, path: FilePath, kind: Kind) {
        self.entries.insert(path, (kind, Vec::new()));
    }
}

impl Workspace for Snapshot {
    fn kind(&self, path: &FilePath) -> Result<Kind, String> {
        if let Some((kind, _)) = self.entries.get(path) {
            return Ok(kind.clone());
        }
        let mut below =
            self.entries.range(path.below_bound()..).take_while(|(child, _)| child.is_below(path));
        let has_child = below.any(|(_, (kind, _))| *kind != Kind::Nothing);
        Ok(if has_child { Kind::Folder } else { Kind::Nothing })
    }

    fn read(&self, path: &FilePath) -> Result<Vec<u8>, String> {
        match self.entries.get(path) {
            Some((Kind::File { .. }, bytes)) => Ok(bytes.clone()),
            _ => Err("it is not a regular file".to_owned()),
        }
    }
}
