//! What a running endpoint knows: its script, the requests that it got, and how often turns have failed.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::gate::Gate;
use crate::request::Request;
use crate::script::{Position, Script, Turn};

/// How many requests are kept.
const MAX_REQUESTS: usize = 1000;

/// A request that the endpoint got.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Recorded {
    /// The path.
    pub path: String,
    /// The names of its headers.
    pub headers: Vec<String>,
    /// The body; null if it is not JSON.
    pub body: Value,
    /// When it came, in milliseconds since 1970.
    pub at_ms: u64,
}

/// A turn of a conversation: its place in the script, and the first message of the user.
type Occasion = (Position, String);

/// How often a turn has failed and was broken off.
#[derive(Debug, Clone, Copy, Default)]
struct Failures {
    failed: u32,
    broken: u32,
}

#[derive(Debug)]
pub(crate) struct State {
    script: Mutex<Arc<Script>>,
    requests: Mutex<VecDeque<Recorded>>,
    failures: Mutex<HashMap<Occasion, Failures>>,
    pub(crate) gate: Gate,
    /// Distinguishes ids of this process from those of an earlier one.
    started_ms: u64,
    next_id: AtomicU64,
}

impl State {
    pub(crate) fn new(script: Script) -> Self {
        Self {
            script: Mutex::new(Arc::new(script)),
            requests: Mutex::default(),
            failures: Mutex::default(),
            gate: Gate::default(),
            started_ms: now_ms(),
            next_id: AtomicU64::new(1),
        }
    }

    pub(crate) fn script(&self) -> Arc<Script> {
        Arc::clone(&lock(&self.script))
    }

    pub(crate) fn set_script(&self, script: Script) {
        *lock(&self.script) = Arc::new(script);
        lock(&self.failures).clear();
    }

    /// A new id with this prefix.
    pub(crate) fn id(&self, prefix: &str) -> String {
        format!("{prefix}_{:x}_{}", self.started_ms, self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn record(&self, request: Recorded) {
        let mut requests = lock(&self.requests);
        if requests.len() == MAX_REQUESTS {
            requests.pop_front();
        }
        requests.push_back(request);
    }

    pub(crate) fn requests(&self) -> Vec<Recorded> {
        lock(&self.requests).iter().cloned().collect()
    }

    /// Whether this turn fails now, and counts it.
    pub(crate) fn fails(&self, position: Position, turn: &Turn, request: &Request) -> bool {
        let times = turn.fail.as_ref().map_or(0, |fail| fail.times.unwrap_or(1));
        self.count(position, request, times, |failures| &mut failures.failed)
    }

    /// Whether this turn is broken off now, and counts it.
    pub(crate) fn breaks(&self, position: Position, turn: &Turn, request: &Request) -> bool {
        let times = turn.break_after_bytes.map_or(0, |_| turn.break_times.unwrap_or(1));
        self.count(position, request, times, |failures| &mut failures.broken)
    }

    fn count(&self, at: Position, request: &Request, times: u32, of: fn(&mut Failures) -> &mut u32) -> bool {
        if times == 0 {
            return false;
        }
        let occasion = (at, request.first_user().unwrap_or_default().to_owned());
        let mut failures = lock(&self.failures);
        let count = of(failures.entry(occasion).or_default());
        *count = count.saturating_add(1);
        *count <= times
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The time in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The time in microseconds since 1970.
pub(crate) fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
