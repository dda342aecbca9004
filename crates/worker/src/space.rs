//! The one door from a call to a session's workspace: which session, whose its files are, and how much may be in it.
//!
//! A session that sleeps has its workspace all the same: nothing that works on files needs to know.

use std::path::{Path, PathBuf};
use std::sync::Weak;

use headwater_contract::Fault;
use headwater_protocol::{Limits, SessionId};

use crate::engine::Engine;
use crate::folder::{self, SessionRecord};
use crate::session;
use crate::workspace::{PathError, Staging, Workspace, WorkspacePath};

/// A session's workspace, to be worked on.
#[derive(Debug)]
pub(crate) struct Space {
    pub(crate) workspace: Workspace,
    /// Where programs of the session see it.
    pub(crate) home: String,
    pub(crate) limits: Limits,
    folder: PathBuf,
    staging: PathBuf,
    lifetime: Lifetime,
}

/// A session whose files are worked on: until this is dropped it is in use. Says whether it goes on; long work on its
/// files ends with it.
#[derive(Debug)]
pub(crate) struct Lifetime {
    engine: Weak<Engine>,
    id: SessionId,
}

impl Lifetime {
    /// Whether the session has ended or is about to, or the worker is stopping. One that sleeps goes on.
    pub(crate) fn is_over(&self) -> bool {
        let Some(engine) = self.engine.upgrade().filter(|engine| !engine.stop.is_cancelled()) else {
            return true;
        };
        match engine.live_session(self.id) {
            Ok(session) => session.is_ending(),
            Err(_) => engine.asleep(self.id).is_none(),
        }
    }
}

impl Drop for Lifetime {
    fn drop(&mut self) {
        if let Some(engine) = self.engine.upgrade() {
            engine.close_workspace(self.id);
        }
    }
}

impl Lifetime {
    /// Doubles what a session's project may hold, if it has one.
    pub(crate) fn raise_disk(&self, session: &Path, limits: &Limits) {
        let double = |limit: Option<u64>| limit.map(|limit| limit.saturating_mul(2));
        let limits = Limits {
            disk_bytes: double(limits.disk_bytes),
            inodes: double(limits.inodes),
            ..Limits::default()
        };
        if let Some(engine) = self.engine.upgrade() {
            engine.projects.limit(session, || Some(limits));
        }
    }
}

impl Engine {
    /// The record of a session whose files are to be worked on, and what says later whether it has ended.
    pub(crate) fn lifetime(&self, id: SessionId) -> Result<(SessionRecord, Lifetime), Fault> {
        self.no_build(id)?;
        let record = self.open_workspace(id)?;
        Ok((record, Lifetime { engine: self.weak(), id }))
    }

    /// The workspace of this session, which is used by that; one that sleeps is not woken. Blocks for a moment.
    pub(crate) fn space(&self, id: SessionId) -> Result<Space, Fault> {
        let (record, lifetime) = self.lifetime(id)?;
        let folder = folder::workspace(&self.folder.session(id));
        let workspace = session::open_workspace(&folder, record.host_uid)?;
        let home = session::workspace_inside(record.sandbox, &folder);
        let (limits, staging) = (record.spec.limits, self.folder.staging());
        Ok(Space { workspace, home, limits, folder, staging, lifetime })
    }
}

impl Space {
    /// Understands a path of anything in it.
    pub(crate) fn path(&self, path: &[u8]) -> Result<WorkspacePath, PathError> {
        WorkspacePath::any(path, &self.home)
    }

    /// A tree that is to appear in it whole, or not at all.
    pub(crate) fn stage(&self) -> Result<Staging, Fault> {
        Staging::new(&self.staging, &self.workspace).map_err(|error| {
            let message = format!("cannot make a folder to work in: {error}");
            Fault::of_disk(message, &error).hint("is there room on the disk of the data folder?")
        })
    }

    /// Whether work on it is to stop.
    pub(crate) fn is_over(&self) -> bool {
        self.lifetime.is_over()
    }

    /// Its folder on the host. Only to measure it: everything in it is opened by [`Workspace`].
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}
