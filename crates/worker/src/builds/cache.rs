//! The cache on the disk: one file for each entry, named by its key.
//!
//! ```text
//! DIR/build-cache/objects/ab/abcd...    the object of one source
//!                /binaries/cd/cdef...   the binary of a build
//!                /new/                  entries that are being written
//! ```
//! An entry consists of a line that names the format, the length of the output, the output as JSON, the object or
//! binary, and a hash over all of that. An entry that does not match its hash is ignored. No session sees the folder.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use headwater_contract::CacheCounter;
use headwater_protocol::ExecutionId;
use headwater_protocol::build::Diagnostic;
use headwater_workspace::create_private_folder;
use serde::{Deserialize, Serialize};

use super::key::Key;

const MAGIC: &[u8] = b"headwater-build-1\n";
const HASH: usize = 32;
/// The largest object or binary that is cached.
pub(crate) const MAX_BLOB_BYTES: u64 = 64 << 20;
/// The part of the limit that is in use after an eviction, so that the next one is not due at once.
const KEEP: (u64, u64) = (9, 10);

/// The kinds of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The object of one source.
    Object,
    /// The binary of a build.
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

/// The output of a compiler, and the files that it read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CompileOutput {
    /// System files that were read, with their hashes.
    pub(crate) system: Vec<(String, Key)>,
    /// The messages as text.
    pub(crate) text: String,
    /// Whether the text was truncated; entries of earlier versions do not have this field.
    #[serde(default)]
    pub(crate) truncated: bool,
    /// The messages as diagnostics.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// An entry of the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) output: CompileOutput,
    pub(crate) blob: Vec<u8>,
}

/// The cache, with a size limit.
#[derive(Debug)]
pub(crate) struct Cache {
    root: PathBuf,
    most_bytes: u64,
    /// Look-ups and size.
    pub(super) counter: Arc<CacheCounter>,
    cleaning: Mutex<()>,
}

impl Cache {
    /// Opens the cache in this folder, with the entries of earlier workers. Blocks.
    pub(crate) fn open(root: PathBuf, most_bytes: u64, counter: Arc<CacheCounter>) -> io::Result<Self> {
        for kind in Kind::ALL {
            create_private_folder(&root.join(kind.folder()))?;
        }
        let new = root.join("new");
        // Entries that were being written when a worker was killed.
        let _ = fs::remove_dir_all(&new);
        create_private_folder(&new)?;
        let cache = Self { root, most_bytes, counter, cleaning: Mutex::default() };
        let bytes = cache.entries().iter().map(|(_, bytes, _)| bytes).sum();
        cache.counter.bytes.store(bytes, Ordering::Relaxed);
        Ok(cache)
    }

    fn entry_path(&self, kind: Kind, key: Key) -> PathBuf {
        let name = key.to_string();
        let first = name.get(..2).unwrap_or_default().to_owned();
        self.root.join(kind.folder()).join(first).join(name)
    }

    /// The entry of a key, if it exists and is intact. It becomes the most recently used.
    pub(crate) fn get(&self, kind: Kind, key: Key) -> Option<Entry> {
        let path = self.entry_path(kind, key);
        let bytes = fs::read(&path).ok()?;
        let Some(entry) = decode(&bytes, key) else {
            tracing::warn!(path = %path.display(), "removed a damaged entry of the build cache");
            self.drop_file(&path, bytes.len() as u64);
            return None;
        };
        if let Ok(file) = File::open(&path) {
            let _ = file.set_modified(SystemTime::now()); // on failure it is only evicted earlier
        }
        Some(entry)
    }

    /// Stores an entry. If that fails, it is compiled again the next time.
    pub(crate) fn put(&self, kind: Kind, key: Key, entry: &Entry) {
        if entry.blob.len() as u64 > MAX_BLOB_BYTES.min(self.most_bytes) {
            return;
        }
        match self.write(kind, key, entry) {
            Ok(bytes) => {
                let all = self.counter.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
                if all > self.most_bytes {
                    self.clean();
                }
            }
            Err(error) => tracing::warn!(%error, "cannot write to the build cache"),
        }
    }

    fn write(&self, kind: Kind, key: Key, entry: &Entry) -> io::Result<u64> {
        let path = self.entry_path(kind, key);
        let old = fs::metadata(&path).map_or(0, |meta| meta.len());
        let fresh = self.root.join("new").join(ExecutionId::random().to_string());
        let bytes = encode(entry, key)?;
        let written = File::create(&fresh)
            .and_then(|mut file| file.write_all(&bytes))
            .and_then(|()| path.parent().map_or(Ok(()), create_private_folder))
            .and_then(|()| fs::rename(&fresh, &path));
        if written.is_err() {
            let _ = fs::remove_file(&fresh);
        }
        written.map(|()| (bytes.len() as u64).saturating_sub(old))
    }

    fn drop_file(&self, path: &Path, bytes: u64) {
        if fs::remove_file(path).is_ok() {
            let less = |all: u64| Some(all.saturating_sub(bytes));
            let _ = self.counter.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        }
    }

    /// Evicts the least recently used entries.
    fn clean(&self) {
        let Ok(_one) = self.cleaning.try_lock() else {
            return; // another thread does it
        };
        let mut entries = self.entries();
        entries.sort_by_key(|(used, ..)| *used);
        let mut all: u64 = entries.iter().map(|(_, bytes, _)| bytes).sum();
        self.counter.bytes.store(all, Ordering::Relaxed);
        let keep = self.most_bytes / KEEP.1 * KEEP.0;
        for (_, bytes, path) in entries {
            if all <= keep {
                break;
            }
            self.drop_file(&path, bytes);
            all = all.saturating_sub(bytes);
        }
    }

    /// All entries: when each was last used, its size, and its path.
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

/// The hash includes the key: an entry under the name of another counts as damaged.
fn sum(bytes: &[u8], key: Key) -> [u8; HASH] {
    *blake3::keyed_hash(key.bytes(), bytes).as_bytes()
}

fn encode(entry: &Entry, key: Key) -> io::Result<Vec<u8>> {
    let output = serde_json::to_vec(&entry.output).map_err(io::Error::other)?;
    let mut bytes = Vec::with_capacity(MAGIC.len() + 8 + output.len() + entry.blob.len() + HASH);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&(output.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&output);
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
    let (output, blob) = rest.split_at_checked(length)?;
    Some(Entry { output: serde_json::from_slice(output).ok()?, blob: blob.to_vec() })
}

#[cfg(test)]
mod tests;
