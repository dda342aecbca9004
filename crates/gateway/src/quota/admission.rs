//! Admission: limits how many executions run at once, for each owner and in all.
//!
//! Starts over a limit wait in one queue, in order of arrival. A free permit goes to the first start whose owner is below
//! its limit, so that an owner at its limit delays nobody else. A start whose client disconnects leaves the queue.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

/// The limits of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Executions of this owner at once; `None`: unlimited.
    pub(crate) own: Option<u64>,
    /// Executions of all owners at once; 0: unlimited.
    pub(crate) all: u64,
    /// Starts of this owner that may wait.
    pub(crate) queue_length: usize,
    /// The longest wait in the queue.
    pub(crate) max_wait: Duration,
}

/// Why a start was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The queue of its owner is full: this many starts wait.
    QueueFull(usize),
    /// It waited for the longest time allowed; its last position in the queue.
    TimedOut(usize),
}

/// A waiting start, as shown to its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// The position in the queue of all owners; 1 is the next.
    pub(crate) position: usize,
    /// The session of the start, or another name for it.
    pub(crate) what: String,
    /// When it entered the queue.
    pub(crate) since: Instant,
}

#[derive(Debug, Default)]
struct State {
    running: HashMap<String, u64>,
    total: u64,
    queue: VecDeque<Waiter>,
    next: u64,
}

#[derive(Debug)]
struct Waiter {
    number: u64,
    owner: String,
    what: String,
    rules: Rules,
    since: Instant,
    admit: oneshot::Sender<()>,
}

/// The running executions and the queue.
#[derive(Debug, Clone, Default)]
pub(crate) struct Admission(Arc<Mutex<State>>);

/// The permit of a running execution; returned when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    admission: Admission,
    owner: String,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.admission.state();
        state.leave(&self.owner);
        state.admit_next();
    }
}

/// A start in the queue, which leaves the queue when it is dropped.
struct InQueue<'a> {
    admission: &'a Admission,
    number: u64,
    owner: &'a str,
    admitted: oneshot::Receiver<()>,
    taken: bool,
}

impl Drop for InQueue<'_> {
    fn drop(&mut self) {
        let mut state = self.admission.state();
        state.queue.retain(|waiter| waiter.number != self.number);
        if !self.taken && self.admitted.try_recv().is_ok() {
            // Admitted at the moment it left: the permit goes to the next start.
            state.leave(self.owner);
            state.admit_next();
        }
    }
}

impl State {
    fn is_below_limits(&self, owner: &str, rules: &Rules) -> bool {
        let own = self.running.get(owner).copied().unwrap_or(0);
        rules.own.is_none_or(|most| own < most) && (rules.all == 0 || self.total < rules.all)
    }

    fn enter(&mut self, owner: &str) {
        *self.running.entry(owner.to_owned()).or_default() += 1;
        self.total += 1;
    }

    fn leave(&mut self, owner: &str) {
        self.total = self.total.saturating_sub(1);
        if let Some(own) = self.running.get_mut(owner) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                self.running.remove(owner);
            }
        }
    }

    /// Gives free permits to the first starts whose owners are below their limits.
    fn admit_next(&mut self) {
        while let Some(n) =
            self.queue.iter().position(|waiter| self.is_below_limits(&waiter.owner, &waiter.rules))
        {
            let Some(waiter) = self.queue.remove(n) else { return };
            self.enter(&waiter.owner);
            if waiter.admit.send(()).is_err() {
                self.leave(&waiter.owner); // its client has disconnected
            }
        }
    }
}

impl Admission {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn permit(&self, owner: &str) -> Permit {
        Permit { admission: self.clone(), owner: owner.to_owned() }
    }

    /// A permit for an execution that already runs, regardless of the limits.
    pub(crate) fn take(&self, owner: &str) -> Permit {
        self.state().enter(owner);
        self.permit(owner)
    }

    /// Takes a permit, or waits for one.
    pub(crate) async fn enter(&self, owner: &str, what: &str, rules: Rules) -> Result<Permit, Refusal> {
        let mut in_queue = {
            let mut state = self.state();
            // Starts of the same owner are admitted in order of arrival.
            let others_wait = state.queue.iter().any(|waiter| waiter.owner == owner);
            if !others_wait && state.is_below_limits(owner, &rules) {
                state.enter(owner);
                drop(state);
                return Ok(self.permit(owner));
            }
            let waiting = state.queue.iter().filter(|waiter| waiter.owner == owner).count();
            if waiting >= rules.queue_length {
                return Err(Refusal::QueueFull(waiting));
            }
            let (admit, admitted) = oneshot::channel();
            let (number, since) = (state.next, Instant::now());
            state.next += 1;
            let what = what.to_owned();
            state.queue.push_back(Waiter { number, owner: owner.to_owned(), what, rules, since, admit });
            InQueue { admission: self, number, owner, admitted, taken: false }
        };
        match tokio::time::timeout(rules.max_wait, &mut in_queue.admitted).await {
            Ok(Ok(())) => {
                in_queue.taken = true;
                Ok(self.permit(owner))
            }
            _ => Err(Refusal::TimedOut(self.position(in_queue.number).unwrap_or(1))),
        }
    }

    fn position(&self, number: u64) -> Option<usize> {
        self.state().queue.iter().position(|waiter| waiter.number == number).map(|n| n + 1)
    }

    /// The number of running executions of an owner.
    pub(crate) fn running(&self, owner: &str) -> u64 {
        self.state().running.get(owner).copied().unwrap_or(0)
    }

    /// The number of waiting starts of all owners.
    pub(crate) fn queue_length(&self) -> usize {
        self.state().queue.len()
    }

    /// The waiting starts of an owner.
    pub(crate) fn waiting(&self, owner: &str) -> Vec<Waiting> {
        let state = self.state();
        let all = state.queue.iter().enumerate().filter(|(_, waiter)| waiter.owner == owner);
        all.map(|(n, waiter)| Waiting { position: n + 1, what: waiter.what.clone(), since: waiter.since })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(own: u64) -> Rules {
        Rules { own: Some(own), all: 0, queue_length: 2, max_wait: Duration::from_secs(30) }
    }

    #[tokio::test(start_paused = true)]
    async fn starts_over_the_limit_wait_in_order_of_arrival() {
        let admission = Admission::default();
        let first = admission.enter("ann", "a", rules(1)).await.unwrap();
        let (sender, mut order) = tokio::sync::mpsc::unbounded_channel();
        for what in ["b", "c"] {
            let (admission, sender) = (admission.clone(), sender.clone());
            tokio::spawn(async move {
                let permit = admission.enter("ann", what, rules(1)).await.unwrap();
                sender.send(what).unwrap();
                drop(permit);
            });
            tokio::task::yield_now().await;
        }
        let positions: Vec<_> =
            admission.waiting("ann").into_iter().map(|one| (one.position, one.what)).collect();
        assert_eq!(positions, [(1, "b".to_owned()), (2, "c".to_owned())]);
        assert_eq!(admission.enter("ann", "d", rules(1)).await.unwrap_err(), Refusal::QueueFull(2));
        // The limit of another owner is not affected.
        let other = admission.enter("bob", "x", rules(1)).await.unwrap();
        drop(first);
        assert_eq!((order.recv().await, order.recv().await), (Some("b"), Some("c")));
        drop(other);
        assert_eq!((admission.running("ann"), admission.running("bob")), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_start_that_waits_for_too_long_or_is_dropped_leaves_no_trace() {
        let admission = Admission::default();
        let held = admission.take("ann");
        assert_eq!(admission.enter("ann", "a", rules(1)).await.unwrap_err(), Refusal::TimedOut(1));
        assert_eq!(admission.waiting("ann"), []);
        let waiting = tokio::spawn({
            let admission = admission.clone();
            async move { admission.enter("ann", "b", rules(1)).await.map(drop) }
        });
        tokio::task::yield_now().await;
        assert_eq!(admission.waiting("ann").len(), 1);
        waiting.abort();
        let _ = waiting.await;
        assert_eq!(admission.waiting("ann"), []);
        drop(held);
        assert_eq!(admission.running("ann"), 0);
        assert!(admission.enter("ann", "c", rules(1)).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn the_limit_of_all_holds_for_all_and_an_owner_at_its_limit_holds_up_nobody() {
        let admission = Admission::default();
        let both = Rules { own: Some(1), all: 2, ..rules(1) };
        let (ann, bob) = (
            admission.enter("ann", "1", both).await.unwrap(),
            admission.enter("bob", "1", both).await.unwrap(),
        );
        let wait = |owner: &'static str| {
            let admission = admission.clone();
            tokio::spawn(async move { admission.enter(owner, "2", both).await.unwrap() })
        };
        let (ann_again, eve) = (wait("ann"), wait("eve"));
        tokio::task::yield_now().await;
        assert_eq!(admission.waiting("eve")[0].position, 2);
        drop(bob); // ann is first in the queue, and at its limit
        let eve = eve.await.unwrap();
        drop(ann);
        let ann = ann_again.await.unwrap();
        drop((ann, eve));
        assert_eq!(admission.state().total, 0);
    }
}
