//! Looks after the sessions: puts those to sleep that are idle, ends those that have been so for too long, and those that
//! use more disk than they may.
//!
//! Disk use has no limit in the kernel that works on every host, so it is measured: a look at the free space of the disk
//! costs nothing, and when it has shrunk by half of what a session has left, or after a while that grows with the
//! workspace, it is walked. A fast writer can be over its limit by what it writes between two looks.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater_protocol::SessionId;
use headwater_sandbox::wire::Cause;

use crate::engine::Engine;
use crate::folder;
use crate::idle::Quiet;
use crate::session::Session;
use crate::tree::{self, Usage};
use crate::{trees, unnamed};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(250);
/// A busy workspace is walked at most so often unless the disk shrinks, ...
const SOON: Duration = Duration::from_secs(1);
/// ... at least so often, ...
const WALK: Duration = Duration::from_secs(15);
/// ... and in between so that walks take no more than this part of the time. The free space alone does not tell: what
/// one session writes another may free.
const REST: u32 = 50;
/// An idle one at least so often.
const IDLE_WALK: Duration = Duration::from_mins(5);
/// A program that filled the disk gets this long to end by itself.
const GRACE: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy)]
struct Measured {
    usage: Usage,
    at: Instant,
    /// How long the walk took.
    took: Duration,
    /// Free on the disk at that time.
    free: Free,
}

#[derive(Debug, Clone, Copy, Default)]
struct Free {
    bytes: u64,
    inodes: u64,
}

/// Runs until the worker stops.
pub(crate) async fn watch(engine: Arc<Engine>) {
    let mut measured: HashMap<SessionId, Measured> = HashMap::new();
    let mut quiet = Quiet::default();
    let mut clock = tokio::time::interval(LOOK);
    clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = engine.stop.cancelled() => return,
            _ = clock.tick() => {}
        }
        let sessions = engine.live_sessions();
        measured.retain(|id, _| sessions.iter().any(|session| session.id() == *id));
        quiet.keep(&sessions);
        for id in engine.slept_too_long() {
            tracing::info!(session = %id, "session idle for too long");
            engine.end_asleep(id).await;
        }
        let free = free(&engine);
        for session in sessions {
            end_if_idle(&session);
            if quiet.is_tired(&session, &engine.config.hibernation) {
                let (session, warning) = (Arc::clone(&session), engine.config.hibernation.warning);
                tokio::spawn(async move { session.doze(warning).await });
            }
            if is_over_its_limit(&session, free, &mut measured).await {
                stop_all(&engine, &session).await;
            }
        }
    }
}

fn end_if_idle(session: &Arc<Session>) {
    let timeout = session.record().spec.idle_timeout_ms.map(Duration::from_millis);
    if !session.is_ending() && timeout.is_some_and(|timeout| session.idle_for() > timeout) {
        tracing::info!(session = %session.id(), "session idle for too long");
        let session = Arc::clone(session);
        tokio::spawn(async move { session.end().await });
    }
}

fn free(engine: &Engine) -> Free {
    let stat = rustix::fs::statvfs(engine.folder.root());
    stat.map_or(Free::default(), |stat| Free { bytes: stat.f_bavail * stat.f_frsize, inodes: stat.f_favail })
}

/// Whether a workspace is larger than it may be, as far as it has to be looked at now. Daemons that no execution waits
/// for any more fill disks too, so idle sessions count.
async fn is_over_its_limit(
    session: &Session,
    free: Free,
    measured: &mut HashMap<SessionId, Measured>,
) -> bool {
    let limits = session.record().spec.limits.clone();
    let (bytes, inodes) = (limits.disk_bytes.unwrap_or(u64::MAX), limits.inodes.unwrap_or(u64::MAX));
    if bytes == u64::MAX && inodes == u64::MAX {
        return false;
    }
    // A session that is new to us counts as empty until the disk shrinks or its first walk is due: most are.
    let unseen = || Measured { usage: Usage::default(), at: Instant::now(), took: Duration::ZERO, free };
    let last = measured.entry(session.id()).or_insert_with(unseen);
    let written = last.free.bytes.saturating_sub(free.bytes);
    let made = last.free.inodes.saturating_sub(free.inodes);
    let near = written > bytes.saturating_sub(last.usage.bytes) / 2
        || made > inodes.saturating_sub(last.usage.inodes) / 2;
    let wait = if session.busy() > 0 { (last.took * REST).clamp(SOON, WALK) } else { IDLE_WALK };
    if !near && last.at.elapsed() < wait {
        return false;
    }
    let (workspace, dir) = (folder::workspace(session.dir()), session.dir().to_owned());
    let init = session.walled_init();
    let walk = move || {
        let mut usage = tree::measure(&workspace)?;
        if let Some(init) = init {
            unnamed::add(init, &workspace, &mut usage);
        }
        usage.bytes += trees::kept_bytes(&dir);
        Ok::<_, std::io::Error>(usage)
    };
    let began = Instant::now();
    let walked = tokio::task::spawn_blocking(walk).await;
    let Ok(Ok(usage)) = walked else { return false };
    session.has_disk_bytes(usage.bytes);
    measured.insert(session.id(), Measured { usage, at: Instant::now(), took: began.elapsed(), free });
    let over = usage.bytes > bytes || usage.inodes > inodes || usage.too_deep;
    if over {
        tracing::warn!(session = %session.id(), bytes = usage.bytes, inodes = usage.inodes, "over the disk limit");
    }
    over
}

/// Stops all executions of a session, those too that have ended and left children behind.
async fn stop_all(engine: &Engine, session: &Session) {
    for execution in engine.executions(Some(session.id())) {
        // A session that is gone has nothing left to stop.
        let _ = session.stop(execution.id(), Cause::DiskLimit, GRACE).await;
    }
}
