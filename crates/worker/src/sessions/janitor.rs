//! Periodic care for sessions: hibernates idle ones, ends those whose idle timeout has passed, and stops what runs in those
//! that are over their disk limit.
//!
//! Disk use is measured by walking the workspace (`usage::disk`): when the free space of the disk has shrunk by half of
//! what a session has left, or after a time that grows with the workspace. A fast writer can exceed its limit by what it
//! writes between two checks; nothing more starts in its session then.

use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater_limits::descriptors;
use headwater_sandbox::wire::Cause as StopCause;

use crate::engine::Engine;
use crate::sessions::end;
use crate::sessions::hibernation_due::IdleTracker;
use crate::sessions::session::Session;
use crate::usage::disk::{Free, is_limited};

/// Between two checks of all sessions.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// Between two checks of the disk's free space while something runs: a writer through the page cache, at 2 GB/s, writes
/// 50 MB in it.
const FREE_SPACE_INTERVAL: Duration = Duration::from_millis(25);
/// If the disk lost more than this since the last check of all sessions, the next one is due at once.
const FREE_SPACE_LOSS_BYTES: u64 = 16 << 20;
const FREE_SPACE_LOSS_INODES: u64 = 1000;
/// Between two counts of the open descriptors.
const COUNT_DESCRIPTORS_INTERVAL: Duration = Duration::from_secs(2);
/// The workspace of a busy session is walked at least this often, and earlier if the last walk was short. The free space
/// alone is not enough to decide: what one session writes another may delete.
const MAX_WALK_INTERVAL: Duration = Duration::from_secs(15);
/// The workspace of an idle session is walked at least this often.
const IDLE_WALK_INTERVAL: Duration = Duration::from_mins(5);
/// The grace period of programs in a session over its disk limit, unless it is far over.
const OVER_DISK_GRACE: Duration = Duration::from_secs(2);
/// How long a caller waits for a new measurement before it gets the last one.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(2);

/// Runs until the worker stops.
pub(crate) async fn run(engine: Arc<Engine>) {
    let mut idle = IdleTracker::default();
    let mut counted: Option<Instant> = None;
    loop {
        if counted.is_none_or(|counted| counted.elapsed() >= COUNT_DESCRIPTORS_INTERVAL) {
            descriptors::measure();
            counted = Some(Instant::now());
        }
        let sessions = engine.sessions.all_live();
        idle.retain(&sessions);
        for id in engine.sessions.expired() {
            end::end_expired(&engine, id).await;
        }
        let free = Free::of(engine.folder.root());
        let busy = sessions.iter().any(|session| session.busy() > 0);
        for session in sessions {
            end_if_idle_timeout_passed(&engine, &session);
            if idle.should_hibernate(&session, &engine.config.hibernation) {
                let (session, warning) = (Arc::clone(&session), engine.config.hibernation.warning);
                tokio::spawn(async move { session.hibernate_unless_starting(warning).await });
            }
            if is_walk_due(&session, free) {
                tokio::spawn(check_disk(Arc::clone(&engine), session));
            }
        }
        tokio::select! {
            () = engine.stop.cancelled() => return,
            () = until_next_check(&engine, free, busy) => {}
        }
    }
}

/// Waits until the next check of all sessions, which is due earlier if the disk fills quickly.
async fn until_next_check(engine: &Engine, before: Free, busy: bool) {
    if !busy {
        return tokio::time::sleep(CHECK_INTERVAL).await;
    }
    for _ in 0..CHECK_INTERVAL.as_millis() / FREE_SPACE_INTERVAL.as_millis() {
        tokio::time::sleep(FREE_SPACE_INTERVAL).await;
        let now = Free::of(engine.folder.root());
        if before.bytes.saturating_sub(now.bytes) > FREE_SPACE_LOSS_BYTES
            || before.inodes.saturating_sub(now.inodes) > FREE_SPACE_LOSS_INODES
        {
            return;
        }
    }
}

fn end_if_idle_timeout_passed(engine: &Engine, session: &Arc<Session>) {
    let timeout = session.record().spec.idle_timeout_ms.map(Duration::from_millis);
    let has_passed = timeout.is_some_and(|timeout| session.idle_for() > timeout);
    if has_passed && !session.phase().is_ending() && !engine.sessions.is_in_use(session.id()) {
        tracing::info!(session = %session.id(), "session ends: its idle timeout has passed");
        let session = Arc::clone(session);
        tokio::spawn(async move { session.end().await });
    }
}

/// Whether a workspace has to be measured now. Idle sessions are measured too: daemons whose execution is closed can fill
/// a disk.
fn is_walk_due(session: &Session, free: Free) -> bool {
    let limits = session.record().spec.limits.clone();
    if !is_limited(&limits) {
        return false;
    }
    let Some(last) = session.gauge().last() else { return true };
    let interval = last.max_age().min(MAX_WALK_INTERVAL);
    let busy = session.busy() > 0;
    // A session over its limit has nothing left: any change of the disk would look like its own.
    let waits = last.is_over(&limits) && !busy && last.age() < interval;
    (last.is_near(&limits, free) && !waits) || last.age() >= if busy { interval } else { IDLE_WALK_INTERVAL }
}

/// Measures a session whose last measurement is old. Returns after a while even if that takes longer.
///
/// This is a check like the periodic one: a new measurement that nobody compared with the limit would delay that one.
pub(crate) async fn refresh_disk_use(engine: &Arc<Engine>, session: &Arc<Session>) {
    if session.gauge().last().is_some_and(|last| last.age() < last.max_age()) {
        return;
    }
    let check = tokio::spawn(check_disk(Arc::clone(engine), Arc::clone(session)));
    // Without a new measurement the caller uses the last one; the check goes on.
    let _ = tokio::time::timeout(REFRESH_TIMEOUT, check).await;
}

/// Measures a session, unless that is under way already, and stops what runs in it if it is over its limit.
async fn check_disk(engine: Arc<Engine>, session: Arc<Session>) {
    let Some(_lock) = session.gauge().try_turn() else { return };
    let Ok(_permit) = engine.walk_permits.acquire().await else { return };
    let walked = tokio::task::spawn_blocking(session.disk_walk()).await;
    // A session that ends meanwhile cannot be measured, and need not be.
    let Ok(Ok(measured)) = walked else { return };
    session.gauge().set(Some(measured));
    let limits = session.record().spec.limits.clone();
    if !measured.is_over(&limits) {
        return;
    }
    let grace = if measured.is_far_over(&limits) { Duration::ZERO } else { OVER_DISK_GRACE };
    if session.busy() > 0 {
        tracing::warn!(session = %session.id(), bytes = measured.bytes(), "session over its disk limit");
    }
    stop_all(&engine, &session, grace).await;
}

/// Stops all executions of a session, including those that have ended and left processes behind.
async fn stop_all(engine: &Engine, session: &Session, grace: Duration) {
    for execution in engine.executions.list(Some(session.id())) {
        // If the session is gone there is nothing left to stop.
        let _ = session.stop(execution.id(), StopCause::DiskLimit, grace).await;
    }
}
