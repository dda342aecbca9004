//! The content of a tree at one time: each path with what is needed to detect a change.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use headwater_workspace::{Entry, Kind, WorkspacePath};

/// All entries of a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Manifest(BTreeMap<Vec<u8>, ManifestEntry>);

/// What is stored of one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ManifestEntry {
    pub(crate) kind: ManifestKind,
    pub(crate) size: u64,
    pub(crate) mode: u32,
    /// The modification time in nanoseconds since 1970.
    pub(crate) modified_ns: i64,
    /// The time of the last change of content or metadata, which no program can set: if it is equal, the entry is unchanged.
    pub(crate) changed_ns: i64,
    pub(crate) inode: u64,
    /// The hash of a file's content or of a link's target.
    pub(crate) hash: Option<String>,
}

/// [`Kind`] in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ManifestKind {
    File,
    Folder,
    Link,
    Other,
}

impl From<Kind> for ManifestKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::File => Self::File,
            Kind::Folder => Self::Folder,
            Kind::Link => Self::Link,
            Kind::Other => Self::Other,
        }
    }
}

impl From<ManifestKind> for Kind {
    fn from(kind: ManifestKind) -> Self {
        match kind {
            ManifestKind::File => Self::File,
            ManifestKind::Folder => Self::Folder,
            ManifestKind::Link => Self::Link,
            ManifestKind::Other => Self::Other,
        }
    }
}

fn ns(at: i128) -> i64 {
    i64::try_from(at).unwrap_or(i64::MAX)
}

impl ManifestEntry {
    pub(crate) fn of(entry: &Entry) -> Self {
        Self {
            kind: entry.kind.into(),
            size: if entry.kind == Kind::Folder { 0 } else { entry.size },
            mode: entry.mode & 0o777,
            modified_ns: ns(entry.modified_ns),
            changed_ns: ns(entry.changed_ns),
            inode: entry.inode,
            hash: None,
        }
    }

    /// Whether the entry is certainly unchanged, by its metadata alone.
    pub(crate) fn is_untouched(&self, now: &Self) -> bool {
        (self.inode, self.changed_ns, self.size, self.mode) == (now.inode, now.changed_ns, now.size, now.mode)
            && self.kind == now.kind
    }
}

/// A line of the file. Names that are not UTF-8 are written as numbers.
#[derive(Serialize, Deserialize)]
struct Line {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    bytes: Option<Vec<u8>>,
    known: ManifestEntry,
}

impl Manifest {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn put(&mut self, path: &WorkspacePath, known: ManifestEntry) {
        self.0.insert(path.bytes(), known);
    }

    pub(crate) fn take(&mut self, path: &[u8]) -> Option<ManifestEntry> {
        self.0.remove(path)
    }

    /// The entries that were not taken, by path.
    pub(crate) fn rest(self) -> impl Iterator<Item = (Vec<u8>, ManifestEntry)> {
        self.0.into_iter()
    }

    /// Writes the manifest, one line for each path.
    pub(crate) fn write(&self, to: &Path) -> io::Result<()> {
        let mut out = BufWriter::new(File::create(to)?);
        for (path, known) in &self.0 {
            let (path, bytes) = match std::str::from_utf8(path) {
                Ok(text) => (Some(text.to_owned()), None),
                Err(_) => (None, Some(path.clone())),
            };
            serde_json::to_writer(&mut out, &Line { path, bytes, known: known.clone() })?;
            out.write_all(b"\n")?;
        }
        out.flush()
    }

    /// Reads a manifest. A missing file means an empty tree.
    pub(crate) fn read(from: &Path) -> io::Result<Self> {
        let file = match File::open(from) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            file => file?,
        };
        let mut manifest = Self::default();
        for line in BufReader::new(file).lines() {
            let line: Line = serde_json::from_str(&line?)?;
            let path = line.path.map(String::into_bytes).or(line.bytes).unwrap_or_default();
            manifest.0.insert(path, line.known);
        }
        Ok(manifest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read_as_it_was_written_whatever_the_names_are() {
        let folder = tempfile::tempdir().unwrap();
        let known = ManifestEntry {
            kind: ManifestKind::File,
            size: 3,
            mode: 0o644,
            modified_ns: -5,
            changed_ns: 1_700_000_000_123_456_789,
            inode: 7,
            hash: Some("ab".into()),
        };
        let mut manifest = Manifest::default();
        for name in [&b"a"[..], b"line\nend", b"\xff\xfe", "ü".as_bytes()] {
            manifest.put(&WorkspacePath::parse_any(name, "/workspace").unwrap(), known.clone());
        }
        let file = folder.path().join("manifest");
        manifest.write(&file).unwrap();
        assert_eq!(Manifest::read(&file).unwrap(), manifest);
        assert_eq!(Manifest::read(&folder.path().join("none")).unwrap().len(), 0);
    }
}
