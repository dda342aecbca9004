//! What is kept of a build beside its session, so that the next worker brings it to its end.
//!
//! ```text
//! DIR/builds/<id>.json           what was begun
//! DIR/builds/<id>.result.json    what became of it
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use headwater_protocol::build::BuildResult;
use headwater_protocol::{BuildId, ExecutionId, SessionId};
use headwater_workspace::make_private;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::plan::Plan;

/// Results that are kept for whoever asks again; the gateway has them in its store.
const KEPT: usize = 1000;

/// A build that was begun.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) id: BuildId,
    /// Where its files come from and its binary goes.
    pub(crate) session: SessionId,
    /// Its own.
    pub(crate) build_session: SessionId,
    pub(crate) execution: ExecutionId,
    pub(crate) began_at_ms: u64,
    pub(crate) plan: Plan,
}

/// The folder of records.
#[derive(Debug)]
pub(crate) struct Records {
    root: PathBuf,
}

impl Records {
    pub(crate) fn open(root: PathBuf) -> io::Result<Self> {
        make_private(&root)?;
        Ok(Self { root })
    }

    fn begun(&self, id: BuildId) -> PathBuf {
        self.root.join(format!("{id}.json"))
    }

    fn ended(&self, id: BuildId) -> PathBuf {
        self.root.join(format!("{id}.result.json"))
    }

    pub(crate) fn begin(&self, record: &Record) -> io::Result<()> {
        write(&self.begun(record.id), record)
    }

    /// Keeps a result; the build is no longer to be looked after.
    pub(crate) fn end(&self, id: BuildId, result: &BuildResult) -> io::Result<()> {
        write(&self.ended(id), result)?;
        self.forget(id);
        self.prune();
        Ok(())
    }

    /// It was not begun after all.
    pub(crate) fn forget(&self, id: BuildId) {
        let _ = fs::remove_file(self.begun(id)); // it may never have been
    }

    pub(crate) fn result(&self, id: BuildId) -> Option<BuildResult> {
        read(&self.ended(id))
    }

    pub(crate) fn record(&self, id: BuildId) -> Option<Record> {
        read(&self.begun(id))
    }

    /// All builds that were begun and have no result.
    pub(crate) fn unfinished(&self) -> Vec<Record> {
        let entries = fs::read_dir(&self.root).into_iter().flatten().flatten();
        let begun = entries.filter(|entry| !entry.file_name().to_string_lossy().ends_with(".result.json"));
        begun.filter_map(|entry| read(&entry.path())).collect()
    }

    fn prune(&self) {
        let entries = fs::read_dir(&self.root).into_iter().flatten().flatten();
        let ended = entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(".result.json"));
        let mut all: Vec<_> =
            ended.filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()))).collect();
        if all.len() <= KEPT + KEPT / 10 {
            return;
        }
        all.sort();
        for (_, path) in all.iter().take(all.len() - KEPT) {
            let _ = fs::remove_file(path);
        }
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let fresh = path.with_extension("new");
    fs::write(&fresh, serde_json::to_vec(value).map_err(io::Error::other)?)?;
    fs::rename(fresh, path)
}
