//! The file descriptors of this process: how many it may have, and who holds how many.
//!
//! Whatever a caller can make the worker keep open takes a [`Hold`] first and is refused when the descriptors run low,
//! so that cancelling, reading, listing, deleting and stopping always find one. Costs are what a thing can come to in
//! the worst case. What takes no hold is found by counting the open descriptors now and then ([`measure`]).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::SessionId;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// An execution without open input: two pipes, the index and two files of its log, and what its start needs for a
/// moment (the given input, the files of its cgroup).
pub const EXECUTION: usize = 8;
/// One with open input or a terminal: the writing end and the buffer of the input, and a terminal's relay.
pub const INTERACTIVE: usize = 10;
/// A session: the link to its init, the process, and the outlet to the network.
pub const SESSION: usize = 4;
/// A reader of a log that is closed: the index and the files of three streams.
pub const READER: usize = 4;
/// A watch: the kernel's notes and the workspace.
pub const WATCH: usize = 3;
/// A connection of a program to the network: its own and the one to the other end.
pub const VISIT: usize = 2;

/// Of the limit, one part in so many is kept back for calls that must always work ...
const RESERVE_PART: usize = 8;
/// ... but at least this many descriptors, and at most that many: more than such calls use at once.
const RESERVE: std::ops::RangeInclusive<usize> = 96..=1024;

/// What a hold is for, which decides how much of the limit it leaves alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Something new: leaves the whole reserve.
    Start,
    /// Reading what is there: leaves half of the reserve.
    Read,
}

/// Descriptors that somebody may have open; given back when it is dropped.
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

/// What was open when it was last counted.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    open: usize,
    held: usize,
}

/// The limit and the holds belong to the process, and so does this table.
static TABLE: OnceLock<Table> = OnceLock::new();

fn table() -> &'static Table {
    TABLE.get_or_init(|| {
        let limit = getrlimit(Resource::Nofile).current;
        Table::new(limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX))
    })
}

/// Raises the soft limit of open files to the hard one: each session and each execution holds a few. Programs do not
/// inherit it: each gets the limit of its session. To be called before the first hold.
pub fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
    {
        tracing::warn!(%error, "the limit of open files cannot be raised");
    }
    // The first random number may open a file, which stays open: now, while there is one.
    let _ = SessionId::random();
    tracing::info!(limit = table().limit, reserve = table().reserve(), "open files");
}

/// Takes descriptors for something, or says why not.
pub fn hold(count: usize, purpose: Purpose) -> Result<Hold, Fault> {
    table().hold(count, purpose).ok_or_else(|| {
        Fault::new(FaultKind::Exhausted, "the worker has too many files open for this").hint(
            "end executions or sessions that are not needed; the operator can raise the limit of open files \
             (`ulimit -Hn`, systemd: `LimitNOFILE=`) where the worker is started",
        )
    })
}

/// Takes descriptors for something that is there already, however many are left.
pub fn hold_anyway(count: usize) -> Hold {
    table().held.fetch_add(count, Ordering::Relaxed);
    Hold { table: table(), count }
}

/// For how many things of this cost there are descriptors.
pub fn capacity(cost: usize) -> usize {
    let table = table();
    table.limit.saturating_sub(table.reserve()) / cost
}

/// Counts what is open, so that what takes no hold is known as well. Takes about a millisecond for ten thousand.
pub fn measure() {
    match std::fs::read_dir("/proc/self/fd") {
        Ok(entries) => table().has_open(entries.count()),
        // Not even one is left for this.
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
        (self.limit / RESERVE_PART).clamp(*RESERVE.start(), *RESERVE.end())
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
        // All that is promised; or, if that is more, what was open and what was promised since.
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
        assert!(table.hold(8, Purpose::Start).is_some(), "what is given back can be taken again");
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
