//! Retention of logs: running totals, the journal of removals, and the sweep that applies the rules.
//!
//! It runs in the worker, which owns the logs, so that it works without a gateway. The owner of a log is the owner of its
//! session, which the gateway writes into the session's metadata.

mod journal;
mod ledger;
mod policy;
mod sweep;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use headwater_contract::{Fault, FaultKind, v1};
use headwater_protocol::api::Timestamp;
use headwater_protocol::{ExecutionId, SessionId};
use tokio::sync::Notify;

use self::journal::{Entry, Journal};
use self::ledger::Ledger;
use self::policy::Why;
pub use self::policy::{Bounds, Rules};
pub(crate) use self::policy::{Filter, Sum};
pub(crate) use self::sweep::{ensure_room_for_logs, prune, run};

/// The state of retention.
#[derive(Debug)]
pub(crate) struct Retention {
    rules: Rules,
    ledger: Mutex<Ledger>,
    journal: Mutex<Journal>,
    /// Notified when a bound is exceeded.
    wake: Notify,
    /// The totals of removals since this worker started.
    removed: Mutex<BTreeMap<Why, Sum>>,
    /// Held during a sweep.
    sweeping: Mutex<()>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Retention {
    pub(crate) fn new(rules: Rules, folder: &Path) -> Self {
        Self {
            rules,
            ledger: Mutex::default(),
            journal: Mutex::new(Journal::open(folder)),
            wake: Notify::new(),
            removed: Mutex::default(),
            sweeping: Mutex::default(),
        }
    }

    /// Adds a log that was closed, or found at the start.
    pub(crate) fn add(&self, session: SessionId, owner: &str, bytes: u64) {
        let mut ledger = lock(&self.ledger);
        ledger.add(session, owner, bytes);
        if ledger.is_over(session, &self.rules) {
            self.wake.notify_one();
        }
    }

    /// Subtracts one log of a session.
    pub(crate) fn subtract(&self, session: SessionId, bytes: u64) {
        lock(&self.ledger).subtract(session, 1, bytes);
    }

    /// Subtracts all logs of a session.
    pub(crate) fn forget(&self, session: SessionId) {
        lock(&self.ledger).forget(session);
    }

    /// The totals of ended executions of a session.
    pub(crate) fn of_session(&self, session: SessionId) -> Sum {
        lock(&self.ledger).session(session)
    }

    /// The totals of ended executions of each owner.
    pub(crate) fn of_owners(&self) -> BTreeMap<String, Sum> {
        lock(&self.ledger).owners().map(|(owner, sum)| (owner.to_owned(), sum)).collect()
    }

    /// The totals of removals since the worker started.
    pub(crate) fn removed(&self) -> Vec<v1::RemovedTotal> {
        let one = |(why, sum): (&Why, &Sum)| v1::RemovedTotal {
            reason: why.name().to_owned(),
            logs: sum.logs,
            bytes: sum.bytes,
        };
        lock(&self.removed).iter().map(one).collect()
    }

    /// The removals after a number.
    pub(crate) fn removed_after(&self, number: u64, limit: usize) -> Vec<v1::RemovedLog> {
        let to_proto = |entry: Entry| v1::RemovedLog {
            number: entry.number,
            execution_id: entry.id.to_string(),
            reason: entry.reason,
            at_ms: entry.at_ms,
            verdict: entry.verdict.as_ref().map(Into::into),
            started_at_ms: entry.started_at_ms,
            last_seq: entry.last_seq.0,
        };
        lock(&self.journal).after(number, limit).into_iter().map(to_proto).collect()
    }

    /// Whether a log was removed.
    pub(crate) fn has_removed(&self, id: ExecutionId) -> bool {
        lock(&self.journal).of(id).is_some()
    }

    /// The fault for a log that was removed.
    pub(crate) fn fault(&self, id: ExecutionId) -> Option<Fault> {
        let journal = lock(&self.journal);
        let entry = journal.of(id)?;
        let message =
            format!("the log of `{id}` was removed at {} ({})", Timestamp(entry.at_ms), entry.reason);
        let hint = "see `[retention]` in the configuration; read a log before it is removed";
        Some(Fault::new(FaultKind::Gone, message).hint(hint))
    }

    /// The fault for a start of this owner, if there is no room for its log.
    fn full(&self, owner: &str) -> Option<Fault> {
        if !lock(&self.ledger).is_full_for(owner, &self.rules) {
            return None;
        }
        let most = self.rules.all.bytes.unwrap_or(u64::MAX);
        let message = format!("the logs of all executions exceed {most} bytes, and none can be removed yet");
        let hint = "remove logs that are not needed (`headwater prune --all-logs`), or start it later: \
                    `retention.keep_at_least` says how long the newest logs are kept";
        Some(Fault::new(FaultKind::Exhausted, message).hint(hint))
    }
}
