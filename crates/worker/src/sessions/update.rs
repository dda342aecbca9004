//! Changing a session: its name, limits, idle timeout and metadata.

use headwater_contract::{Fault, FaultKind, v1};
use headwater_protocol::{Limits, Session as SessionInfo, SessionId, SessionSpec};

use crate::builds::reserved;
use crate::engine::Engine;
use crate::layout::SessionRecord;
use crate::sessions::create::{cannot_record, check_limits};
use crate::sessions::hibernation::Hibernated;
use crate::sessions::place;

/// Changes a session that has not ended.
pub(crate) async fn update(
    engine: &Engine,
    id: SessionId,
    change: v1::UpdateSessionRequest,
) -> Result<SessionInfo, Fault> {
    reserved::refuse_build(engine, id)?;
    if let Some(limits) = change.limits {
        check_limits(engine, &limits.into())?;
    }
    if engine.sessions.is_hibernated(id) {
        // It is neither resumed nor ended meanwhile.
        let _lock = engine.sessions.lock(id).await;
        if let Some(hibernated) = engine.sessions.hibernated(id) {
            return update_hibernated(engine, hibernated, change);
        }
    }
    update_live(engine, id, change)
}

fn update_live(
    engine: &Engine,
    id: SessionId,
    change: v1::UpdateSessionRequest,
) -> Result<SessionInfo, Fault> {
    let session = engine.sessions.live(id)?;
    // Held to the end: two changes at the same time, or a change and the session's end, must not overwrite each other.
    let mut current = session.record();
    let spec = changed(current.spec.clone(), change)?;
    if let Some(cgroup) = session.cgroup() {
        cgroup.set_limits(&spec.limits).map_err(|error| {
            Fault::new(FaultKind::Invalid, format!("cannot change the session's limits: {error}"))
                .hint("a memory limit cannot be lower than what is in use")
        })?;
    }
    let record = SessionRecord { spec, ..current.clone() };
    record.write(session.dir()).map_err(|error| cannot_record(&error))?;
    *current = record;
    drop(current);
    enforce_disk_limit(engine, id);
    Ok(session.info())
}

/// The new limits are set when the session is resumed.
fn update_hibernated(
    engine: &Engine,
    hibernated: Hibernated,
    change: v1::UpdateSessionRequest,
) -> Result<SessionInfo, Fault> {
    let spec = changed(hibernated.record.spec.clone(), change)?;
    let hibernated = Hibernated { record: SessionRecord { spec, ..hibernated.record }, ..hibernated };
    let dir = engine.folder.session(hibernated.record.id);
    hibernated.record.write(&dir).map_err(|error| cannot_record(&error))?;
    let info = hibernated.info();
    engine.sessions.update_hibernated(hibernated.record);
    Ok(info)
}

/// Has the kernel enforce how much a session may store, after its limits or its snapshots have changed.
pub(crate) fn enforce_disk_limit(engine: &Engine, id: SessionId) {
    let limits = || engine.sessions.with_spec(id, |spec| spec.limits.clone()).ok();
    engine.projects.limit(&engine.folder.session(id), limits);
}

/// The spec after a change.
fn changed(mut spec: SessionSpec, change: v1::UpdateSessionRequest) -> Result<SessionSpec, Fault> {
    spec.name = change.name.or(spec.name);
    if let Some(limits) = change.limits {
        spec.limits = Limits::from(limits).or(&spec.limits);
    }
    if let Some(ms) = change.idle_timeout_ms {
        spec.idle_timeout_ms = (ms > 0).then_some(ms);
    }
    for (name, value) in change.metadata {
        if value.is_empty() {
            spec.metadata.remove(&name);
        } else {
            spec.metadata.insert(name, value);
        }
    }
    reserved::strip(&mut spec);
    place::mark(&mut spec);
    spec.check()?;
    Ok(spec)
}
