//! Hibernated sessions: nothing runs in them, and their workspaces are kept. The next use resumes one: a new init in a new
//! sandbox, on the old workspace, as the same host user.
//!
//! A session is hibernated when it was idle for long enough, on request, and when its init ended without a request: it was
//! killed, or the host was restarted. So a workspace exists until its session is ended.

use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater_contract::{Fault, FaultKind, v1};
use headwater_protocol::{Session as SessionInfo, SessionId, SessionState};

use crate::builds::reserved;
use crate::engine::Engine;
use crate::layout::SessionRecord;
use crate::sessions::create;
use crate::sessions::place;
use crate::sessions::pool;
use crate::sessions::session::{self, Parts, Session, StartGuard};
use crate::usage::disk::{self, Measured};

/// A hibernated session.
#[derive(Debug, Clone)]
pub(crate) struct Hibernated {
    /// Its record, as it is on the disk.
    pub(crate) record: SessionRecord,
    /// When it was last used, as far as is known.
    pub(crate) used_at: Instant,
    /// Bytes of its workspace and its snapshots together, and of its snapshots alone, once they were measured.
    pub(crate) disk_bytes: Option<(u64, u64)>,
}

impl Hibernated {
    /// A session that was last used at this time.
    pub(crate) const fn new(record: SessionRecord, used_at: Instant) -> Self {
        Self { record, used_at, disk_bytes: None }
    }

    /// The session as the contract describes it.
    pub(crate) fn info(&self) -> SessionInfo {
        SessionInfo { state: SessionState::Hibernated, ..session::info(&self.record, 0) }
    }

    /// Whether its idle timeout has passed.
    pub(crate) fn is_expired(&self) -> bool {
        let timeout = self.record.spec.idle_timeout_ms.map(Duration::from_millis);
        timeout.is_some_and(|timeout| self.used_at.elapsed() > timeout)
    }
}

/// Returns a session in which programs can be started, after resuming it if it is hibernated. It is not hibernated while
/// the guard is held.
pub(crate) async fn resumed(engine: &Engine, id: SessionId) -> Result<(Arc<Session>, StartGuard), Fault> {
    loop {
        if engine.pool.is_closed() {
            return Err(stopping());
        }
        match engine.sessions.live(id) {
            Ok(session) => match session.enter().await {
                Some(guard) => return Ok((session, guard)),
                None => session.until_gone().await, // about to be hibernated, or to end
            },
            Err(fault) if !engine.sessions.is_hibernated(id) => return Err(fault),
            Err(_) => resume(engine, id).await?,
        }
    }
}

async fn resume(engine: &Engine, id: SessionId) -> Result<(), Fault> {
    let _lock = engine.sessions.lock(id).await;
    let Some(Hibernated { record, .. }) = engine.sessions.hibernated(id) else {
        return Ok(()); // another caller was faster
    };
    check_sandbox(engine, &record)?;
    // The operator may have changed the rules meanwhile.
    place::permit(engine, &record.spec)?;
    let launching = engine.weak().upgrade().ok_or_else(stopping)?;
    let launched = tokio::task::spawn_blocking(move || {
        let disk = measured(&launching, &record)?;
        pool::relaunch(&launching, record).map(|parts| Parts { disk, ..parts })
    });
    let parts = launched.await.map_err(|_| stopping())??;
    let session = create::bring_up(engine, parts).map_err(|error| create::cannot_record(&error))?;
    create::listen_to(engine, &session);
    tracing::info!(session = %id, "session resumed");
    Ok(())
}

/// Refuses to resume a session in another sandbox than it was created with: its files belong to another user, and the
/// isolation that its owner was promised would not be there.
fn check_sandbox(engine: &Engine, record: &SessionRecord) -> Result<(), Fault> {
    let (then, now) = (record.sandbox, place::sandbox_of(&record.spec, engine.config.sandbox));
    if then == now {
        return Ok(());
    }
    let message = format!(
        "the session `{}` was created with the sandbox `{}`, and this worker has `{}`",
        record.id,
        then.name(),
        now.name()
    );
    Err(Fault::new(FaultKind::Conflict, message)
        .hint("its files can be read; ask the operator to start the worker with the other sandbox"))
}

/// What a hibernated session uses of the disk, if that is limited. A session over its limit is not resumed: nothing may
/// start in it. Blocks.
fn measured(engine: &Engine, record: &SessionRecord) -> Result<Option<Measured>, Fault> {
    let limits = &record.spec.limits;
    if !disk::is_limited(limits) {
        return Ok(None);
    }
    let measured = Measured::now(&engine.folder.session(record.id), None).map_err(|error| {
        Fault::new(FaultKind::Unavailable, format!("cannot measure the workspace: {error}"))
    })?;
    measured.refuse_if_over(limits)?;
    Ok(Some(measured))
}

/// The hibernation of a live session: its init is gone, its logs are closed, and its workspace is kept.
pub(crate) fn live_is_hibernated(engine: &Engine, session: &Session) {
    let hibernated = Hibernated::new(session.record().clone(), session.used_at());
    tracing::info!(session = %session.id(), "session hibernated");
    engine.sessions.set_hibernated(hibernated);
}

/// Hibernates every live session, and starts nothing from now on. Sessions of one-shots and of builds end: their programs
/// get the same warning.
pub(crate) async fn hibernate_all(engine: &Engine) -> v1::ShutdownResponse {
    engine.pool.close();
    let sessions = engine.sessions.all_live();
    let executions = sessions.iter().map(|session| session.info().running).sum();
    let warning = engine.config.hibernation.warning;
    let each = sessions.iter().map(|session| async move {
        if reserved::refuse_build(engine, session.id()).is_err() {
            session.end().await;
        } else {
            session.hibernate(warning).await;
        }
    });
    futures_util::future::join_all(each).await;
    let hibernated = sessions.iter().filter(|session| engine.sessions.is_hibernated(session.id())).count();
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    v1::ShutdownResponse {
        hibernated: number(hibernated),
        ended: number(sessions.len() - hibernated),
        executions,
    }
}

/// Hibernates a session now, unless something is being started in it at this moment.
pub(crate) async fn hibernate(engine: &Engine, id: SessionId) -> Result<SessionInfo, Fault> {
    reserved::refuse_build(engine, id)?;
    if !engine.sessions.is_hibernated(id) {
        let session = engine.sessions.live(id)?;
        if session.record().spec.one_shot {
            let message = "the session of a one-shot execution is not hibernated: it ends with the execution";
            return Err(Fault::new(FaultKind::Conflict, message).hint("cancel the execution instead"));
        }
        session.hibernate_unless_starting(engine.config.hibernation.warning).await;
    }
    let info = engine.sessions.info(id)?;
    if info.state == SessionState::Ready {
        let fault = Fault::new(FaultKind::Conflict, format!("the session `{id}` is in use"));
        return Err(fault.hint("try again"));
    }
    Ok(info)
}

fn stopping() -> Fault {
    Fault::new(FaultKind::Unavailable, "the worker is stopping").hint("try again when it has restarted")
}
