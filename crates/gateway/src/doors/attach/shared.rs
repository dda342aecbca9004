//! What the two directions of a socket tell each other: how much may be sent, and what went wrong.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::error::ApiError;

/// Errors that wait to be told; a client that makes more than it reads is told of these.
const MAX_ERRORS: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes of output that may be sent; none means any number, until the first credit.
    credit: Option<u64>,
    errors: VecDeque<ApiError>,
}

impl Shared {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So many more bytes may be sent.
    pub(super) fn grant(&self, bytes: u32) {
        let mut state = self.state();
        state.credit = Some(state.credit.unwrap_or(0).saturating_add(bytes.into()));
        drop(state);
        self.changed.notify_one();
    }

    /// Takes as much of `wanted` as may be sent.
    pub(super) fn take(&self, wanted: usize) -> usize {
        let mut state = self.state();
        let Some(credit) = &mut state.credit else {
            return wanted;
        };
        let taken = (wanted as u64).min(*credit);
        *credit -= taken;
        usize::try_from(taken).unwrap_or(wanted)
    }

    /// So many of the bytes that were taken are not sent after all.
    pub(super) fn give_back(&self, bytes: usize) {
        if let Some(credit) = &mut self.state().credit {
            *credit = credit.saturating_add(bytes as u64);
        }
    }

    /// The client is to be told of this.
    pub(super) fn tell(&self, error: ApiError) {
        let mut state = self.state();
        if state.errors.len() < MAX_ERRORS {
            state.errors.push_back(error);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// What the client is yet to be told of.
    pub(super) fn error(&self) -> Option<ApiError> {
        self.state().errors.pop_front()
    }

    /// Waits until something has changed since the last time.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_the_first_credit_there_is_no_bound_and_then_there_is() {
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
    fn a_client_that_makes_errors_without_end_costs_no_more_than_a_few() {
        let shared = Shared::default();
        for _ in 0..1000 {
            shared.tell(ApiError::invalid("no"));
        }
        assert_eq!(std::iter::from_fn(|| shared.error()).count(), MAX_ERRORS);
    }
}
