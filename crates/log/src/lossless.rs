//! Lossless readers: output that they have not read is not dropped. The program waits in its pipe instead.
//!
//! The position of a reader is one number, the cost of everything up to there
//! ([`Position::cost`](super::positions::Position::cost)), which grows with every record. Trimming stops
//! [`LosslessOptions::lag`] below the slowest reader. How the parts work together:
//! 1. A registered reader is in the table; it advances without a lock.
//! 2. When a reader disconnects, its position is kept for [`LosslessOptions::grace`]: its client may reconnect. So is
//!    the position of a reader that is expected after a start, or after a restart of the worker.
//! 3. If the log can neither grow nor be trimmed, the writer is full, and the pump waits for
//!    [`LosslessReaders::changed`].
//! 4. A reader that makes no progress for [`LosslessOptions::stall_timeout`] while the writer waits is dropped.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::LogError;

/// The most lossless readers of one log. Each may block the program, and few programs have more than two.
pub(crate) const MAX_READERS: usize = 16;
/// The most bytes that are kept behind a reader.
const MAX_LAG_BYTES: u64 = 16 << 20;
/// After a restart a log keeps everything for the whole grace, but only for this long after the first reader is back:
/// the others return at the same time.
const RETURN_WINDOW: Duration = Duration::from_secs(2);

/// Timeouts and buffers of lossless readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LosslessOptions {
    /// How long output is kept for a reader whose connection broke.
    pub grace: Duration,
    /// How long a reader may block the program without reading anything.
    pub stall_timeout: Duration,
    /// The least bytes that are kept behind a reader: what was sent to it is lost if a process between it and the log is
    /// killed.
    pub min_lag: u64,
}

impl LosslessOptions {
    /// The options of a log for which none are configured.
    pub const DEFAULT: Self =
        Self { grace: Duration::from_secs(10), stall_timeout: Duration::from_mins(10), min_lag: 1 << 20 };

    /// The bytes that are kept behind a reader in a log with this limit: half of it, within bounds. The upper bound is
    /// more than the kernel and our processes buffer for one connection.
    pub fn lag(&self, limit: u64) -> u64 {
        (limit / 2).clamp(self.min_lag, MAX_LAG_BYTES.max(self.min_lag))
    }
}

/// The lossless readers of a log.
#[derive(Debug)]
pub(crate) struct LosslessReaders {
    options: LosslessOptions,
    /// The number of entries in the table: most logs have none and skip the lock.
    count: AtomicUsize,
    /// Whether the writer waits for a reader to advance.
    is_full: AtomicBool,
    moved: Notify,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    readers: Vec<Arc<ReaderState>>,
    absent: Vec<Absent>,
    /// The furthest position of the slowest reader, and when it got there or the writer became full.
    progress: Option<(u64, Instant)>,
}

/// A position that is kept for a reader that is not connected.
#[derive(Debug)]
struct Absent {
    cost: u64,
    /// A reader that registers at or before this cost takes the position.
    last_cost: u64,
    until: Instant,
}

/// The position of a reader.
#[derive(Debug)]
struct ReaderState {
    cost: AtomicU64,
    /// It was too slow, and output is dropped even if it has not read it.
    is_dropped: AtomicBool,
}

impl LosslessReaders {
    pub(crate) fn new(options: LosslessOptions) -> Self {
        Self {
            options,
            count: AtomicUsize::new(0),
            is_full: AtomicBool::new(false),
            moved: Notify::new(),
            table: Mutex::default(),
        }
    }

    pub(crate) const fn options(&self) -> &LosslessOptions {
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
    pub(crate) fn register(self: &Arc<Self>, cost: u64) -> Result<LosslessReader, LogError> {
        let mut table = self.table();
        if table.readers.len() >= MAX_READERS {
            return Err(LogError::TooManyReaders);
        }
        let state = Arc::new(ReaderState { cost: AtomicU64::new(cost), is_dropped: AtomicBool::new(false) });
        table.readers.push(Arc::clone(&state));
        table.is_back(cost);
        self.is_changed(&table);
        Ok(LosslessReader { readers: Arc::clone(self), state })
    }

    /// Keeps everything after this cost for a reader that is expected.
    pub(crate) fn expect(&self, cost: u64) {
        self.expect_in(&mut self.table(), cost, cost);
    }

    /// The same for readers from before a restart, at whatever position.
    pub(crate) fn expect_back(&self, cost: u64) {
        self.expect_in(&mut self.table(), cost, u64::MAX);
    }

    fn expect_in(&self, table: &mut Table, cost: u64, last_cost: u64) {
        let until = Instant::now() + self.options.grace;
        // No more positions are kept than readers may register.
        if table.absent.len() < MAX_READERS {
            table.absent.push(Absent { cost, last_cost, until });
        }
        self.is_changed(table);
    }

    /// The cost of the slowest reader, if there is one.
    pub(crate) fn slowest(&self) -> Option<u64> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut table = self.table();
        table.remove_expired(Instant::now());
        self.count.store(table.readers.len() + table.absent.len(), Ordering::SeqCst);
        table.slowest()
    }

    /// Sets whether the writer is full. Readers that advance after this wake it.
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

    /// Waits until the writer may have room: a reader advanced, left, or was dropped.
    pub(crate) async fn changed(&self) {
        let deadline = self.table().next_deadline(self.options.stall_timeout);
        let moved = self.moved.notified();
        match deadline {
            Some(deadline) => _ = tokio::time::timeout_at(deadline, moved).await,
            None => moved.await,
        }
        // Even after a wake-up: a reader that reconnects again and again causes one each time.
        self.drop_stalled();
    }

    /// Drops the slowest readers if none of them has advanced within the timeout.
    fn drop_stalled(&self) {
        let now = Instant::now();
        let mut table = self.table();
        table.remove_expired(now);
        let is_stuck = table.progress.is_some_and(|(_, since)| since + self.options.stall_timeout <= now);
        if let (true, Some(slowest)) = (is_stuck, table.slowest()) {
            table.absent.retain(|absent| absent.cost > slowest);
            table.readers.retain(|reader| {
                let stays = reader.cost.load(Ordering::SeqCst) > slowest;
                reader.is_dropped.store(!stays, Ordering::SeqCst);
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
        let readers = self.readers.iter().map(|reader| reader.cost.load(Ordering::SeqCst));
        readers.chain(self.absent.iter().map(|absent| absent.cost)).min()
    }

    fn remove_expired(&mut self, now: Instant) {
        self.absent.retain(|absent| absent.until > now);
    }

    /// A reader that begins after `cost` takes the position that was kept for it.
    fn is_back(&mut self, cost: u64) {
        let fitting = self.absent.iter().enumerate().filter(|(_, absent)| absent.last_cost >= cost);
        let Some(n) = fitting.min_by_key(|(_, absent)| absent.last_cost).map(|(n, _)| n) else {
            return;
        };
        if self.absent[n].last_cost == u64::MAX {
            let absent = &mut self.absent[n];
            absent.until = absent.until.min(Instant::now() + RETURN_WINDOW);
        } else {
            self.absent.swap_remove(n);
        }
    }

    /// The next time at which something expires.
    fn next_deadline(&self, stall_timeout: Duration) -> Option<Instant> {
        let expires = self.absent.iter().map(|absent| absent.until);
        expires.chain(self.progress.map(|(_, since)| since + stall_timeout)).min()
    }
}

/// A registered reader. Dropping it keeps its position for the grace.
#[derive(Debug)]
pub(crate) struct LosslessReader {
    readers: Arc<LosslessReaders>,
    state: Arc<ReaderState>,
}

impl LosslessReader {
    /// Sets the cost up to which it has read everything.
    pub(crate) fn move_to(&self, cost: u64) {
        self.state.cost.store(cost, Ordering::SeqCst);
        if self.readers.is_full.load(Ordering::SeqCst) {
            self.readers.moved.notify_one();
        }
    }

    /// Whether it was dropped because it was too slow.
    pub(crate) fn is_dropped(&self) -> bool {
        self.state.is_dropped.load(Ordering::SeqCst)
    }
}

impl Drop for LosslessReader {
    fn drop(&mut self) {
        let mut table = self.readers.table();
        table.readers.retain(|reader| !Arc::ptr_eq(reader, &self.state));
        if !self.is_dropped() {
            let cost = self.state.cost.load(Ordering::SeqCst);
            self.readers.expect_in(&mut table, cost, cost);
        }
        self.readers.is_changed(&table);
    }
}
