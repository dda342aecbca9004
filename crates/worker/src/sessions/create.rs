//! Creating a session: a prepared one of the pool gets an id, limits, a record and its place in the table.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::{Limits, Session as SessionInfo, SessionId, SessionSpec, now_ms};
use headwater_sandbox::link;

use crate::engine::Engine;
use crate::layout::SessionRecord;
use crate::sessions::place;
use crate::sessions::pool::{self, Prepared};
use crate::sessions::session::{self, Parts, Session};
use crate::usage::disk::Measured;

/// Creates a session, or returns the one that has this id already.
pub(crate) async fn create(
    engine: &Engine,
    id: Option<SessionId>,
    spec: SessionSpec,
) -> Result<SessionInfo, Fault> {
    spec.check()?;
    let id = id.unwrap_or_else(SessionId::random);
    let _lock = engine.sessions.lock(id).await;
    match engine.sessions.info(id) {
        Err(fault) if fault.kind == FaultKind::NotFound => {}
        other => return other,
    }
    // Checked only for a new session: a caller that repeats its request would take a refusal to mean that the session was
    // never created.
    check_limits(engine, &spec.limits)?;
    place::permit(engine, &spec)?;
    let mut spec = spec;
    place::mark(&mut spec);
    let prepared = match spec.place {
        Some(_) => in_place(engine, &spec).await?,
        None => engine.pool.take(engine, spec.network).await?,
    };
    let session = hand_out(engine, prepared, id, spec)?;
    listen_to(engine, &session);
    engine.pool.refill(engine);
    Ok(session.info())
}

async fn in_place(engine: &Engine, spec: &SessionSpec) -> Result<Prepared, Fault> {
    let stopping = || Fault::new(FaultKind::Unavailable, "the worker is stopping");
    let engine = engine.weak().upgrade().filter(|engine| !engine.pool.is_closed()).ok_or_else(stopping)?;
    let spec = spec.clone();
    tokio::task::spawn_blocking(move || pool::launch_in_place(&engine, &spec))
        .await
        .map_err(|_| stopping())?
}

/// Refuses limits above those that the operator allows.
pub(crate) fn check_limits(engine: &Engine, limits: &Limits) -> Result<(), Fault> {
    match limits.above(&engine.config.max_limits) {
        None => Ok(()),
        Some(above) => Err(Fault::new(FaultKind::Invalid, above)
            .hint("request less, or ask the operator to raise `max_limits`")),
    }
}

/// Turns a prepared session into the one with this id.
pub(crate) fn hand_out(
    engine: &Engine,
    prepared: Prepared,
    id: SessionId,
    spec: SessionSpec,
) -> Result<Arc<Session>, Fault> {
    let (dir, record) = match claim(engine, &prepared, id, spec) {
        Ok(claimed) => claimed,
        Err(fault) => {
            if let Some(engine) = engine.weak().upgrade() {
                pool::discard_later(engine, prepared);
            }
            return Err(fault);
        }
    };
    let Prepared { link, init, cgroup, spare, descriptors, .. } = prepared;
    let disk = Some(Measured::empty(&dir));
    bring_up(engine, Parts { dir, record, link, init, cgroup, spare, disk, descriptors })
        .map_err(|error| cannot_record(&error))
}

/// Sets the limits of a prepared session, writes its record, and moves its folder to its place.
fn claim(
    engine: &Engine,
    prepared: &Prepared,
    id: SessionId,
    spec: SessionSpec,
) -> Result<(PathBuf, SessionRecord), Fault> {
    let spec = SessionSpec { limits: place::limits(&spec, &engine.config.limits), ..spec };
    if let (Some(cgroup), true) = (&prepared.cgroup, spec.limits != engine.config.limits) {
        cgroup.set_limits(&spec.limits).map_err(|error| {
            Fault::new(FaultKind::Unavailable, format!("cannot set the session's limits: {error}"))
        })?;
    }
    if spec.limits != engine.config.limits {
        engine.projects.limit(&prepared.dir, || Some(spec.limits.clone()));
    }
    let is_the_persons = place::is_the_persons(&spec);
    let record = SessionRecord {
        id,
        sandbox: place::sandbox_of(&spec, engine.config.sandbox),
        spec,
        created_at_ms: now_ms(),
        ended_at_ms: None,
        slot: prepared.slot,
        host_uid: prepared.host_uid,
        cgroup: prepared.cgroup_name.clone(),
        tools: engine.tools.exist() && !is_the_persons,
        place: prepared.place.clone(),
    };
    let dir = engine.folder.session(id);
    record.write(&prepared.dir).map_err(|error| cannot_record(&error))?;
    fs::rename(&prepared.dir, &dir).map_err(|error| cannot_record(&error))?;
    Ok((dir, record))
}

/// Puts a session together and into the table. It receives nothing from its init before [`listen_to`].
pub(crate) fn bring_up(engine: &Engine, parts: Parts) -> io::Result<Arc<Session>> {
    let _within = engine.io_runtime.enter();
    if let Some(listen) = session::outlet_message(parts.record.spec.network) {
        // Before a program can be started in it. If this fails the link is broken, which `listen` notices.
        let _ = link::send(parts.link.as_fd(), &listen, &[]);
    }
    let session = Session::new(parts, engine.weak())?;
    engine.sessions.set_live(&session);
    Ok(session)
}

/// Begins to receive what the session's init sends. Adopted executions must be in the table before.
pub(crate) fn listen_to(engine: &Engine, session: &Arc<Session>) {
    engine.io_runtime.spawn(Arc::clone(session).listen());
}

/// The session's record cannot be written.
pub(crate) fn cannot_record(error: &io::Error) -> Fault {
    Fault::of_disk(format!("cannot record the session: {error}"), error)
        .hint("check the free space of the disk that holds the data folder")
}
