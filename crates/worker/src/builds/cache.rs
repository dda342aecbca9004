//! The cache on the disk: one file an entry, named by its key, complete or not there.
//!
//! ```text
//! DIR/build-cache/objects/ab/abcd...    what one source became
//!                /binaries/cd/cdef...   what a whole build became
//!                /new/                  entries that are being written
//! ```
//! An entry is a line that names the format, the length of what is told of it, that as JSON, the made file, and a hash
//! over all of that. Whatever does not match its hash is not there. No session sees the folder.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use headwater_protocol::ExecutionId;
use headwater_protocol::build::Diagnostic;
use headwater_workspace::make_private;
use serde::{Deserialize, Serialize};

use super::key::Key;

const MAGIC: &[u8] = b"headwater-build-1\n";
const HASH: usize = 32;
/// What is larger is not kept.
pub(crate) const MAX_BLOB_BYTES: u64 = 64 << 20;
/// After a clean-up so much of the room is in use: the next one comes later.
const KEEP: (u64, u64) = (9, 10);

/// What a key leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One source.
    Object,
    /// A whole build.
    Binary,
}

impl Kind {
    const ALL: [Self; 2] = [Self::Object, Self::Binary];

    const fn folder(self) -> &'static str {
        match self {
            Self::Object => "objects",
            Self::Binary => "binaries",
        }
    }
}

/// What is told of an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Told {
    /// Files of the system that were read, by content.
    pub(crate) system: Vec<(String, Key)>,
    /// What was printed.
    pub(crate) text: String,
    /// What that says.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) told: Told,
    pub(crate) blob: Vec<u8>,
}

/// The cache.
#[derive(Debug)]
pub(crate) struct Cache {
    root: PathBuf,
    most_bytes: u64,
    bytes: AtomicU64,
    cleaning: Mutex<()>,
}

impl Cache {
    /// The cache in this folder, with what an earlier worker left there. Blocks.
    pub(crate) fn open(root: PathBuf, most_bytes: u64) -> io::Result<Self> {
        for kind in Kind::ALL {
            make_private(&root.join(kind.folder()))?;
        }
        let new = root.join("new");
        // Whatever is in there was being written when a worker was killed.
        let _ = fs::remove_dir_all(&new);
        make_private(&new)?;
        let cache = Self { root, most_bytes, bytes: AtomicU64::new(0), cleaning: Mutex::default() };
        let bytes = cache.entries().iter().map(|(_, bytes, _)| bytes).sum();
        cache.bytes.store(bytes, Ordering::Relaxed);
        Ok(cache)
    }

    fn place(&self, kind: Kind, key: Key) -> PathBuf {
        let name = key.to_string();
        let first = name.get(..2).unwrap_or_default().to_owned();
        self.root.join(kind.folder()).join(first).join(name)
    }

    /// What is kept under a key, if it is there and whole. It becomes the most recently used.
    pub(crate) fn get(&self, kind: Kind, key: Key) -> Option<Entry> {
        let path = self.place(kind, key);
        let bytes = fs::read(&path).ok()?;
        let Some(entry) = decode(&bytes, key) else {
            tracing::warn!(path = %path.display(), "a damaged entry of the build cache is dropped");
            self.drop_file(&path, bytes.len() as u64);
            return None;
        };
        if let Ok(file) = File::open(&path) {
            let _ = file.set_modified(SystemTime::now()); // it is then dropped sooner than it need be
        }
        Some(entry)
    }

    /// Keeps something. What cannot be kept is made again the next time.
    pub(crate) fn put(&self, kind: Kind, key: Key, entry: &Entry) {
        if entry.blob.len() as u64 > MAX_BLOB_BYTES.min(self.most_bytes) {
            return;
        }
        match self.write(kind, key, entry) {
            Ok(bytes) => {
                let all = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
                if all > self.most_bytes {
                    self.clean();
                }
            }
            Err(error) => tracing::warn!(%error, "the build cache cannot be written"),
        }
    }

    fn write(&self, kind: Kind, key: Key, entry: &Entry) -> io::Result<u64> {
        let path = self.place(kind, key);
        let old = fs::metadata(&path).map_or(0, |meta| meta.len());
        let fresh = self.root.join("new").join(ExecutionId::random().to_string());
        let bytes = encode(entry, key)?;
        let written = File::create(&fresh)
            .and_then(|mut file| file.write_all(&bytes))
            .and_then(|()| path.parent().map_or(Ok(()), make_private))
            .and_then(|()| fs::rename(&fresh, &path));
        if written.is_err() {
            let _ = fs::remove_file(&fresh);
        }
        written.map(|()| (bytes.len() as u64).saturating_sub(old))
    }

    fn drop_file(&self, path: &Path, bytes: u64) {
        if fs::remove_file(path).is_ok() {
            let less = |all: u64| Some(all.saturating_sub(bytes));
            let _ = self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        }
    }

    /// Drops what was not used for longest.
    fn clean(&self) {
        let Ok(_one) = self.cleaning.try_lock() else {
            return; // somebody does
        };
        let mut entries = self.entries();
        entries.sort_by_key(|(used, ..)| *used);
        let mut all: u64 = entries.iter().map(|(_, bytes, _)| bytes).sum();
        self.bytes.store(all, Ordering::Relaxed);
        let keep = self.most_bytes / KEEP.1 * KEEP.0;
        for (_, bytes, path) in entries {
            if all <= keep {
                break;
            }
            self.drop_file(&path, bytes);
            all = all.saturating_sub(bytes);
        }
    }

    /// All entries: when each was used last, its size, its place.
    fn entries(&self) -> Vec<(SystemTime, u64, PathBuf)> {
        let folders = Kind::ALL.iter().filter_map(|kind| fs::read_dir(self.root.join(kind.folder())).ok());
        let files = folders.flatten().flatten().filter_map(|entry| fs::read_dir(entry.path()).ok());
        files
            .flatten()
            .flatten()
            .filter_map(|file| {
                let meta = file.metadata().ok()?;
                Some((meta.modified().ok()?, meta.len(), file.path()))
            })
            .collect()
    }
}

/// The key is part of what is hashed: an entry under another's name is damaged.
fn sum(bytes: &[u8], key: Key) -> [u8; HASH] {
    *blake3::keyed_hash(key.bytes(), bytes).as_bytes()
}

fn encode(entry: &Entry, key: Key) -> io::Result<Vec<u8>> {
    let told = serde_json::to_vec(&entry.told).map_err(io::Error::other)?;
    let mut bytes = Vec::with_capacity(MAGIC.len() + 8 + told.len() + entry.blob.len() + HASH);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&(told.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&told);
    bytes.extend_from_slice(&entry.blob);
    let sum = sum(&bytes, key);
    bytes.extend_from_slice(&sum);
    Ok(bytes)
}

fn decode(bytes: &[u8], key: Key) -> Option<Entry> {
    let (whole, hash) = bytes.split_at_checked(bytes.len().checked_sub(HASH)?)?;
    if sum(whole, key) != hash {
        return None;
    }
    let rest = whole.strip_prefix(MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (told, blob) = rest.split_at_checked(length)?;
    Some(Entry { told: serde_json::from_slice(told).ok()?, blob: blob.to_vec() })
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
