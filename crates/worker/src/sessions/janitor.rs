//! Looks after the sessions: puts those to sleep that are idle, ends those that have been so for too long, and what runs in
//! those that use more disk than they may.
//!
//! Disk use is measured (`gauge`): when the free space of the disk has shrunk by half of what a session has left, or after
//! a while that grows with the workspace, it is walked. A fast writer can be over its limit by what it writes between two
//! looks; nothing more starts in its session then.

use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater_limits::descriptors;
use headwater_sandbox::wire::Cause;
use tokio::sync::Semaphore;

use crate::engine::Engine;
use crate::sessions::end;
use crate::sessions::idle::Quiet;
use crate::sessions::session::Session;
use crate::usage::disk::{Free, is_limited};

/// Between two looks at all sessions.
const LOOK: Duration = Duration::from_millis(250);
/// Between two looks at the free space of the disk while something runs: a writer through the page cache, at 2 GB/s,
/// writes 50 MB in it.
const GLANCE: Duration = Duration::from_millis(25);
/// If the disk lost this much since the last look, the next one is due at once.
const LOST_BYTES: u64 = 16 << 20;
const LOST_INODES: u64 = 1000;
/// Between two counts of the open descriptors.
const COUNT_DESCRIPTORS: Duration = Duration::from_secs(2);
/// A busy workspace is walked at most so often unless the disk shrinks, ...
const SOON: Duration = Duration::from_secs(1);
/// ... at least so often, ...
const WALK: Duration = Duration::from_secs(15);
/// ... and in between so that walks take no more than this part of the time. The free space alone does not tell: what
/// one session writes another may free.
const REST: u32 = 50;
/// An idle one at least so often.
const IDLE_WALK: Duration = Duration::from_mins(5);
/// A program that filled the disk gets this long to end by itself, unless its session is far over its limit.
const GRACE: Duration = Duration::from_secs(2);
/// Walks at once: a large workspace must not delay the look at another, and all of them must leave processors to others.
const WALKS: usize = 4;

/// Runs until the worker stops.
pub(crate) async fn watch(engine: Arc<Engine>) {
    let mut quiet = Quiet::default();
    let walks = Arc::new(Semaphore::new(WALKS));
    let mut counted: Option<Instant> = None;
    loop {
        if counted.is_none_or(|counted| counted.elapsed() >= COUNT_DESCRIPTORS) {
            descriptors::measure();
            counted = Some(Instant::now());
        }
        let sessions = engine.sessions.all_live();
        quiet.keep(&sessions);
        for id in engine.sessions.expired() {
            end::end_expired(&engine, id).await;
        }
        let free = Free::of(engine.folder.root());
        let busy = sessions.iter().any(|session| session.busy() > 0);
        for session in sessions {
            end_if_idle(&engine, &session);
            if quiet.is_tired(&session, &engine.config.hibernation) {
                let (session, warning) = (Arc::clone(&session), engine.config.hibernation.warning);
                tokio::spawn(async move { session.hibernate_unless_starting(warning).await });
            }
            if is_due(&session, free) {
                tokio::spawn(check_disk(Arc::clone(&engine), session, Arc::clone(&walks)));
            }
        }
        tokio::select! {
            () = engine.stop.cancelled() => return,
            () = next_look(&engine, free, busy) => {}
        }
    }
}

/// Waits until all sessions are to be looked at again: sooner if the disk fills quickly.
async fn next_look(engine: &Engine, before: Free, busy: bool) {
    if !busy {
        return tokio::time::sleep(LOOK).await;
    }
    for _ in 0..LOOK.as_millis() / GLANCE.as_millis() {
        tokio::time::sleep(GLANCE).await;
        let now = Free::of(engine.folder.root());
        if before.bytes.saturating_sub(now.bytes) > LOST_BYTES
            || before.inodes.saturating_sub(now.inodes) > LOST_INODES
        {
            return;
        }
    }
}

fn end_if_idle(engine: &Engine, session: &Arc<Session>) {
    let timeout = session.record().spec.idle_timeout_ms.map(Duration::from_millis);
    let is_idle = timeout.is_some_and(|timeout| session.idle_for() > timeout);
    if is_idle && !session.phase().is_ending() && !engine.sessions.is_in_use(session.id()) {
        tracing::info!(session = %session.id(), "session idle for too long");
        let session = Arc::clone(session);
        tokio::spawn(async move { session.end().await });
    }
}

/// Whether a workspace has to be measured now. Daemons that no execution waits for any more fill disks too, so idle
/// sessions count.
fn is_due(session: &Session, free: Free) -> bool {
    let limits = session.record().spec.limits.clone();
    if !is_limited(&limits) {
        return false;
    }
    let Some(last) = session.gauge().last() else { return true };
    let between_walks = (last.took() * REST).clamp(SOON, WALK);
    let busy = session.busy() > 0;
    // One that is over its limit has nothing left: any change of the disk would look like its own.
    let resting = last.is_over(&limits) && !busy && last.age() < between_walks;
    (last.is_near(&limits, free) && !resting) || last.age() >= if busy { between_walks } else { IDLE_WALK }
}

/// Measures a session, unless somebody does already, and ends what runs in it if it is over its limit.
async fn check_disk(engine: Arc<Engine>, session: Arc<Session>, walks: Arc<Semaphore>) {
    let Some(_turn) = session.gauge().try_turn() else { return };
    let Ok(_place) = walks.acquire().await else { return };
    let walked = tokio::task::spawn_blocking(session.disk_walk()).await;
    // A session that ends meanwhile cannot be measured, and need not be.
    let Ok(Ok(measured)) = walked else { return };
    session.gauge().set(Some(measured));
    let limits = session.record().spec.limits.clone();
    if !measured.is_over(&limits) {
        return;
    }
    let grace = if measured.is_far_over(&limits) { Duration::ZERO } else { GRACE };
    if session.busy() > 0 {
        tracing::warn!(session = %session.id(), bytes = measured.bytes(), "over the disk limit");
    }
    stop_all(&engine, &session, grace).await;
}

/// Stops all executions of a session, those too that have ended and left children behind.
async fn stop_all(engine: &Engine, session: &Session, grace: Duration) {
    for execution in engine.executions.list(Some(session.id())) {
        // A session that is gone has nothing left to stop.
        let _ = session.stop(execution.id(), Cause::DiskLimit, grace).await;
    }
}
