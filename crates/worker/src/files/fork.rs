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
use crate::sessions::pool::{Prepared, discard_later};

/// What the new one is to be.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) from: SessionId,
    pub(crate) id: SessionId,
    pub(crate) snapshot: Option<SnapshotId>,
    pub(crate) spec: SessionSpec,
}

impl Engine {
    /// Makes it, or answers with the one that has this id already.
    pub(crate) async fn fork_session(self: &Arc<Self>, order: Order) -> Result<Told, Fault> {
        order.spec.check()?;
        let _turn = self.session_turn(order.id).await;
        match self.session(order.id) {
            Err(fault) if fault.kind == FaultKind::NotFound => {}
            other => return other,
        }
        self.network.permit(order.spec.network, self.config.sandbox)?;
        let prepared = self.pool.take(self, order.spec.network).await?;
        let engine = Arc::clone(self);
        let work = move || {
            let filled = fill(&engine, &order, &prepared);
            Ok((prepared, order, filled))
        };
        let (prepared, order, filled) = blocking(work).await?;
        if let Err(fault) = filled {
            discard_later(Arc::clone(self), prepared);
            return Err(fault);
        }
        let session = self.hand_out(prepared, order.id, order.spec)?;
        session.gauge().set(None); // it is not empty, as new sessions are
        self.listen_to(&session);
        self.pool.refill(self);
        Ok(session.told())
    }
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
