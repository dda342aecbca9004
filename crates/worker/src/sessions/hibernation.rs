//! Sessions that sleep: nothing of theirs runs and their workspaces are kept. The next use wakes one: a new init behind new
//! walls, on the old workspace, as the same host user.
//!
//! A session sleeps when it was idle for long, and also when its init went without being told to: it was killed, or the
//! host was started again. So a workspace lasts until its session is ended.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater_contract::{Fault, FaultKind, v1};
use headwater_protocol::{Session as Told, SessionId, SessionState};

use crate::clock::now_ms;
use crate::engine::{Engine, cannot_record, changed};
use crate::layout::SessionRecord;
use crate::sessions::cleanup;
use crate::sessions::pool;
use crate::sessions::session::{self, Parts, Session, StartGuard};
use crate::usage::disk::{self, Measured};

/// A session that sleeps.
#[derive(Debug, Clone)]
pub(crate) struct Asleep {
    /// What is remembered of it.
    pub(crate) record: SessionRecord,
    /// When it was last used, as far as is known.
    pub(crate) used_at: Instant,
    /// Bytes of its workspace and its snapshots, once they were measured; and of its snapshots alone.
    pub(crate) disk_bytes: Option<(u64, u64)>,
}

impl Asleep {
    /// As told to others.
    pub(crate) fn told(&self) -> Told {
        Told { state: SessionState::Hibernated, ..session::told(&self.record, 0) }
    }

    /// Whether it was to end by itself before now.
    pub(crate) fn is_too_long(&self) -> bool {
        let timeout = self.record.spec.idle_timeout_ms.map(Duration::from_millis);
        timeout.is_some_and(|timeout| self.used_at.elapsed() > timeout)
    }
}

/// What a session that sleeps uses of the disk, if that is limited. One that is over its limit is not woken: nothing may
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

impl Engine {
    /// A session that can run things, held awake; one that sleeps is woken first.
    pub(crate) async fn awake(&self, id: SessionId) -> Result<(Arc<Session>, StartGuard), Fault> {
        loop {
            if self.pool.is_closed() {
                return Err(stopping());
            }
            match self.live_session(id) {
                Ok(session) => match session.enter().await {
                    Some(inside) => return Ok((session, inside)),
                    None => session.until_gone().await, // on its way to sleep, or to its end
                },
                Err(fault) if self.asleep(id).is_none() => return Err(fault),
                Err(_) => self.wake(id).await?,
            }
        }
    }

    async fn wake(&self, id: SessionId) -> Result<(), Fault> {
        let _turn = self.session_turn(id).await;
        let Some(Asleep { record, .. }) = self.asleep(id) else {
            return Ok(()); // somebody was faster
        };
        self.has_its_sandbox(&record)?;
        // The operator may have thought better of it meanwhile.
        self.network.permit(record.spec.network, self.config.sandbox)?;
        let engine = self.weak().upgrade().ok_or_else(stopping)?;
        let made = tokio::task::spawn_blocking(move || {
            let disk = measured(&engine, &record)?;
            pool::revive(&engine, record).map(|parts| Parts { disk, ..parts })
        });
        let parts = made.await.map_err(|_| stopping())??;
        let session = self.bring_up(parts).map_err(|error| cannot_record(&error))?;
        self.take_asleep(id);
        self.listen_to(&session);
        tracing::info!(session = %id, "session woken");
        Ok(())
    }

    /// Refuses to wake a session under another sandbox than it was made with: its files belong to another user, and what
    /// its owner was told about its walls would be false.
    fn has_its_sandbox(&self, record: &SessionRecord) -> Result<(), Fault> {
        let (was, is) = (record.sandbox, self.config.sandbox);
        if was == is {
            return Ok(());
        }
        let message = format!(
            "the session `{}` was made with the sandbox `{}`, and this worker has `{}`",
            record.id,
            was.name(),
            is.name()
        );
        Err(Fault::new(FaultKind::Conflict, message)
            .hint("its files can be read; ask the operator to start the worker with the other sandbox"))
    }

    /// Hibernates every awake session, and starts nothing from now on. Sessions made for one execution, or for a build,
    /// end: their programs get the same warning.
    pub(crate) async fn hibernate_all(&self) -> v1::ShutdownResponse {
        self.pool.close();
        let sessions = self.live_sessions();
        let running = sessions.iter().map(|session| session.told().running).sum();
        let warning = self.config.hibernation.warning;
        let each = sessions.iter().map(|session| async move {
            if self.no_build(session.id()).is_err() {
                session.end().await;
            } else {
                session.hibernate(warning).await;
            }
        });
        futures_util::future::join_all(each).await;
        let asleep = sessions.iter().filter(|session| self.asleep(session.id()).is_some()).count();
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        v1::ShutdownResponse {
            hibernated: number(asleep),
            ended: number(sessions.len() - asleep),
            executions: running,
        }
    }

    /// Puts a session to sleep now, unless somebody starts something in it at this moment.
    pub(crate) async fn hibernate(&self, id: SessionId) -> Result<Told, Fault> {
        self.no_build(id)?;
        if self.asleep(id).is_none() {
            let session = self.live_session(id)?;
            if session.record().spec.one_shot {
                let fault = Fault::new(FaultKind::Conflict, "a session made for one execution ends with it");
                return Err(fault.hint("cancel the execution instead"));
            }
            session.hibernate_unless_starting(self.config.hibernation.warning).await;
        }
        let told = self.session(id)?;
        if told.state == SessionState::Ready {
            let fault = Fault::new(FaultKind::Conflict, format!("the session `{id}` is in use"));
            return Err(fault.hint("ask again"));
        }
        Ok(told)
    }

    /// Ends a session that sleeps, if it does.
    pub(crate) async fn end_asleep(&self, id: SessionId) {
        let _turn = self.session_turn(id).await;
        if let Some(asleep) = self.take_asleep(id) {
            self.end_taken(asleep).await;
        }
    }

    /// Ends a session that has slept for longer than it may, unless somebody has used it meanwhile.
    pub(crate) async fn end_slept_too_long(&self, id: SessionId) {
        let _turn = self.session_turn(id).await;
        if let Some(asleep) = self.take_slept_too_long(id) {
            tracing::info!(session = %id, "session idle for too long");
            self.end_taken(asleep).await;
        }
    }

    async fn end_taken(&self, Asleep { mut record, .. }: Asleep) {
        let id = record.id;
        let dir = self.folder.session(id);
        record.ended_at_ms = Some(now_ms());
        if let Err(error) = record.write(&dir) {
            tracing::error!(session = %id, %error, "the session's end cannot be recorded");
        }
        // It does not panic; a worker that stops meanwhile leaves the rest to whoever forgets the session.
        let _ = tokio::task::spawn_blocking(move || cleanup::remove_workspace(&dir)).await;
        self.free_uid(record.host_uid);
        self.add_ended(record);
    }

    /// Changes a session that sleeps; its limits are set when it wakes.
    pub(crate) fn update_asleep(
        &self,
        asleep: Asleep,
        change: v1::UpdateSessionRequest,
    ) -> Result<Told, Fault> {
        let spec = changed(asleep.record.spec.clone(), change)?;
        let record = SessionRecord { spec, ..asleep.record };
        record.write(&self.folder.session(record.id)).map_err(|error: io::Error| cannot_record(&error))?;
        let asleep = Asleep { record, ..asleep };
        let told = asleep.told();
        self.put_asleep(asleep);
        Ok(told)
    }
}

fn stopping() -> Fault {
    Fault::new(FaultKind::Unavailable, "the worker is stopping").hint("ask again when it runs again")
}
