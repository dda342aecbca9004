//! Which sessions are idle, and since when: nobody used them, and what runs in them neither prints nor computes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater_protocol::SessionId;

use crate::config::Hibernation;
use crate::sessions::session::Session;
use crate::usage::processes;

/// How often what runs is looked at.
const LOOK: Duration = Duration::from_secs(5);
/// Less processor time than one part in so many is no work: an idle server ticks too.
const TICKING: u128 = 200;

/// What was seen of the sessions in which something runs.
#[derive(Debug, Default)]
pub(crate) struct Quiet(HashMap<SessionId, Seen>);

#[derive(Debug)]
struct Seen {
    cpu_ms: u64,
    printed_bytes: u64,
    at: Instant,
    /// Since when nothing has happened.
    quiet_since: Instant,
    /// Whether anything was there to be quiet.
    runs: bool,
}

impl Quiet {
    /// Forgets sessions that are gone.
    pub(crate) fn keep(&mut self, sessions: &[Arc<Session>]) {
        self.0.retain(|id, _| sessions.iter().any(|session| session.id() == *id));
    }

    /// Whether it is time for this one to sleep.
    pub(crate) fn is_tired(&mut self, session: &Session, when: &Hibernation) -> bool {
        let unused = session.used_at().elapsed();
        let shortest = [when.after, when.running_after].into_iter().flatten().min();
        if shortest.is_none_or(|shortest| unused < shortest) || session.phase().is_stopping() {
            return false;
        }
        let (runs, quiet) = self.look(session);
        let limit = if runs { when.running_after } else { when.after };
        limit.is_some_and(|limit| unused >= limit && (!runs || quiet >= limit))
    }

    /// Whether something runs in it, and for how long nothing has happened.
    fn look(&mut self, session: &Session) -> (bool, Duration) {
        let now = Instant::now();
        let last = self.0.get(&session.id());
        if let Some(seen) = last.filter(|seen| seen.at.elapsed() < LOOK) {
            return (seen.runs || session.busy() > 0, seen.quiet_since.elapsed());
        }
        let usage = processes::measure(session);
        let runs = session.busy() > 0 || !usage.members.is_empty();
        let is_quiet = last.is_some_and(|seen| {
            let worked = u128::from(usage.cpu_ms.saturating_sub(seen.cpu_ms));
            usage.printed_bytes == seen.printed_bytes && worked * TICKING <= seen.at.elapsed().as_millis()
        });
        let quiet_since = last.filter(|_| is_quiet).map_or(now, |seen| seen.quiet_since);
        let seen =
            Seen { cpu_ms: usage.cpu_ms, printed_bytes: usage.printed_bytes, at: now, quiet_since, runs };
        self.0.insert(session.id(), seen);
        (runs, quiet_since.elapsed())
    }
}
