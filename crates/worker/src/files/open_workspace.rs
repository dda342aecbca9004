//! A session's workspace, opened for a call. All calls on files use it.
//!
//! The session may be hibernated; this does not resume it. While its workspace is open a session is in use: its idle
//! timeout does not end it. Calls that change files are serialised (`lock`), measure the space that is left (`room`), and
//! build trees where no program sees them (`stage`).

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::{Limits, SessionId};
use headwater_workspace::{Room, StagingDir, Workspace, WorkspacePath};

use crate::builds::reserved;
use crate::engine::Engine;
use crate::layout::{self, SessionRecord};
use crate::sessions::place;
use crate::sessions::session;
use crate::sessions::table::WorkspaceUse;
use crate::sessions::update;

/// A session's workspace.
#[derive(Debug)]
pub(crate) struct OpenWorkspace {
    pub(crate) id: SessionId,
    pub(crate) workspace: Workspace,
    /// The path of the workspace for programs of the session.
    pub(crate) home: String,
    /// The record of the session.
    pub(crate) record: SessionRecord,
    /// The session's folder on the host, which its programs cannot see.
    pub(crate) dir: PathBuf,
    in_use: InUse,
}

/// Keeps a session in use until it is dropped.
#[derive(Debug)]
struct InUse {
    engine: Arc<Engine>,
    id: SessionId,
    /// Dropped after `drop` below: until then the session is in use, and from then on its idle time begins anew.
    _use: WorkspaceUse,
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.engine.sessions.touch(self.id);
    }
}

impl OpenWorkspace {
    /// Opens the workspace of a session that has not ended. Sessions of builds are excluded. Blocks for a moment.
    pub(crate) fn open(engine: &Arc<Engine>, id: SessionId) -> Result<Self, Fault> {
        reserved::refuse_build(engine, id)?;
        Self::open_any(engine, id)
    }

    /// The same, including sessions of builds.
    pub(crate) fn open_any(engine: &Arc<Engine>, id: SessionId) -> Result<Self, Fault> {
        let (record, workspace_use) = engine.sessions.use_workspace(id)?;
        let in_use = InUse { engine: Arc::clone(engine), id, _use: workspace_use };
        let dir = engine.folder.session(id);
        let is_live = engine.sessions.live(id).is_ok();
        let workspace = session::open_workspace(&dir, &record, is_live)
            .map_err(|fault| engine.sessions.cause(id, fault))?;
        let home = match &record.spec.place {
            Some(place) => place.folder.clone(),
            None => session::workspace_inside(record.sandbox, &layout::workspace(&dir)),
        };
        Ok(Self { id, workspace, home, record, dir, in_use })
    }

    /// Refuses work on the whole workspace of an in-place session.
    pub(crate) fn refuse_in_place(&self, what: &str) -> Result<(), Fault> {
        place::refuse(&self.record, what)
    }

    /// Parses the path of a file or folder.
    pub(crate) fn path(&self, path: &[u8]) -> Result<WorkspacePath, Fault> {
        Ok(WorkspacePath::parse_any(path, &self.home)?)
    }

    /// The limits of the session.
    pub(crate) const fn limits(&self) -> &Limits {
        &self.record.spec.limits
    }

    /// Whether work on it must stop: the session has ended or is ending, or the worker is stopping.
    pub(crate) fn is_over(&self) -> bool {
        let engine = &self.in_use.engine;
        engine.stop.is_cancelled() || engine.sessions.is_over(self.id)
    }

    /// Works on it; a failure because the session has ended meanwhile is reported as that.
    pub(crate) fn attempt<T>(&self, work: impl FnOnce(&Self) -> Result<T, Fault>) -> Result<T, Fault> {
        work(self).map_err(|fault| self.cause(fault))
    }

    /// The fault to report: the end of the session, if that is its cause.
    pub(crate) fn cause(&self, fault: Fault) -> Fault {
        self.in_use.engine.sessions.cause(self.id, fault)
    }

    /// Waits for the lock to change its files; it is held as long as the guard. So if two callers expect the same state of
    /// a file, one of them fails, and a restored snapshot is not mixed with other writes.
    pub(crate) async fn lock(&self) -> impl Drop + Send + use<> {
        self.in_use.engine.sessions.lock_workspace(self.id).await
    }

    /// The space that is left, by a measurement that may be a moment old. Blocks while it is measured.
    pub(crate) fn room(&self) -> Result<Room, Fault> {
        self.in_use.engine.free_space.room(self)
    }

    /// The space that is left, by a new measurement.
    pub(crate) fn room_now(&self) -> Result<Room, Fault> {
        self.has_changed();
        self.room()
    }

    /// Adds to the measured usage.
    pub(crate) fn has_grown(&self, bytes: u64, inodes: u64) {
        self.in_use.engine.free_space.add(self.id, bytes, inodes);
    }

    /// Discards the measurement after something was removed or replaced.
    pub(crate) fn has_changed(&self) {
        self.in_use.engine.free_space.forget(self.id);
    }

    /// The fault for a write that does not fit.
    pub(crate) fn full(&self, room: Room) -> Fault {
        let limits = self.limits();
        let message = match (limits.disk_bytes, limits.inodes) {
            (_, Some(inodes)) if room.inodes == 0 => {
                format!("the workspace has reached its limit of {inodes} files and folders")
            }
            (Some(bytes), _) => {
                let left = room.bytes;
                format!("it does not fit: the limit of the workspace is {bytes} bytes, {left} are left")
            }
            _ => "it does not fit".to_owned(),
        };
        Fault::new(FaultKind::Full, message).hint("remove files first, or raise the session's `disk_bytes`")
    }

    /// The init of the session, if it is not hibernated and runs in its own PID namespace.
    pub(crate) fn walled_init(&self) -> Option<i32> {
        self.in_use.engine.sessions.live(self.id).ok()?.walled_init()
    }

    /// Creates a staging folder.
    pub(crate) fn stage(&self) -> Result<StagingDir, Fault> {
        StagingDir::new(&self.dir).map_err(|error| disk_fault(&error))
    }

    /// Creates a tree in a staging folder for entries that will be moved into the workspace.
    pub(crate) fn staged_tree(&self, stage: &StagingDir, name: &str) -> Result<Workspace, Fault> {
        self.workspace.staged_tree(stage, name).map_err(|error| disk_fault(&error))
    }

    /// Raises the kernel's quota so that a second copy of the workspace fits, until the limits are set again.
    pub(crate) fn make_room_for_two(&self) {
        let double = |limit: Option<u64>| limit.map(|limit| limit.saturating_mul(2));
        let limits = Limits {
            disk_bytes: double(self.limits().disk_bytes),
            inodes: double(self.limits().inodes),
            ..Limits::default()
        };
        self.in_use.engine.projects.limit(&self.dir, || Some(limits));
    }

    /// Updates the kernel's quota after its limits or its snapshots have changed.
    pub(crate) fn limit_disk(&self) {
        update::enforce_disk_limit(&self.in_use.engine, self.id);
    }
}

/// The fault for an error of the data folder's disk.
pub(crate) fn disk_fault(error: &io::Error) -> Fault {
    Fault::of_disk(format!("cannot use the session's folder: {error}"), error)
        .hint("check the free space on the disk of the data folder")
}
