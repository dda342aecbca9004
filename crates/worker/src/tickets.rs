//! How many executions are on their way at once, and how many may be.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The count.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tickets(Arc<AtomicUsize>);

/// The place of one execution; dropping it gives the place back.
#[derive(Debug)]
pub(crate) struct Ticket(Arc<AtomicUsize>);

impl Tickets {
    /// A place, unless so many are taken already.
    pub(crate) fn take(&self, at_most: usize) -> Option<Ticket> {
        let taken = self.0.fetch_add(1, Ordering::Relaxed);
        let ticket = Ticket(Arc::clone(&self.0));
        (taken < at_most).then_some(ticket)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_given_back_can_be_taken_again() {
        let tickets = Tickets::default();
        let first = tickets.take(1);
        assert!(first.is_some() && tickets.take(1).is_none());
        drop(first);
        assert!(tickets.take(1).is_some());
    }
}
