//! A new session like another, with a copy of its workspace. The copy is made in the prepared session that is to become the
//! new one, so that a session is there either with all of it or not at all.

use std::sync::Arc;

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::{Session as Told, SessionId, SessionSpec, SnapshotId};
use headwater_workspace::Workspace;

use super::copy::copy;
use super::snapshots::{start_manifest, tree_of};
use crate::detached::blocking;
use crate::engine::Engine;
use crate::files::open_workspace::{OpenWorkspace, disk_fault};
use crate::layout;
use crate::sessions::create;
use crate::sessions::pool::{Prepared, discard_later};

/// What the new one is to be.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) from: SessionId,
    pub(crate) id: SessionId,
    pub(crate) snapshot: Option<SnapshotId>,
    pub(crate) spec: SessionSpec,
}

/// Creates it, or returns the session that has this id already.
pub(crate) async fn fork(engine: &Arc<Engine>, order: Order) -> Result<Told, Fault> {
    order.spec.check()?;
    let _lock = engine.sessions.lock(order.id).await;
    match engine.sessions.info(order.id) {
        Err(fault) if fault.kind == FaultKind::NotFound => {}
        other => return other,
    }
    engine.network.permit(order.spec.network, engine.config.sandbox)?;
    let prepared = engine.pool.take(engine, order.spec.network).await?;
    let filling = Arc::clone(engine);
    let work = move || {
        let filled = fill(&filling, &order, &prepared);
        Ok((prepared, order, filled))
    };
    let (prepared, order, filled) = blocking(work).await?;
    if let Err(fault) = filled {
        discard_later(Arc::clone(engine), prepared);
        return Err(fault);
    }
    let session = create::hand_out(engine, prepared, order.id, order.spec)?;
    session.gauge().set(None); // it is not empty, as new sessions are
    create::listen_to(engine, &session);
    engine.pool.refill(engine);
    Ok(session.told())
}

/// Copies the workspace, or a snapshot of it, and notes what was copied as what the new session began with.
fn fill(engine: &Arc<Engine>, order: &Order, prepared: &Prepared) -> Result<(), Fault> {
    let open = OpenWorkspace::open(engine, order.from)?;
    let source = match order.snapshot {
        Some(id) => &tree_of(&open.dir, id)?,
        None => &open.workspace,
    };
    let to = Workspace::open(&layout::workspace(&prepared.dir), prepared.host_uid)
        .map_err(|error| disk_fault(&error))?;
    engine.projects.limit(&prepared.dir, || Some(order.spec.limits.clone()));
    let limit = order.spec.limits.disk_bytes.unwrap_or(u64::MAX);
    let manifest = copy(source, &to, limit, &|| open.is_over())?;
    manifest.write(&start_manifest(&prepared.dir)).map_err(|error| disk_fault(&error))
}
