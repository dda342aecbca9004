//! What one session uses now, with its limits.

use std::sync::Arc;

use headwater_contract::Fault;
use headwater_protocol::{SessionId, SessionUsage};
use headwater_sandbox::cgroup::SessionCgroup;

use crate::detached::blocking;
use crate::engine::Engine;
use crate::sessions::hibernation::Hibernated;
use crate::sessions::janitor;
use crate::sessions::session::Session;
use crate::sessions::table::Active;
use crate::usage::processes;

/// The current usage of a session. Does not count as a use of it: it neither resumes the session nor keeps it awake.
pub(crate) async fn current(engine: &Arc<Engine>, id: SessionId) -> Result<SessionUsage, Fault> {
    match engine.sessions.active(id)? {
        Active::Live(session) => {
            janitor::refresh_disk_use(engine, &session).await;
            blocking(move || Ok(of_live(&session))).await
        }
        Active::Hibernated(hibernated) => {
            let engine = Arc::clone(engine);
            blocking(move || Ok(of_hibernated(&engine, &hibernated))).await
        }
    }
}

/// Blocks for a moment.
fn of_live(session: &Session) -> SessionUsage {
    let cgroup = session.cgroup();
    SessionUsage {
        hibernated: false,
        memory_bytes: cgroup.and_then(SessionCgroup::memory_current),
        // Without a cgroup its processes are not known.
        cpu_ms: cgroup.map(|_| processes::measure(session).cpu_ms),
        pids: cgroup.and_then(SessionCgroup::pids_current),
        disk_bytes: session.gauge().last().map(|last| last.bytes()),
        limits: session.record().spec.limits.clone(),
    }
}

/// Blocks if its workspace has to be measured.
fn of_hibernated(engine: &Engine, hibernated: &Hibernated) -> SessionUsage {
    SessionUsage {
        hibernated: true,
        memory_bytes: Some(0),
        cpu_ms: Some(0),
        pids: Some(0),
        disk_bytes: Some(processes::hibernated_disk_use(engine, hibernated).0),
        limits: hibernated.record.spec.limits.clone(),
    }
}
