//! The folder of the mirror: pages and files. The least recently used ones are evicted first.
//!
//! ```text
//! DIR/packages/pages/<hash>       a page of an index, see `pages`
//!             /files/<checksum>   a complete, verified file
//!             /new/               unfinished downloads
//! ```

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::SystemTime;

use headwater_contract::CacheCounter;
use headwater_contract::v1::CacheUsage;

/// A folder with a size limit.
#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
    limit: u64,
    prepared: Once,
    /// The bytes in use, as far as known; measured again when they exceed the limit.
    used: Mutex<u64>,
    next_draft: AtomicU64,
    /// Look-ups of pages and files.
    pub(super) counter: CacheCounter,
}

impl Store {
    pub(super) fn new(folder: PathBuf, limit: u64) -> Self {
        Self {
            folder,
            limit,
            prepared: Once::new(),
            used: Mutex::new(0),
            next_draft: AtomicU64::new(0),
            counter: CacheCounter::default(),
        }
    }

    /// The look-ups and the size. Blocks.
    pub(super) fn usage(&self) -> CacheUsage {
        // A folder that nobody has used is not created for a measurement.
        if self.folder.exists() {
            self.prepared.call_once(|| self.prepare());
        }
        let bytes = *self.used();
        CacheUsage { bytes, ..self.counter.usage("packages") }
    }

    /// The size limit in bytes.
    pub(super) const fn limit(&self) -> u64 {
        self.limit
    }

    /// The path of a page.
    pub(super) fn page(&self, name: &str) -> PathBuf {
        self.folder.join("pages").join(name)
    }

    /// The path of a file.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join("files").join(name)
    }

    /// Creates a new, unshared file. Blocks.
    pub(super) fn draft(&self) -> io::Result<(PathBuf, File)> {
        self.prepared.call_once(|| self.prepare());
        let path = self.folder.join("new").join(self.next_draft.fetch_add(1, Ordering::Relaxed).to_string());
        let file = File::options().write(true).create_new(true).open(&path)?;
        Ok((path, file))
    }

    /// Creates the folders, and removes what an earlier worker did not finish.
    fn prepare(&self) {
        let _ = fs::remove_dir_all(self.folder.join("new"));
        for name in ["pages", "files", "new"] {
            if let Err(error) = DirBuilder::new().recursive(true).mode(0o700).create(self.folder.join(name)) {
                tracing::error!(%error, "cannot create the folder of the package cache");
            }
        }
        *self.used() = entries(&self.folder).iter().map(|entry| entry.bytes).sum();
    }

    fn used(&self) -> std::sync::MutexGuard<'_, u64> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves a draft to its path, and evicts others if necessary. Blocks.
    pub(super) fn keep(&self, draft: &Path, path: &Path) -> io::Result<()> {
        let bytes = fs::metadata(draft)?.len();
        fs::rename(draft, path)?;
        let mut used = self.used();
        *used += bytes;
        if *used > self.limit {
            *used = self.evict();
        }
        Ok(())
    }

    /// Marks a file as recently used. Blocks.
    pub(super) fn touch(file: &File) {
        // On failure it is only evicted earlier.
        let _ = file.set_modified(SystemTime::now());
    }

    /// Removes the least recently used files. Returns the bytes that are left.
    fn evict(&self) -> u64 {
        let mut entries = entries(&self.folder);
        entries.sort_by_key(|entry| entry.used_at);
        let mut used: u64 = entries.iter().map(|entry| entry.bytes).sum();
        for entry in entries {
            if used <= self.limit {
                break;
            }
            // Open readers can still read it.
            if fs::remove_file(&entry.path).is_ok() {
                used -= entry.bytes;
            }
        }
        used
    }
}

struct Entry {
    path: PathBuf,
    bytes: u64,
    used_at: SystemTime,
}

fn entries(folder: &Path) -> Vec<Entry> {
    let folders = ["pages", "files"].map(|name| fs::read_dir(folder.join(name)));
    let entry = |entry: fs::DirEntry| {
        let metadata = entry.metadata().ok()?;
        let used_at = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        Some(Entry { path: entry.path(), bytes: metadata.len(), used_at })
    };
    folders.into_iter().flatten().flatten().flatten().filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::Duration;

    use super::*;

    fn put(store: &Store, name: &str, age: u64) {
        let (path, mut file) = store.draft().unwrap();
        file.write_all(&[0; 100]).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
        store.keep(&path, &store.file(name)).unwrap();
    }

    #[test]
    fn the_least_recently_used_entry_is_removed_first_even_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().join("packages"), 250);
        put(&store, "old", 30);
        put(&store, "older", 60);
        Store::touch(&File::open(store.file("older")).unwrap());
        let store = Store::new(folder.path().join("packages"), 250);
        put(&store, "new", 0);
        let exists = |name: &str| store.file(name).exists();
        assert_eq!(["old", "older", "new"].map(exists), [false, true, true]);
    }

    #[test]
    fn unfinished_downloads_of_another_worker_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().to_owned(), 250);
        let (path, _) = store.draft().unwrap();
        Store::new(folder.path().to_owned(), 250).draft().unwrap();
        let left: Vec<_> = fs::read_dir(folder.path().join("new")).unwrap().flatten().collect();
        assert_eq!((path.exists(), left.len()), (true, 1), "numbers begin anew");
    }
}
