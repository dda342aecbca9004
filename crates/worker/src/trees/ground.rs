//! What all work on trees stands on: the session, its workspace, what it may use, and where things are made that its
//! programs cannot see yet.

use std::io;
use std::path::{Path, PathBuf};

use headwater_contract::Fault;
use headwater_protocol::{ExecutionId, Limits, SandboxKind, SessionId, SessionSpec};

use crate::engine::Engine;
use crate::folder::{self, make_private};
use crate::space::Lifetime;
use crate::tree;
use crate::workspace::{Workspace, WorkspacePath};

/// A session's trees.
#[derive(Debug)]
pub(super) struct Ground {
    pub(super) id: SessionId,
    /// The session's folder on the host, which its programs cannot see.
    pub(super) dir: PathBuf,
    pub(super) workspace: Workspace,
    /// The host user that its programs run as, if not ours.
    pub(super) owner: Option<u32>,
    pub(super) limits: Limits,
    pub(super) spec: SessionSpec,
    home: String,
    lifetime: Lifetime,
}

impl Ground {
    /// Finds it. The session must not have ended: its workspace goes with it.
    pub(super) fn of(engine: &Engine, id: &str) -> Result<Self, Fault> {
        let id: SessionId = id.parse()?;
        let (record, lifetime) = engine.lifetime(id)?; // one that sleeps need not wake for this
        let dir = engine.folder.session(id);
        let inside = folder::workspace(&dir);
        let owner = record.host_uid;
        let workspace = Workspace::open(&inside, owner).map_err(|error| cannot(&error))?;
        let home = match record.sandbox {
            SandboxKind::Full => "/workspace".to_owned(),
            SandboxKind::None => inside.to_string_lossy().into_owned(),
        };
        let limits = record.spec.limits.clone();
        Ok(Self { id, workspace, owner, limits, spec: record.spec, home, dir, lifetime })
    }

    /// The workspace's folder on the host. Only to measure it.
    pub(super) fn workspace_folder(&self) -> PathBuf {
        folder::workspace(&self.dir)
    }

    /// Whether work on its trees is to stop.
    pub(super) fn is_over(&self) -> bool {
        self.lifetime.is_over()
    }

    /// Understands the path of anything in it.
    pub(super) fn path(&self, path: &[u8]) -> Result<WorkspacePath, Fault> {
        Ok(WorkspacePath::any(path, &self.home)?)
    }

    /// What its workspace and its snapshots use of the disk.
    pub(super) fn used_bytes(&self) -> Result<u64, Fault> {
        let usage = tree::measure(&folder::workspace(&self.dir)).map_err(|error| cannot(&error))?;
        Ok(usage.bytes + super::snapshots::kept_bytes(&self.dir))
    }

    /// A new folder of a stage, for things that are to be moved into the workspace.
    pub(super) fn project_tree(&self, stage: &Stage, name: &str) -> Result<Workspace, Fault> {
        let tree = stage.tree(name, self.owner)?;
        self.workspace.share_project(&tree).map_err(|error| cannot(&error))?;
        Ok(tree)
    }

    /// Lets the kernel keep a second copy of the workspace for a moment, until the limits are set again.
    pub(super) fn make_room_for_two(&self) {
        self.lifetime.raise_disk(&self.dir, &self.limits);
    }

    /// How much more it may have on the disk.
    pub(super) fn free_bytes(&self) -> Result<u64, Fault> {
        let limit = self.limits.disk_bytes.unwrap_or(u64::MAX);
        Ok(limit.saturating_sub(self.used_bytes()?))
    }
}

/// Where things are made in a session's folder before its programs see them. What a killed worker leaves there the next
/// one removes.
pub(super) fn staging(session: &Path) -> PathBuf {
    session.join("staging")
}

/// A folder of its own in there, which goes when this is dropped.
#[derive(Debug)]
pub(super) struct Stage(PathBuf);

impl Stage {
    /// A new one, on the same file system as the workspace.
    pub(super) fn new(session: &Path) -> Result<Self, Fault> {
        let path = staging(session).join(ExecutionId::random().to_string());
        make_private(&path).map_err(|error| cannot(&error))?;
        Ok(Self(path))
    }

    /// One that is there.
    pub(super) const fn at(path: PathBuf) -> Self {
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// A new folder in it, for things of this owner.
    pub(super) fn tree(&self, name: &str, owner: Option<u32>) -> Result<Workspace, Fault> {
        let path = self.0.join(name);
        make_private(&path).and_then(|()| Workspace::open(&path, owner)).map_err(|error| cannot(&error))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Err(error) = tree::remove(&self.0) {
            tracing::warn!(dir = %self.0.display(), %error, "a staging folder cannot be removed");
        }
    }
}

/// The disk of the data folder failed us.
pub(super) fn cannot(error: &io::Error) -> Fault {
    Fault::of_disk(format!("the session's folder cannot be used: {error}"), error)
        .hint("is there room on the disk of the data folder?")
}
