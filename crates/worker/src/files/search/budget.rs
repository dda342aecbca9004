//! How long a search goes on.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::time::Instant;

/// Why a search ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    Limit,
    Time,
    Entries,
    /// The caller has gone.
    Cancelled,
}

/// Decides whether the search continues.
pub(super) struct Budget<'a> {
    pub(super) deadline: Instant,
    pub(super) listens: &'a dyn Fn() -> bool,
    pub(super) stop: &'a Cell<Option<Stop>>,
}

impl Budget<'_> {
    pub(super) fn goes_on(&self) -> bool {
        if self.stop.get().is_none() {
            if Instant::now() >= self.deadline {
                self.stop.set(Some(Stop::Time));
            } else if !(self.listens)() {
                self.stop.set(Some(Stop::Cancelled));
            }
        }
        self.stop.get().is_none()
    }
}

/// A file that can be read only while the search continues.
pub(super) struct CancellableReader<'a> {
    pub(super) inner: File,
    pub(super) budget: Budget<'a>,
}

impl Read for CancellableReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.budget.goes_on() {
            return Err(io::Error::other("the search has ended"));
        }
        self.inner.read(buffer)
    }
}
