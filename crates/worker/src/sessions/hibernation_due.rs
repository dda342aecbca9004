//! Which sessions have been idle long enough to be hibernated: nobody used them, and what runs in them neither prints nor
//! computes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater_protocol::SessionId;

use crate::config::Hibernation;
use crate::sessions::session::Session;
use crate::usage::processes;

/// The processes of a session are measured at most this often: it takes a few reads in `/proc` for each of them.
const MEASURE_INTERVAL: Duration = Duration::from_secs(5);
/// Up to one part in this many of a processor's time counts as idle: a server that waits for requests uses some, too.
const IDLE_CPU_FRACTION: u128 = 200;

/// What was measured of the sessions in which something runs.
#[derive(Debug, Default)]
pub(crate) struct IdleTracker(HashMap<SessionId, Sample>);

#[derive(Debug)]
struct Sample {
    cpu_ms: u64,
    printed_bytes: u64,
    at: Instant,
    idle_since: Instant,
    /// Whether the session had any process.
    has_processes: bool,
}

impl IdleTracker {
    /// Forgets all sessions but these.
    pub(crate) fn retain(&mut self, sessions: &[Arc<Session>]) {
        self.0.retain(|id, _| sessions.iter().any(|session| session.id() == *id));
    }

    /// Whether a session has been idle for long enough to be hibernated.
    pub(crate) fn should_hibernate(&mut self, session: &Session, when: &Hibernation) -> bool {
        let unused = session.used_at().elapsed();
        let shortest = [when.after, when.running_after].into_iter().flatten().min();
        if shortest.is_none_or(|shortest| unused < shortest) || session.phase().is_stopping() {
            return false;
        }
        let (has_processes, idle) = self.measure(session);
        let limit = if has_processes { when.running_after } else { when.after };
        limit.is_some_and(|limit| unused >= limit && (!has_processes || idle >= limit))
    }

    /// Whether a session has processes, and for how long they have been idle.
    fn measure(&mut self, session: &Session) -> (bool, Duration) {
        let now = Instant::now();
        let last = self.0.get(&session.id());
        if let Some(last) = last.filter(|last| last.at.elapsed() < MEASURE_INTERVAL) {
            return (last.has_processes || session.busy() > 0, last.idle_since.elapsed());
        }
        let usage = processes::measure(session);
        let has_processes = session.busy() > 0 || !usage.members.is_empty();
        let is_idle = last.is_some_and(|last| {
            let worked_ms = u128::from(usage.cpu_ms.saturating_sub(last.cpu_ms));
            usage.printed_bytes == last.printed_bytes
                && worked_ms * IDLE_CPU_FRACTION <= last.at.elapsed().as_millis()
        });
        let idle_since = last.filter(|_| is_idle).map_or(now, |last| last.idle_since);
        let (cpu_ms, printed_bytes) = (usage.cpu_ms, usage.printed_bytes);
        self.0.insert(session.id(), Sample { cpu_ms, printed_bytes, at: now, idle_since, has_processes });
        (has_processes, idle_since.elapsed())
    }
}
