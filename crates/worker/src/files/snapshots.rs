//! Snapshots: copies of a workspace in the session's folder, which are removed with the session.
//!
//! ```text
//! sessions/<id>/snapshots/<snapshot>/snapshot.json   its record
//!                                   /tree/           the copy
//!                                   /manifest        its content
//!              /start.manifest                       the content at the session's start, if any
//!              /staging/<random>/                    work in progress; `exchange` or `fill`: a restore
//! ```
//!
//! A snapshot appears atomically, by a rename. A restore creates its copy first, then moves the content of the workspace
//! aside and the copy in; after its first move the next worker completes it, so that a killed worker leaves no mixture.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use headwater_contract::{Fault, FaultKind, v1};
use headwater_protocol::{SnapshotId, now_ms};
use headwater_workspace::create_private_folder;
use headwater_workspace::tree;
use headwater_workspace::{StagingDir, Workspace, staging_root};
use serde::{Deserialize, Serialize};

use super::change;
use super::copy::copy;
use super::diff::Base;
use super::manifest::Manifest;
use crate::files::open_workspace::{OpenWorkspace, disk_fault};
use crate::layout::{self, SessionRecord};
use crate::sessions::place;

/// The most snapshots of a session.
const MAX_SNAPSHOTS: usize = 32;
/// The longest name of a snapshot.
const MAX_NAME_BYTES: usize = 255;

const RECORD_NAME: &str = "snapshot.json";
const TREE_NAME: &str = "tree";
const MANIFEST_NAME: &str = "manifest";
/// Mark a restore that has begun its first step, and its second step.
const CLEARING_NAME: &str = "exchange";
const FILLING_NAME: &str = "fill";
const FRESH_NAME: &str = "fresh";
const ASIDE_NAME: &str = "aside";

/// The record of a snapshot.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct SnapshotRecord {
    id: SnapshotId,
    name: String,
    created_at_ms: u64,
    bytes: u64,
    files: u64,
}

impl From<SnapshotRecord> for v1::Snapshot {
    fn from(record: SnapshotRecord) -> Self {
        Self {
            id: record.id.to_string(),
            name: record.name,
            created_at_ms: record.created_at_ms,
            bytes: record.bytes,
            files: record.files,
        }
    }
}

fn snapshots_dir(session: &Path) -> PathBuf {
    session.join("snapshots")
}

/// The manifest of a session's start.
pub(crate) fn start_manifest(session: &Path) -> PathBuf {
    session.join("start.manifest")
}

fn read(session: &Path, id: SnapshotId) -> Result<SnapshotRecord, Fault> {
    let missing = || {
        Fault::new(FaultKind::NotFound, format!("snapshot `{id}` does not exist"))
            .hint("`GET /v1/sessions/{id}/snapshots` lists the snapshots")
    };
    let text =
        fs::read(snapshots_dir(session).join(id.to_string()).join(RECORD_NAME)).map_err(|_| missing())?;
    serde_json::from_slice(&text).map_err(|_| missing())
}

fn records(session: &Path) -> Vec<SnapshotRecord> {
    let entries = fs::read_dir(snapshots_dir(session)).into_iter().flatten().flatten();
    let id = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    let mut records: Vec<_> = entries.filter_map(id).filter_map(|id| read(session, id).ok()).collect();
    records.sort_by_key(|record| (record.created_at_ms, record.id));
    records
}

/// The disk usage of a session's snapshots.
pub(crate) fn kept_bytes(session: &Path) -> u64 {
    records(session).iter().map(|record| record.bytes).sum()
}

/// The snapshots of a session, oldest first.
pub(crate) fn list(open: &OpenWorkspace) -> Vec<v1::Snapshot> {
    records(&open.dir).into_iter().map(Into::into).collect()
}

/// Creates a snapshot of the workspace.
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
        let message = format!("the session has reached its limit of {MAX_SNAPSHOTS} snapshots");
        return Err(Fault::new(FaultKind::Conflict, message).hint("delete one that is not needed"));
    }
    let staging = open.stage()?;
    let tree = staging.tree(TREE_NAME).map_err(|error| disk_fault(&error))?;
    let manifest = copy(&open.workspace, &tree, open.room_now()?.bytes, &|| open.is_over())?;
    let record = SnapshotRecord {
        id,
        name,
        created_at_ms: now_ms(),
        bytes: tree::measure(&staging.path().join(TREE_NAME)).map_err(|error| disk_fault(&error))?.bytes,
        files: manifest.len() as u64,
    };
    let put = || -> io::Result<()> {
        manifest.write(&staging.path().join(MANIFEST_NAME))?;
        fs::write(staging.path().join(RECORD_NAME), serde_json::to_vec(&record)?)?;
        create_private_folder(&snapshots_dir(&open.dir))?;
        fs::rename(staging.path(), snapshots_dir(&open.dir).join(id.to_string()))
    };
    put().map_err(|error| disk_fault(&error))?;
    Ok(record.into())
}

/// Removes a snapshot. If the worker is killed meanwhile, the rest is in the staging folder.
pub(crate) fn remove(open: &OpenWorkspace, id: SnapshotId) -> Result<(), Fault> {
    read(&open.dir, id)?;
    let staging = open.stage()?;
    let moved = fs::rename(snapshots_dir(&open.dir).join(id.to_string()), staging.path().join("removed"));
    moved.map_err(|error| disk_fault(&error))
}

/// The files of a snapshot.
pub(crate) fn tree_of(session: &Path, id: SnapshotId) -> Result<Workspace, Fault> {
    read(session, id)?;
    let path = snapshots_dir(session).join(id.to_string()).join(TREE_NAME);
    Workspace::open(&path, None).map_err(|error| disk_fault(&error))
}

/// The base of a diff: a snapshot, or the session's start.
pub(crate) fn base(open: &OpenWorkspace, id: Option<SnapshotId>) -> Result<Base, Fault> {
    let (manifest, tree) = match id {
        Some(id) => {
            let tree = tree_of(&open.dir, id)?;
            (snapshots_dir(&open.dir).join(id.to_string()).join(MANIFEST_NAME), Some(tree))
        }
        None => (start_manifest(&open.dir), None),
    };
    Ok(Base { manifest: Manifest::read(&manifest).map_err(|error| disk_fault(&error))?, tree })
}

/// Replaces the content of the workspace by a snapshot. The folder itself stays, so that programs see the new content.
pub(crate) fn restore(open: &OpenWorkspace, id: SnapshotId) -> Result<v1::Snapshot, Fault> {
    let record = read(&open.dir, id)?;
    let source = tree_of(&open.dir, id)?;
    let staging = open.stage()?;
    let limit = open.limits().disk_bytes.unwrap_or(u64::MAX);
    open.make_room_for_two();
    copy(&source, &open.staged_tree(&staging, FRESH_NAME)?, limit, &|| open.is_over())?;
    fs::write(staging.path().join(CLEARING_NAME), b"").map_err(|error| disk_fault(&error))?;
    if let Err(fault) = finish(&open.dir, staging.path(), open.record.host_uid) {
        // Not undone: the old content is partly moved aside. The next worker tries again.
        std::mem::forget(staging);
        return Err(fault);
    }
    Ok(record.into())
}

/// Carries out a restore, from the step where it stopped.
fn finish(session: &Path, staging: &Path, owner: Option<u32>) -> Result<(), Fault> {
    let workspace =
        Workspace::open(&layout::workspace(session), owner).map_err(|error| disk_fault(&error))?;
    let open = |name: &str| {
        let path = staging.join(name);
        create_private_folder(&path)
            .and_then(|()| Workspace::open(&path, None))
            .map_err(|error| disk_fault(&error))
    };
    let (fresh, aside) = (open(FRESH_NAME)?, open(ASIDE_NAME)?);
    if staging.join(CLEARING_NAME).exists() {
        workspace.clear_into(&aside)?;
        fs::rename(staging.join(CLEARING_NAME), staging.join(FILLING_NAME))
            .map_err(|error| disk_fault(&error))?;
    }
    workspace.fill_from(&fresh, &aside)?;
    fs::remove_file(staging.join(FILLING_NAME)).map_err(|error| disk_fault(&error))
}

/// Completes or removes what a killed worker left unfinished in a session that continues.
pub(crate) fn recover(session: &Path, record: &SessionRecord) {
    let open = || match &record.spec.place {
        Some(place) => place::open(record, place, false).map_err(|fault| io::Error::other(fault.message)),
        None => Workspace::open(&layout::workspace(session), record.host_uid),
    };
    recover_in(session, record.host_uid, &open);
}

/// The same with a workspace that is opened like this.
pub(super) fn recover_in(session: &Path, owner: Option<u32>, open: &dyn Fn() -> io::Result<Workspace>) {
    for entry in fs::read_dir(staging_root(session)).into_iter().flatten().flatten() {
        let staging = StagingDir::at(entry.path());
        let undone = open().and_then(|workspace| change::recover(&workspace, &staging));
        if let Err(error) = undone {
            tracing::error!(dir = %staging.path().display(), %error, "cannot undo a change of files");
            staging.keep();
            continue;
        }
        if [CLEARING_NAME, FILLING_NAME].iter().any(|mark| staging.path().join(mark).exists())
            && let Err(fault) = finish(session, staging.path(), owner)
        {
            tracing::error!(dir = %staging.path().display(), %fault, "cannot complete a restore");
            std::mem::forget(staging);
        }
    }
}

/// Removes all snapshots of a session that has ended.
pub(crate) fn remove_all(session: &Path) {
    for path in [staging_root(session), snapshots_dir(session), change::responses_dir(session)] {
        if let Err(error) = tree::remove(&path) {
            tracing::warn!(dir = %path.display(), %error, "cannot remove the rest of a session");
        }
    }
    let _ = fs::remove_file(start_manifest(session)); // most have none
}
