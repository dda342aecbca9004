//! Counters of a session's network use, for the log, which a session must not be able to flood.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use headwater_protocol::SessionId;

use super::response::Refusal;

/// Denied requests that are logged one by one; further ones are only counted.
const MAX_LOGGED_DENIALS: u64 = 100;

/// Refusals that are remembered.
const MAX_RECENT: usize = 8;

/// The least time between two messages about a failing registry.
const LOG_INTERVAL: std::time::Duration = std::time::Duration::from_secs(1);

/// The counters of one session since this worker started to serve it.
#[derive(Debug)]
pub(crate) struct Meter {
    session: SessionId,
    pub connections: AtomicU64,
    pub requests: AtomicU64,
    denied: AtomicU64,
    /// Bytes to the session.
    pub received: AtomicU64,
    /// Bytes from the session.
    pub sent: AtomicU64,
    /// The last refusals, for programs that do not show them, with the second at which they happened.
    recent: Mutex<VecDeque<(u64, String)>>,
}

/// Adds to a counter.
pub(crate) fn add(number: &AtomicU64, more: usize) {
    number.fetch_add(more as u64, Ordering::Relaxed);
}

impl Meter {
    pub(crate) fn new(session: SessionId) -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            session,
            connections: zero(),
            requests: zero(),
            denied: zero(),
            received: zero(),
            sent: zero(),
            recent: Mutex::default(),
        }
    }

    /// The refusals since this second (of Unix time), each once.
    pub(crate) fn refusals(&self, since: u64) -> Vec<String> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found: Vec<String> = Vec::new();
        for (_, message) in recent.iter().filter(|(at, _)| *at >= since) {
            if !found.contains(message) {
                found.push(message.clone());
            }
        }
        found
    }

    fn remember(&self, refusal: &Refusal) {
        // What does not exist is reported by every program itself.
        if refusal.status == hyper::StatusCode::NOT_FOUND {
            return;
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.push_back((now, refusal.message.clone()));
        if recent.len() > MAX_RECENT {
            recent.pop_front();
        }
    }

    /// Logs a refused request. `asked` comes from the program and is escaped.
    pub(crate) fn refused(&self, asked: &str, refusal: &Refusal) {
        self.remember(refusal);
        if refusal.status != hyper::StatusCode::FORBIDDEN {
            tracing::debug!(session = %self.session, ?asked, status = %refusal.status, "network request refused");
            return;
        }
        if self.denied.fetch_add(1, Ordering::Relaxed) < MAX_LOGGED_DENIALS {
            let asked: String = asked.chars().take(200).collect();
            tracing::warn!(session = %self.session, ?asked, why = refusal.message, "network access denied");
        }
    }
}

/// Limits how often a message is logged.
#[derive(Debug, Default)]
pub(crate) struct LogThrottle(Mutex<Option<std::time::Instant>>);

impl LogThrottle {
    /// Whether the message may be logged now.
    pub(crate) fn allows(&self) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let allowed = last.is_none_or(|last| last.elapsed() > LOG_INTERVAL);
        if allowed {
            *last = Some(std::time::Instant::now());
        }
        allowed
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        let value = |number: &AtomicU64| number.load(Ordering::Relaxed);
        tracing::info!(
            session = %self.session,
            connections = value(&self.connections),
            requests = value(&self.requests),
            denied = value(&self.denied),
            received = value(&self.received),
            sent = value(&self.sent),
            "closed the session's outlet"
        );
    }
}
