//! Records of builds on the disk, so that the next worker can complete them.
//!
//! ```text
//! DIR/builds/<id>.json           the plan
//! DIR/builds/<id>.result.json    the result
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use headwater_protocol::build::BuildResult;
use headwater_protocol::{BuildId, ExecutionId, SessionId};
use headwater_workspace::create_private_folder;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::plan::Plan;

/// Results that are kept for repeated requests; the gateway has them in its store.
const MAX_RESULTS: usize = 1000;

/// A build that was started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) id: BuildId,
    /// The session of its sources and its binary.
    pub(crate) session: SessionId,
    /// The session that it runs in.
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
        create_private_folder(&root)?;
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

    /// Stores the result; the build is complete.
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
        if all.len() <= MAX_RESULTS + MAX_RESULTS / 10 {
            return;
        }
        all.sort();
        for (_, path) in all.iter().take(all.len() - MAX_RESULTS) {
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
