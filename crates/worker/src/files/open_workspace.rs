//! A session's workspace, open for work on its files: the one way from a call to the files of a session.
//!
//! The session may be hibernated; it is not woken for this. While its workspace is open a session is in use: its idle
//! timeout does not end it. Calls that change files take turns (`lock`), measure what the session may still hold (`room`),
//! and make trees where no program sees them (`stage`).

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::{Limits, SessionId};
use headwater_workspace::{Room, Stage, Workspace, WorkspacePath};

use crate::builds::reserved;
use crate::engine::Engine;
use crate::layout::{self, SessionRecord};
use crate::sessions::session;
use crate::sessions::table::WorkspaceUse;
use crate::sessions::update;

/// A session's workspace.
#[derive(Debug)]
pub(crate) struct OpenWorkspace {
    pub(crate) id: SessionId,
    pub(crate) workspace: Workspace,
    /// Where programs of the session see it.
    pub(crate) home: String,
    /// What is remembered of the session.
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
    /// Opens the workspace of a session that has not ended. Those of builds are nobody else's. Blocks for a moment.
    pub(crate) fn open(engine: &Arc<Engine>, id: SessionId) -> Result<Self, Fault> {
        reserved::refuse_build(engine, id)?;
        Self::open_any(engine, id)
    }

    /// The same for a session of a build, too.
    pub(crate) fn open_any(engine: &Arc<Engine>, id: SessionId) -> Result<Self, Fault> {
        let (record, workspace_use) = engine.sessions.use_workspace(id)?;
        let in_use = InUse { engine: Arc::clone(engine), id, _use: workspace_use };
        let dir = engine.folder.session(id);
        let inside = layout::workspace(&dir);
        Ok(Self {
            id,
            workspace: session::open_workspace(&inside, record.host_uid)?,
            home: session::workspace_inside(record.sandbox, &inside),
            record,
            dir,
            in_use,
        })
    }

    /// Understands the path of anything in it.
    pub(crate) fn path(&self, path: &[u8]) -> Result<WorkspacePath, Fault> {
        Ok(WorkspacePath::any(path, &self.home)?)
    }

    /// What the session may use.
    pub(crate) const fn limits(&self) -> &Limits {
        &self.record.spec.limits
    }

    /// Whether work on it is to stop: its session has ended or is about to, or the worker is stopping.
    pub(crate) fn is_over(&self) -> bool {
        let engine = &self.in_use.engine;
        if engine.stop.is_cancelled() {
            return true;
        }
        match engine.sessions.live(self.id) {
            Ok(session) => session.phase().is_ending(),
            Err(_) => !engine.sessions.is_hibernated(self.id),
        }
    }

    /// Waits for the turn to change its files; it lasts as long as what is returned. So of two who expect the same state of
    /// a file one is told that it is another by now, and a restored snapshot is not mixed with what others write.
    pub(crate) async fn lock(&self) -> impl Drop + Send + use<> {
        self.in_use.engine.sessions.lock_workspace(self.id).await
    }

    /// What may still be put into it, by a measurement that may be a moment old. Blocks while it is measured.
    pub(crate) fn room(&self) -> Result<Room, Fault> {
        self.in_use.engine.quotas.room(self)
    }

    /// The same by a new measurement.
    pub(crate) fn room_now(&self) -> Result<Room, Fault> {
        self.has_changed();
        self.room()
    }

    /// This much was put there.
    pub(crate) fn has_grown(&self, bytes: u64, inodes: u64) {
        self.in_use.engine.quotas.add(self.id, bytes, inodes);
    }

    /// Something was removed or replaced: it must be measured again.
    pub(crate) fn has_changed(&self) {
        self.in_use.engine.quotas.forget(self.id);
    }

    /// What to answer when something does not fit.
    pub(crate) fn full(&self, room: Room) -> Fault {
        let limits = self.limits();
        let message = match (limits.disk_bytes, limits.inodes) {
            (_, Some(inodes)) if room.inodes == 0 => {
                format!("the workspace may hold {inodes} files and folders, and has them")
            }
            (Some(bytes), _) => {
                let left = room.bytes;
                format!("it does not fit: the workspace may hold {bytes} bytes, of which {left} are left")
            }
            _ => "it does not fit".to_owned(),
        };
        Fault::new(FaultKind::Full, message)
            .hint("remove something first, or raise the session's `disk_bytes`")
    }

    /// The process that all programs of the session are below, if it is not hibernated and walls keep others out of there.
    pub(crate) fn walled_init(&self) -> Option<i32> {
        self.in_use.engine.sessions.live(self.id).ok()?.walled_init()
    }

    /// A folder where trees are made before programs of the session see them.
    pub(crate) fn stage(&self) -> Result<Stage, Fault> {
        Stage::new(&self.dir).map_err(|error| disk_fault(&error))
    }

    /// A new folder of a stage for things that are to be moved into the workspace.
    pub(crate) fn staged_tree(&self, stage: &Stage, name: &str) -> Result<Workspace, Fault> {
        self.workspace.staged_tree(stage, name).map_err(|error| disk_fault(&error))
    }

    /// Lets the kernel keep a second copy of the workspace for a moment, until the limits are set again.
    pub(crate) fn make_room_for_two(&self) {
        let double = |limit: Option<u64>| limit.map(|limit| limit.saturating_mul(2));
        let limits = Limits {
            disk_bytes: double(self.limits().disk_bytes),
            inodes: double(self.limits().inodes),
            ..Limits::default()
        };
        self.in_use.engine.projects.limit(&self.dir, || Some(limits));
    }

    /// Has the kernel enforce what it may now hold: its limits or its snapshots have changed.
    pub(crate) fn limit_disk(&self) {
        update::enforce_disk_limit(&self.in_use.engine, self.id);
    }
}

/// The disk of the data folder failed us.
pub(crate) fn disk_fault(error: &io::Error) -> Fault {
    Fault::of_disk(format!("the session's folder cannot be used: {error}"), error)
        .hint("is there room on the disk of the data folder?")
}
