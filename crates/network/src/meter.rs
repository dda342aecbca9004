//! What a session did with its network, in numbers: for the log, which a session must not be able to flood.

use std::sync::atomic::{AtomicU64, Ordering};

use headwater_protocol::SessionId;

use super::answer::Refusal;

/// Refusals that are logged one by one; the rest are counted.
const LOGGED: u64 = 100;

/// Between two words about a registry that does not serve.
const SELDOM: std::time::Duration = std::time::Duration::from_secs(1);

/// The numbers of one session since this worker serves it.
#[derive(Debug)]
pub(crate) struct Meter {
    session: SessionId,
    pub connections: AtomicU64,
    pub requests: AtomicU64,
    denied: AtomicU64,
    /// To the session.
    pub received: AtomicU64,
    /// From the session.
    pub sent: AtomicU64,
}

/// Adds to a number.
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

    /// A request was not carried out. What it asked for is data: it is escaped.
    pub(crate) fn refused(&self, asked: &str, refusal: &Refusal) {
        if refusal.status != hyper::StatusCode::FORBIDDEN {
            tracing::debug!(session = %self.session, ?asked, status = %refusal.status, "not carried out");
            return;
        }
        if self.denied.fetch_add(1, Ordering::Relaxed) < LOGGED {
            let asked: String = asked.chars().take(200).collect();
            tracing::warn!(session = %self.session, ?asked, why = refusal.message, "network access denied");
        }
    }
}

/// Lets something be said now and then, however often there is a reason to.
#[derive(Debug, Default)]
pub(crate) struct Seldom(std::sync::Mutex<Option<std::time::Instant>>);

impl Seldom {
    /// Whether it may be said now.
    pub(crate) fn may(&self) -> bool {
        let mut last = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let may = last.is_none_or(|last| last.elapsed() > SELDOM);
        if may {
            *last = Some(std::time::Instant::now());
        }
        may
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        let told = |number: &AtomicU64| number.load(Ordering::Relaxed);
        tracing::info!(
            session = %self.session,
            connections = told(&self.connections),
            requests = told(&self.requests),
            denied = told(&self.denied),
            received = told(&self.received),
            sent = told(&self.sent),
            "the session's outlet is closed"
        );
    }
}
