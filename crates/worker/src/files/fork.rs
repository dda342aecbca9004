//! Forks a session: a new session with a copy of its workspace. The copy is written to a prepared session before it
//! becomes the new one, so the new session appears only when its workspace is complete.

use std::sync::Arc;

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::{Session as SessionInfo, SessionId, SessionSpec, SnapshotId};
use headwater_workspace::Workspace;

use super::copy::copy;
use super::snapshots::{start_manifest, tree_of};
use crate::detached::blocking;
use crate::engine::Engine;
use crate::files::open_workspace::{OpenWorkspace, disk_fault};
use crate::layout;
use crate::sessions::create;
use crate::sessions::pool::{Prepared, discard_later};

/// The session to create by a fork.
#[derive(Debug)]
pub(crate) struct ForkSpec {
    pub(crate) from: SessionId,
    pub(crate) id: SessionId,
    pub(crate) snapshot: Option<SnapshotId>,
    pub(crate) spec: SessionSpec,
}

/// Creates the session, or returns the existing one with this id.
pub(crate) async fn fork(engine: &Arc<Engine>, fork: ForkSpec) -> Result<SessionInfo, Fault> {
    fork.spec.check()?;
    let _lock = engine.sessions.lock(fork.id).await;
    match engine.sessions.info(fork.id) {
        Err(fault) if fault.kind == FaultKind::NotFound => {}
        other => return other,
    }
    engine.network.permit(fork.spec.network, engine.config.sandbox)?;
    let prepared = engine.pool.take(engine, fork.spec.network).await?;
    let filling = Arc::clone(engine);
    let work = move || {
        let filled = fill(&filling, &fork, &prepared);
        Ok((prepared, fork, filled))
    };
    let (prepared, fork, filled) = blocking(work).await?;
    if let Err(fault) = filled {
        discard_later(Arc::clone(engine), prepared);
        return Err(fault);
    }
    let session = create::hand_out(engine, prepared, fork.id, fork.spec)?;
    session.gauge().set(None); // unlike other new sessions it is not empty
    create::listen_to(engine, &session);
    engine.pool.refill(engine);
    Ok(session.info())
}

/// Copies the workspace, or a snapshot of it, and stores the manifest as the start of the new session.
fn fill(engine: &Arc<Engine>, fork: &ForkSpec, prepared: &Prepared) -> Result<(), Fault> {
    let open = OpenWorkspace::open(engine, fork.from)?;
    let source = match fork.snapshot {
        Some(id) => &tree_of(&open.dir, id)?,
        None => &open.workspace,
    };
    let to = Workspace::open(&layout::workspace(&prepared.dir), prepared.host_uid)
        .map_err(|error| disk_fault(&error))?;
    engine.projects.limit(&prepared.dir, || Some(fork.spec.limits.clone()));
    let limit = fork.spec.limits.disk_bytes.unwrap_or(u64::MAX);
    let manifest = copy(source, &to, limit, &|| open.is_over())?;
    manifest.write(&start_manifest(&prepared.dir)).map_err(|error| disk_fault(&error))
}
