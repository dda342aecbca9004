//! The file descriptors of this process: how many it may have open, and what they are held for.
//!
//! Everything that a caller can make the worker keep open takes a [`Hold`] first and is refused when descriptors run
//! low, so that cancelling, reading, listing, deleting and stopping always work. Costs are for the worst case.
//! Descriptors that are open without a hold are found by counting from time to time ([`measure`]).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::SessionId;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors of an execution without open input: two pipes, the index and two files of its log, and those that its
/// start needs for a moment (the given input, the files of its cgroup).
pub const EXECUTION: usize = 8;
/// Descriptors of an execution with open input or a terminal: also the write end and the buffer of the input, and a
/// terminal's relay.
pub const INTERACTIVE: usize = 10;
/// Descriptors of a session: the link to its init, the process, and the outlet to the network.
pub const SESSION: usize = 4;
/// Descriptors of a reader of a closed log: the index and the files of three streams.
pub const READER: usize = 4;
/// Descriptors of a file watch: the inotify instance and the workspace.
pub const WATCH: usize = 3;
/// Descriptors of a program's connection to the network: its own and the one to the other end.
pub const CONNECTION: usize = 2;

/// One part in eight of the limit is kept back for calls that must always work ...
const RESERVE_DIVISOR: usize = 8;
/// ... within these bounds, which are more descriptors than such calls use at once.
const RESERVE_RANGE: std::ops::RangeInclusive<usize> = 96..=1024;

/// What a hold is for, which decides how much of the reserve it must leave free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Starting something new: leaves the whole reserve.
    Start,
    /// Reading something that exists: leaves half of the reserve.
    Read,
}

/// Descriptors that the holder may have open; dropping it releases them.
#[derive(Debug)]
pub struct Hold {
    table: &'static Table,
    count: usize,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.table.held.fetch_sub(self.count, Ordering::Relaxed);
    }
}

#[derive(Debug)]
struct Table {
    limit: usize,
    /// The sum of all holds.
    held: AtomicUsize,
    counted: Mutex<Counted>,
}

/// The result of the last count of open descriptors, with the sum of all holds at that time.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    open: usize,
    held: usize,
}

/// The table is global because the limit and the holds belong to the process.
static TABLE: OnceLock<Table> = OnceLock::new();

fn table() -> &'static Table {
    TABLE.get_or_init(|| {
        let limit = getrlimit(Resource::Nofile).current;
        Table::new(limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX))
    })
}

/// Raises the soft limit of open files to the hard one: each session and each execution holds a few. Programs do not
/// inherit it: each gets the limit of its session. Must be called before the first hold.
pub fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
    {
        tracing::warn!(%error, "the limit of open files cannot be raised");
    }
    // The first random number may open a file that stays open: do it while a descriptor is free.
    let _ = SessionId::random();
    tracing::info!(limit = table().limit, reserve = table().reserve(), "open files");
}

/// Takes descriptors, or fails with [`FaultKind::Exhausted`].
pub fn hold(count: usize, purpose: Purpose) -> Result<Hold, Fault> {
    table().hold(count, purpose).ok_or_else(|| {
        Fault::new(FaultKind::Exhausted, "the worker has too many open files").hint(
            "end executions or sessions that are not needed; the operator can raise the limit of open files \
             (`ulimit -Hn`, systemd: `LimitNOFILE=`) where the worker is started",
        )
    })
}

/// Takes descriptors for something that is open already, however few are left.
pub fn hold_anyway(count: usize) -> Hold {
    table().held.fetch_add(count, Ordering::Relaxed);
    Hold { table: table(), count }
}

/// How many things of this cost the descriptors suffice for.
pub fn capacity(cost: usize) -> usize {
    let table = table();
    table.limit.saturating_sub(table.reserve()) / cost
}

/// Counts the open descriptors, so that those without a hold are known too. Takes about 1 ms for 10,000.
pub fn measure() {
    match std::fs::read_dir("/proc/self/fd") {
        Ok(entries) => table().has_open(entries.count()),
        // No descriptor is left, not even for the count.
        Err(error) if error.raw_os_error() == Some(Errno::MFILE.raw_os_error()) => {
            table().has_open(table().limit);
        }
        Err(_) => {}
    }
}

impl Table {
    const fn new(limit: usize) -> Self {
        let counted = Mutex::new(Counted { open: 0, held: 0 });
        Self { limit, held: AtomicUsize::new(0), counted }
    }

    fn reserve(&self) -> usize {
        (self.limit / RESERVE_DIVISOR).clamp(*RESERVE_RANGE.start(), *RESERVE_RANGE.end())
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_open(&self, open: usize) {
        *self.counted() = Counted { open, held: self.held.load(Ordering::Relaxed) };
    }

    fn hold(&'static self, count: usize, purpose: Purpose) -> Option<Hold> {
        let reserve = match purpose {
            Purpose::Start => self.reserve(),
            Purpose::Read => self.reserve() / 2,
        };
        let held = self.held.fetch_add(count, Ordering::Relaxed) + count;
        let taken = Hold { table: self, count };
        let counted = *self.counted();
        // The sum of all holds or, if that is more, what was open at the last count plus the holds since then.
        let used = held.max(counted.open + held.saturating_sub(counted.held));
        (used <= self.limit.saturating_sub(reserve)).then_some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(limit: usize) -> &'static Table {
        Box::leak(Box::new(Table::new(limit)))
    }

    #[test]
    fn starts_are_refused_before_readers_and_both_before_the_limit() {
        let table = small(512);
        let mut kept = Vec::new();
        while let Some(hold) = table.hold(8, Purpose::Start) {
            kept.push(hold);
        }
        assert_eq!(kept.len(), (512 - 96) / 8);
        assert!(table.hold(READER, Purpose::Read).is_some());
        kept.pop();
        assert!(table.hold(8, Purpose::Start).is_some(), "a released hold can be taken again");
    }

    #[test]
    fn untracked_descriptors_count_when_measured() {
        let table = small(1000);
        let first = table.hold(8, Purpose::Start);
        assert!(first.is_some());
        table.has_open(871); // 125 are the reserve
        assert!(table.hold(8, Purpose::Start).is_none());
        table.has_open(20);
        assert!(table.hold(8, Purpose::Start).is_some());
    }
}
