//! What the two directions of a socket tell each other, and what others tell a socket: how much may be sent, in which
//! dialect, and what its client is to be told besides events.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use super::note::Note;
use crate::error::ApiError;

/// Notes that wait to be told; a client that makes more errors than it reads is told of these.
const MAX_NOTES: usize = 16;

#[derive(Debug, Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes of output that may be sent; none means any number, until the first credit.
    credit: Option<u64>,
    notes: VecDeque<Note>,
    /// The client has sent a binary frame.
    is_binary: bool,
}

impl Shared {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So many more bytes may be sent.
    pub(crate) fn grant(&self, bytes: u32) {
        let mut state = self.state();
        state.credit = Some(state.credit.unwrap_or(0).saturating_add(bytes.into()));
        drop(state);
        self.changed.notify_one();
    }

    /// Takes as much of `wanted` as may be sent.
    pub(crate) fn take(&self, wanted: usize) -> usize {
        let mut state = self.state();
        let Some(credit) = &mut state.credit else {
            return wanted;
        };
        let taken = (wanted as u64).min(*credit);
        *credit -= taken;
        usize::try_from(taken).unwrap_or(wanted)
    }

    /// So many of the bytes that were taken are not sent after all.
    pub(crate) fn give_back(&self, bytes: usize) {
        if let Some(credit) = &mut self.state().credit {
            *credit = credit.saturating_add(bytes as u64);
        }
    }

    /// The client is to be told of this error.
    pub(crate) fn tell(&self, error: ApiError) {
        self.note(Note::Error(error));
    }

    /// The client is to be told of this. Of sizes only the last counts.
    pub(crate) fn note(&self, note: Note) {
        let mut state = self.state();
        if matches!(note, Note::Resized(_)) {
            state.notes.retain(|waiting| !matches!(waiting, Note::Resized(_)));
            state.notes.push_back(note);
        } else if state.notes.len() < MAX_NOTES {
            state.notes.push_back(note);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// What the client is yet to be told of.
    pub(crate) fn next_note(&self) -> Option<Note> {
        self.state().notes.pop_front()
    }

    /// The client speaks in binary frames.
    pub(crate) fn speaks_binary(&self) {
        self.state().is_binary = true;
    }

    /// Whether it does.
    pub(crate) fn is_binary(&self) -> bool {
        self.state().is_binary
    }

    /// Waits until something has changed since the last time.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use headwater_protocol::TtySize;

    use super::*;

    #[test]
    fn output_is_unbounded_before_the_first_credit_and_bounded_after_it() {
        let shared = Shared::default();
        assert_eq!(shared.take(1 << 30), 1 << 30);
        shared.grant(10);
        assert_eq!((shared.take(4), shared.take(4), shared.take(4), shared.take(1)), (4, 4, 2, 0));
        shared.grant(0);
        assert_eq!(shared.take(1), 0);
        shared.grant(u32::MAX);
        shared.grant(3);
        assert_eq!(shared.take(usize::MAX), (1 << 32) + 2);
    }

    #[test]
    fn of_many_sizes_the_last_is_sent_however_many_errors_are_pending() {
        let shared = Shared::default();
        (0..100).for_each(|_| shared.tell(ApiError::invalid("no")));
        for rows in 1..100 {
            shared.note(Note::Resized(TtySize { rows, cols: 80 }));
        }
        let notes: Vec<_> = std::iter::from_fn(|| shared.next_note()).collect();
        assert_eq!(notes.len(), MAX_NOTES + 1);
        assert!(matches!(notes.last(), Some(Note::Resized(TtySize { rows: 99, cols: 80 }))));
    }

    #[test]
    fn a_client_that_makes_errors_without_end_costs_no_more_than_a_few() {
        let shared = Shared::default();
        for _ in 0..1000 {
            shared.tell(ApiError::invalid("no"));
        }
        assert_eq!(std::iter::from_fn(|| shared.next_note()).count(), MAX_NOTES);
    }
}
