//! State shared by the two directions of a socket and by others that send it notices: the credit, the format of
//! frames, and pending notices.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use super::notice::Notice;
use crate::error::ApiError;

/// The maximum number of pending notices; a client that causes more errors than it reads gets only these.
const MAX_NOTICES: usize = 16;

#[derive(Debug, Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes of output that may be sent; None means unlimited, until the first credit.
    credit: Option<u64>,
    notices: VecDeque<Notice>,
    /// Whether the client has sent a binary frame.
    is_binary: bool,
}

impl Shared {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Grants this many more bytes.
    pub(crate) fn grant(&self, bytes: u32) {
        let mut state = self.state();
        state.credit = Some(state.credit.unwrap_or(0).saturating_add(bytes.into()));
        drop(state);
        self.changed.notify_one();
    }

    /// Takes as much of `wanted` as the credit allows.
    pub(crate) fn take(&self, wanted: usize) -> usize {
        let mut state = self.state();
        let Some(credit) = &mut state.credit else {
            return wanted;
        };
        let taken = (wanted as u64).min(*credit);
        *credit -= taken;
        usize::try_from(taken).unwrap_or(wanted)
    }

    /// Returns bytes that were taken and not sent.
    pub(crate) fn give_back(&self, bytes: usize) {
        if let Some(credit) = &mut self.state().credit {
            *credit = credit.saturating_add(bytes as u64);
        }
    }

    /// Queues an error for the client.
    pub(crate) fn send_error(&self, error: ApiError) {
        self.notice(Notice::Error(error));
    }

    /// Queues a notice for the client. Only the last size is kept.
    pub(crate) fn notice(&self, notice: Notice) {
        let mut state = self.state();
        if matches!(notice, Notice::Resized(_)) {
            state.notices.retain(|waiting| !matches!(waiting, Notice::Resized(_)));
            state.notices.push_back(notice);
        } else if state.notices.len() < MAX_NOTICES {
            state.notices.push_back(notice);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// The next pending notice.
    pub(crate) fn next_notice(&self) -> Option<Notice> {
        self.state().notices.pop_front()
    }

    /// Notes that the client uses binary frames.
    pub(crate) fn speaks_binary(&self) {
        self.state().is_binary = true;
    }

    /// Whether the client uses binary frames.
    pub(crate) fn is_binary(&self) -> bool {
        self.state().is_binary
    }

    /// Waits for a change since the last call.
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
        (0..100).for_each(|_| shared.send_error(ApiError::invalid("no")));
        for rows in 1..100 {
            shared.notice(Notice::Resized(TtySize { rows, cols: 80 }));
        }
        let notices: Vec<_> = std::iter::from_fn(|| shared.next_notice()).collect();
        assert_eq!(notices.len(), MAX_NOTICES + 1);
        assert!(matches!(notices.last(), Some(Notice::Resized(TtySize { rows: 99, cols: 80 }))));
    }

    #[test]
    fn a_client_that_makes_errors_without_end_costs_no_more_than_a_few() {
        let shared = Shared::default();
        for _ in 0..1000 {
            shared.send_error(ApiError::invalid("no"));
        }
        assert_eq!(std::iter::from_fn(|| shared.next_notice()).count(), MAX_NOTICES);
    }
}
