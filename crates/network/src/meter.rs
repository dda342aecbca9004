//! Counters of a session's network use, for the log, which a session must not be able to flood.

use std::sync::atomic::{AtomicU64, Ordering};

use headwater_protocol::SessionId;

use super::response::Refusal;

/// Denied requests that are logged one by one; further ones are only counted.
const MAX_LOGGED_DENIALS: u64 = 100;

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
        }
    }

    /// Logs a refused request. `asked` comes from the program and is escaped.
    pub(crate) fn refused(&self, asked: &str, refusal: &Refusal) {
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
pub(crate) struct LogThrottle(std::sync::Mutex<Option<std::time::Instant>>);

impl LogThrottle {
    /// Whether the message may be logged now.
    pub(crate) fn allows(&self) -> bool {
        let mut last = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
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
