//! Copies of a workspace that are kept in its session's folder, and go with it.
//!
//! ```text
//! sessions/<id>/snapshots/<snapshot>/snapshot.json   what is told of it
//!                                   /tree/           the copy
//!                                   /manifest        what it held
//!              /start.manifest                       what the session began with, if not nothing
//!              /staging/<random>/                    what is being made; `exchange` or `fill`: a restore under way
//! ```
//!
//! A snapshot appears by a rename, whole. A restore makes its copy first, then moves what is in the workspace aside and the
//! copy in; from its first move on it is finished by whoever comes next, so that a worker that is killed leaves no mixture.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use headwater_contract::{Fault, FaultKind, v1};
use headwater_protocol::SnapshotId;
use headwater_workspace::make_private;
use headwater_workspace::tree;
use headwater_workspace::{Stage, Workspace, staging};
use serde::{Deserialize, Serialize};

use super::copy::copy;
use super::diff::Base;
use super::manifest::Manifest;
use crate::clock::now_ms;
use crate::files::open_workspace::{OpenWorkspace, disk_fault};
use crate::layout;

/// Snapshots of a session, at most.
const MAX_SNAPSHOTS: usize = 32;
/// The longest name of one.
const MAX_NAME_BYTES: usize = 255;

const RECORD: &str = "snapshot.json";
const TREE: &str = "tree";
const MANIFEST: &str = "manifest";
/// Marks a restore whose first step has begun, and one whose second has.
const EXCHANGE: &str = "exchange";
const FILL: &str = "fill";
const FRESH: &str = "fresh";
const ASIDE: &str = "aside";

/// What is told of a snapshot.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Record {
    id: SnapshotId,
    name: String,
    created_at_ms: u64,
    bytes: u64,
    files: u64,
}

impl From<Record> for v1::Snapshot {
    fn from(record: Record) -> Self {
        Self {
            id: record.id.to_string(),
            name: record.name,
            created_at_ms: record.created_at_ms,
            bytes: record.bytes,
            files: record.files,
        }
    }
}

fn all(session: &Path) -> PathBuf {
    session.join("snapshots")
}

/// What a session began with.
pub(crate) fn start_manifest(session: &Path) -> PathBuf {
    session.join("start.manifest")
}

fn read(session: &Path, id: SnapshotId) -> Result<Record, Fault> {
    let missing = || {
        Fault::new(FaultKind::NotFound, format!("there is no snapshot `{id}`"))
            .hint("`GET /v1/sessions/{id}/snapshots` lists those that are there")
    };
    let text = fs::read(all(session).join(id.to_string()).join(RECORD)).map_err(|_| missing())?;
    serde_json::from_slice(&text).map_err(|_| missing())
}

fn records(session: &Path) -> Vec<Record> {
    let entries = fs::read_dir(all(session)).into_iter().flatten().flatten();
    let id = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    let mut records: Vec<_> = entries.filter_map(id).filter_map(|id| read(session, id).ok()).collect();
    records.sort_by_key(|record| (record.created_at_ms, record.id));
    records
}

/// What a session's snapshots use of the disk.
pub(crate) fn kept_bytes(session: &Path) -> u64 {
    records(session).iter().map(|record| record.bytes).sum()
}

/// Those of a session, oldest first.
pub(crate) fn list(open: &OpenWorkspace) -> Vec<v1::Snapshot> {
    records(&open.dir).into_iter().map(Into::into).collect()
}

/// Keeps a copy of the workspace.
pub(crate) fn create(open: &OpenWorkspace, id: SnapshotId, name: String) -> Result<v1::Snapshot, Fault> {
    if let Ok(there) = read(&open.dir, id) {
        return Ok(there.into());
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(Fault::new(
            FaultKind::Invalid,
            format!("a snapshot's name has at most {MAX_NAME_BYTES} bytes"),
        ));
    }
    if records(&open.dir).len() >= MAX_SNAPSHOTS {
        let message = format!("the session has {MAX_SNAPSHOTS} snapshots, and that is the most");
        return Err(Fault::new(FaultKind::Conflict, message).hint("delete one that is not needed"));
    }
    let stage = open.stage()?;
    let tree = stage.tree(TREE).map_err(|error| disk_fault(&error))?;
    let manifest = copy(&open.workspace, &tree, open.room_now()?.bytes, &|| open.is_over())?;
    let record = Record {
        id,
        name,
        created_at_ms: now_ms(),
        bytes: tree::measure(&stage.path().join(TREE)).map_err(|error| disk_fault(&error))?.bytes,
        files: manifest.len() as u64,
    };
    let put = || -> io::Result<()> {
        manifest.write(&stage.path().join(MANIFEST))?;
        fs::write(stage.path().join(RECORD), serde_json::to_vec(&record)?)?;
        make_private(&all(&open.dir))?;
        fs::rename(stage.path(), all(&open.dir).join(id.to_string()))
    };
    put().map_err(|error| disk_fault(&error))?;
    Ok(record.into())
}

/// Removes one. What a worker that is killed meanwhile leaves of it is in the staging folder.
pub(crate) fn remove(open: &OpenWorkspace, id: SnapshotId) -> Result<(), Fault> {
    read(&open.dir, id)?;
    let stage = open.stage()?;
    let moved = fs::rename(all(&open.dir).join(id.to_string()), stage.path().join("removed"));
    moved.map_err(|error| disk_fault(&error))
}

/// The copy that a snapshot is.
pub(crate) fn tree_of(session: &Path, id: SnapshotId) -> Result<Workspace, Fault> {
    read(session, id)?;
    let path = all(session).join(id.to_string()).join(TREE);
    Workspace::open(&path, None).map_err(|error| disk_fault(&error))
}

/// What to compare the workspace with: a snapshot, or the session's start.
pub(crate) fn base(open: &OpenWorkspace, id: Option<SnapshotId>) -> Result<Base, Fault> {
    let (manifest, tree) = match id {
        Some(id) => {
            let tree = tree_of(&open.dir, id)?;
            (all(&open.dir).join(id.to_string()).join(MANIFEST), Some(tree))
        }
        None => (start_manifest(&open.dir), None),
    };
    Ok(Base { manifest: Manifest::read(&manifest).map_err(|error| disk_fault(&error))?, tree })
}

/// Puts a snapshot in place of what is in the workspace. The folder itself stays, and with it what programs see there.
pub(crate) fn restore(open: &OpenWorkspace, id: SnapshotId) -> Result<v1::Snapshot, Fault> {
    let record = read(&open.dir, id)?;
    let source = tree_of(&open.dir, id)?;
    let stage = open.stage()?;
    let limit = open.limits().disk_bytes.unwrap_or(u64::MAX);
    open.make_room_for_two();
    copy(&source, &open.staged_tree(&stage, FRESH)?, limit, &|| open.is_over())?;
    fs::write(stage.path().join(EXCHANGE), b"").map_err(|error| disk_fault(&error))?;
    if let Err(fault) = finish(&open.dir, stage.path(), open.record.host_uid) {
        // Not taken back: what was in the workspace is partly aside. The next worker tries again.
        std::mem::forget(stage);
        return Err(fault);
    }
    Ok(record.into())
}

/// Carries out the exchange, from wherever it stopped.
fn finish(session: &Path, stage: &Path, owner: Option<u32>) -> Result<(), Fault> {
    let workspace =
        Workspace::open(&layout::workspace(session), owner).map_err(|error| disk_fault(&error))?;
    let open = |name: &str| {
        let path = stage.join(name);
        make_private(&path).and_then(|()| Workspace::open(&path, None)).map_err(|error| disk_fault(&error))
    };
    let (fresh, aside) = (open(FRESH)?, open(ASIDE)?);
    if stage.join(EXCHANGE).exists() {
        workspace.clear_into(&aside)?;
        fs::rename(stage.join(EXCHANGE), stage.join(FILL)).map_err(|error| disk_fault(&error))?;
    }
    workspace.fill_from(&fresh, &aside)?;
    fs::remove_file(stage.join(FILL)).map_err(|error| disk_fault(&error))
}

/// Finishes or removes what a worker that was killed left half done in a session that goes on.
pub(crate) fn tidy(session: &Path, owner: Option<u32>) {
    for entry in fs::read_dir(staging(session)).into_iter().flatten().flatten() {
        let stage = Stage::at(entry.path());
        if [EXCHANGE, FILL].iter().any(|mark| stage.path().join(mark).exists())
            && let Err(fault) = finish(session, stage.path(), owner)
        {
            tracing::error!(dir = %stage.path().display(), %fault, "a restore cannot be finished");
            std::mem::forget(stage);
        }
    }
}

/// Removes all that is kept of a session that has ended.
pub(crate) fn remove_all(session: &Path) {
    for path in [staging(session), all(session)] {
        if let Err(error) = tree::remove(&path) {
            tracing::warn!(dir = %path.display(), %error, "a session's snapshots cannot be removed");
        }
    }
    let _ = fs::remove_file(start_manifest(session)); // most have none
}
