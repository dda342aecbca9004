//! The end of sessions: on request, by the idle timeout of a hibernated one, and the removal of what is left of them.

use std::io;
use std::path::Path;
use std::time::Duration;

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::{Session as SessionInfo, SessionId, now_ms};
use headwater_workspace::tree;

use crate::engine::Engine;
use crate::layout::SessionRecord;
use crate::sessions::cleanup;
use crate::sessions::session::Session;

/// Ends a session; with `forget`, removes every trace of it.
pub(crate) async fn end(engine: &Engine, id: SessionId, forget: bool) -> Result<SessionInfo, Fault> {
    if let Ok(session) = engine.sessions.live(id) {
        session.end().await;
    }
    end_hibernated(engine, id).await;
    let info = engine.sessions.info(id)?;
    if forget {
        remove(engine, id).await?;
    }
    Ok(info)
}

/// Ends a session if it is hibernated.
async fn end_hibernated(engine: &Engine, id: SessionId) {
    let _lock = engine.sessions.lock(id).await;
    if let Some(record) = engine.sessions.begin_removal(id, now_ms()) {
        finish_removal(engine, record).await;
    }
}

/// Ends a hibernated session whose idle timeout has passed, unless it was used meanwhile.
pub(crate) async fn end_expired(engine: &Engine, id: SessionId) {
    let _lock = engine.sessions.lock(id).await;
    if let Some(record) = engine.sessions.begin_removal_if_expired(id, now_ms()) {
        tracing::info!(session = %id, "hibernated session ended: its idle timeout has passed");
        finish_removal(engine, record).await;
    }
}

async fn finish_removal(engine: &Engine, record: SessionRecord) {
    let dir = engine.folder.session(record.id);
    if let Err(error) = record.write(&dir) {
        tracing::error!(session = %record.id, %error, "cannot record the session's end");
    }
    // It does not panic. If the worker stops meanwhile, the rest is removed together with the session's folder.
    let _ = tokio::task::spawn_blocking(move || cleanup::remove_workspace(&dir)).await;
    engine.host_users.free(record.host_uid);
    engine.sessions.set_ended(record);
}

/// The end of a live session: its init is gone, its logs are closed, and its workspace is removed.
pub(crate) fn live_has_ended(engine: &Engine, session: &Session) {
    let record = {
        let mut record = session.record();
        record.ended_at_ms = Some(now_ms());
        if let Err(error) = record.write(session.dir()) {
            tracing::error!(session = %record.id, %error, "cannot record the session's end");
        }
        record.clone()
    };
    engine.host_users.free(record.host_uid);
    tracing::info!(session = %record.id, "session ended");
    engine.sessions.set_ended(record);
}

async fn remove(engine: &Engine, id: SessionId) -> Result<(), Fault> {
    if engine.sessions.live(id).is_ok() {
        return Err(Fault::new(FaultKind::Unavailable, format!("the session `{id}` does not end")));
    }
    let dir = engine.folder.session(id);
    let removed = tokio::task::spawn_blocking(move || remove_folder(&dir)).await.map_err(io::Error::other);
    removed.and_then(|removed| removed).map_err(|error| {
        Fault::new(FaultKind::Unavailable, format!("cannot remove the session `{id}`: {error}"))
    })?;
    engine.executions.remove_of_session(id);
    engine.sessions.remove_ended(&[id]);
    engine.retention.forget(id);
    Ok(())
}

/// Removes the folders of sessions that ended at least this long ago and have no log left. Blocks.
pub(crate) fn remove_empty(engine: &Engine, after: Duration) {
    let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
    let mut empty = engine.sessions.ended_by(now_ms().saturating_sub(after_ms));
    // In this order: an execution that comes into the table while this runs keeps its session.
    let with_logs = engine.executions.session_ids();
    empty.retain(|id| !with_logs.contains(id));
    engine.sessions.remove_ended(&empty);
    for id in empty {
        if let Err(error) = remove_folder(&engine.folder.session(id)) {
            tracing::warn!(session = %id, %error, "cannot remove the folder of an ended session");
        }
    }
}

/// The record goes first: if the worker is killed meanwhile, the next one removes a folder without a record.
fn remove_folder(dir: &Path) -> io::Result<()> {
    SessionRecord::remove(dir)?;
    tree::remove(dir)
}
