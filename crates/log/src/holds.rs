//! Lossless readers: output that they have not read is not dropped. The program waits in its pipe instead.
//!
//! A reader's place is one number, the cost of everything up to there ([`Mark::cost`](super::marks::Mark::cost)), which
//! grows with every record. Trimming stops [`Holds::floor`] below the slowest reader. How the parts work together:
//! 1. A reader that registers is in the table; it moves its place without a lock.
//! 2. A reader that goes away leaves its place for [`HoldOptions::grace`]: its client may come back over another
//!    connection. So does a start that a reader is to follow, and a log that is taken up after a restart.
//! 3. If the log can neither grow nor be trimmed, the writer is full, and the pump waits for [`Holds::changed`].
//! 4. A reader that makes no progress for [`HoldOptions::patience`] while the writer waits is let go.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::LogError;

/// The most lossless readers of one log. Each may stop the program, and few programs have more than two.
pub(crate) const MAX_READERS: usize = 16;
/// At most so much stays behind a reader.
const MAX_LAG: u64 = 16 << 20;
/// A log that is taken up keeps everything for the whole grace; after the first reader is back, for this long: others
/// come back at the same time.
const OTHERS: Duration = Duration::from_secs(2);

/// How lossless readers are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoldOptions {
    /// How long output is kept for a reader whose connection broke.
    pub grace: Duration,
    /// How long a reader may stop the program without reading anything.
    pub patience: Duration,
    /// At least this much stays behind a reader: what was sent to it may be lost on the way, if a process between it and
    /// the log is killed.
    pub min_lag: u64,
}

impl HoldOptions {
    /// The defaults.
    pub const DEFAULT: Self =
        Self { grace: Duration::from_secs(10), patience: Duration::from_mins(10), min_lag: 1 << 20 };

    /// What stays behind a reader in a log of this limit: half of it, within bounds. The upper bound is more than the
    /// kernel and our processes buffer for one connection.
    pub fn lag(&self, limit: u64) -> u64 {
        (limit / 2).clamp(self.min_lag, MAX_LAG.max(self.min_lag))
    }
}

/// The lossless readers of a log.
#[derive(Debug)]
pub(crate) struct Holds {
    options: HoldOptions,
    /// How many entries the table has: most logs have none, and look no further.
    count: AtomicUsize,
    /// Whether the writer waits for a reader to move on.
    is_full: AtomicBool,
    moved: Notify,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    readers: Vec<Arc<Place>>,
    absent: Vec<Absent>,
    /// The furthest that the slowest reader has come, and when it came there or the writer became full.
    progress: Option<(u64, Instant)>,
}

/// A place that is kept for a reader who is not there.
#[derive(Debug)]
struct Absent {
    cost: u64,
    /// A reader that registers at or before this cost is the one.
    last_cost: u64,
    until: Instant,
}

/// Where a reader is.
#[derive(Debug)]
struct Place {
    cost: AtomicU64,
    /// It was too slow, and output is dropped without regard to it.
    is_let_go: AtomicBool,
}

impl Holds {
    pub(crate) fn new(options: HoldOptions) -> Self {
        Self {
            options,
            count: AtomicUsize::new(0),
            is_full: AtomicBool::new(false),
            moved: Notify::new(),
            table: Mutex::default(),
        }
    }

    pub(crate) const fn options(&self) -> &HoldOptions {
        &self.options
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_changed(&self, table: &Table) {
        self.count.store(table.readers.len() + table.absent.len(), Ordering::SeqCst);
        self.moved.notify_one();
    }

    /// Registers a reader that has read everything up to this cost.
    pub(crate) fn register(self: &Arc<Self>, cost: u64) -> Result<Hold, LogError> {
        let mut table = self.table();
        if table.readers.len() >= MAX_READERS {
            return Err(LogError::TooManyReaders);
        }
        let place = Arc::new(Place { cost: AtomicU64::new(cost), is_let_go: AtomicBool::new(false) });
        table.readers.push(Arc::clone(&place));
        table.is_back(cost);
        self.is_changed(&table);
        Ok(Hold { holds: Arc::clone(self), place })
    }

    /// Keeps everything after this cost for a reader that is yet to come.
    pub(crate) fn expect(&self, cost: u64) {
        self.expect_in(&mut self.table(), cost, cost);
    }

    /// The same for readers that were there before a restart, wherever they were.
    pub(crate) fn expect_back(&self, cost: u64) {
        self.expect_in(&mut self.table(), cost, u64::MAX);
    }

    fn expect_in(&self, table: &mut Table, cost: u64, last_cost: u64) {
        let until = Instant::now() + self.options.grace;
        // More than can come back are not waited for.
        if table.absent.len() < MAX_READERS {
            table.absent.push(Absent { cost, last_cost, until });
        }
        self.is_changed(table);
    }

    /// The place of the slowest reader, if there is any.
    pub(crate) fn slowest(&self) -> Option<u64> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut table = self.table();
        table.remove_expired(Instant::now());
        self.count.store(table.readers.len() + table.absent.len(), Ordering::SeqCst);
        table.slowest()
    }

    /// The writer is full, or is not any more. Readers that move on after this wake it.
    pub(crate) fn set_full(&self, is_full: bool) {
        if !is_full {
            self.is_full.store(false, Ordering::SeqCst);
            return;
        }
        let mut table = self.table();
        let slowest = table.slowest().unwrap_or(0);
        let was_full = self.is_full.swap(true, Ordering::SeqCst);
        let best = table.progress.map_or(0, |(best, _)| best);
        if !was_full || slowest > best {
            table.progress = Some((slowest.max(best), Instant::now()));
        }
    }

    /// Waits until the writer may have room: a reader has moved on, left, or was let go.
    pub(crate) async fn changed(&self) {
        let deadline = self.table().next_deadline(self.options.patience);
        let moved = self.moved.notified();
        match deadline {
            Some(deadline) => _ = tokio::time::timeout_at(deadline, moved).await,
            None => moved.await,
        }
        // Also after a wake-up: a reader that comes and goes wakes without end.
        self.let_go();
    }

    /// Lets go of the slowest readers if none of them has moved for too long.
    fn let_go(&self) {
        let now = Instant::now();
        let mut table = self.table();
        table.remove_expired(now);
        let is_stuck = table.progress.is_some_and(|(_, since)| since + self.options.patience <= now);
        if let (true, Some(slowest)) = (is_stuck, table.slowest()) {
            table.absent.retain(|absent| absent.cost > slowest);
            table.readers.retain(|place| {
                let stays = place.cost.load(Ordering::SeqCst) > slowest;
                place.is_let_go.store(!stays, Ordering::SeqCst);
                stays
            });
            table.progress = None;
            self.is_full.store(false, Ordering::SeqCst);
        }
        self.count.store(table.readers.len() + table.absent.len(), Ordering::SeqCst);
    }
}

impl Table {
    fn slowest(&self) -> Option<u64> {
        let readers = self.readers.iter().map(|place| place.cost.load(Ordering::SeqCst));
        readers.chain(self.absent.iter().map(|absent| absent.cost)).min()
    }

    fn remove_expired(&mut self, now: Instant) {
        self.absent.retain(|absent| absent.until > now);
    }

    /// A reader has come that begins after `cost`: it takes the place that was kept for it.
    fn is_back(&mut self, cost: u64) {
        let fitting = self.absent.iter().enumerate().filter(|(_, absent)| absent.last_cost >= cost);
        let Some(n) = fitting.min_by_key(|(_, absent)| absent.last_cost).map(|(n, _)| n) else {
            return;
        };
        if self.absent[n].last_cost == u64::MAX {
            let absent = &mut self.absent[n];
            absent.until = absent.until.min(Instant::now() + OTHERS);
        } else {
            self.absent.swap_remove(n);
        }
    }

    /// When something changes by itself.
    fn next_deadline(&self, patience: Duration) -> Option<Instant> {
        let expires = self.absent.iter().map(|absent| absent.until);
        expires.chain(self.progress.map(|(_, since)| since + patience)).min()
    }
}

/// A registered reader. Dropping it leaves its place for the grace.
#[derive(Debug)]
pub(crate) struct Hold {
    holds: Arc<Holds>,
    place: Arc<Place>,
}

impl Hold {
    /// It has read everything up to this cost.
    pub(crate) fn move_to(&self, cost: u64) {
        self.place.cost.store(cost, Ordering::SeqCst);
        if self.holds.is_full.load(Ordering::SeqCst) {
            self.holds.moved.notify_one();
        }
    }

    /// Whether it was too slow and holds nothing any more.
    pub(crate) fn is_let_go(&self) -> bool {
        self.place.is_let_go.load(Ordering::SeqCst)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut table = self.holds.table();
        table.readers.retain(|place| !Arc::ptr_eq(place, &self.place));
        if !self.is_let_go() {
            let cost = self.place.cost.load(Ordering::SeqCst);
            self.holds.expect_in(&mut table, cost, cost);
        }
        self.holds.is_changed(&table);
    }
}
