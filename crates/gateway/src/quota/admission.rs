//! Who may start something now, and who waits: executions at once, of each owner and of all.
//!
//! A start that has to wait stands in one queue, in the order in which they came. When a place becomes free it goes to the
//! first whose owner may have one, so that an owner who is at its limit holds up nobody else. Whoever goes away leaves
//! the queue.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

/// How many may be at once, and how many may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Of this owner; `None`: any number.
    pub(crate) own: Option<u64>,
    /// Of all owners; 0: any number.
    pub(crate) all: u64,
    /// Starts of this owner that may wait.
    pub(crate) queue_length: usize,
    /// How long one waits.
    pub(crate) patience: Duration,
}

/// Why a start was not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The queue of its owner is full: this many starts wait.
    QueueFull(usize),
    /// It waited for the longest time allowed; its last position in the queue.
    TimedOut(usize),
}

/// One that waits, as told to its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// 1 is the next of all.
    pub(crate) place: usize,
    /// Where it is to run, or what else names it.
    pub(crate) what: String,
    /// For how long.
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
    call: oneshot::Sender<()>,
}

/// The door to running.
#[derive(Debug, Clone, Default)]
pub(crate) struct Admission(Arc<Mutex<State>>);

/// A place among those that run; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    admission: Admission,
    owner: String,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.admission.state();
        state.leave(&self.owner);
        state.call_next();
    }
}

/// Leaves the queue when its owner goes away before it was called.
struct InQueue<'a> {
    admission: &'a Admission,
    number: u64,
    owner: &'a str,
    called: oneshot::Receiver<()>,
    taken: bool,
}

impl Drop for InQueue<'_> {
    fn drop(&mut self) {
        let mut state = self.admission.state();
        state.queue.retain(|waiter| waiter.number != self.number);
        if !self.taken && self.called.try_recv().is_ok() {
            // Called at the very moment in which it left: the place is the next one's.
            state.leave(self.owner);
            state.call_next();
        }
    }
}

impl State {
    fn has_room(&self, owner: &str, rules: &Rules) -> bool {
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

    /// Gives free places to the first who may have them.
    fn call_next(&mut self) {
        while let Some(n) = self.queue.iter().position(|waiter| self.has_room(&waiter.owner, &waiter.rules)) {
            let Some(waiter) = self.queue.remove(n) else { return };
            self.enter(&waiter.owner);
            if waiter.call.send(()).is_err() {
                self.leave(&waiter.owner); // it has gone
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

    /// Takes a place for something that runs already, whatever the rules say.
    pub(crate) fn take(&self, owner: &str) -> Permit {
        self.state().enter(owner);
        self.permit(owner)
    }

    /// Takes a place, or waits for one.
    pub(crate) async fn enter(&self, owner: &str, what: &str, rules: Rules) -> Result<Permit, Refusal> {
        let mut in_queue = {
            let mut state = self.state();
            // Nobody who came later may have it while somebody of the same owner waits.
            let others_wait = state.queue.iter().any(|waiter| waiter.owner == owner);
            if !others_wait && state.has_room(owner, &rules) {
                state.enter(owner);
                drop(state);
                return Ok(self.permit(owner));
            }
            let waiting = state.queue.iter().filter(|waiter| waiter.owner == owner).count();
            if waiting >= rules.queue_length {
                return Err(Refusal::QueueFull(waiting));
            }
            let (call, called) = oneshot::channel();
            let (number, since) = (state.next, Instant::now());
            state.next += 1;
            let what = what.to_owned();
            state.queue.push_back(Waiter { number, owner: owner.to_owned(), what, rules, since, call });
            InQueue { admission: self, number, owner, called, taken: false }
        };
        match tokio::time::timeout(rules.patience, &mut in_queue.called).await {
            Ok(Ok(())) => {
                in_queue.taken = true;
                Ok(self.permit(owner))
            }
            _ => Err(Refusal::TimedOut(self.place(in_queue.number).unwrap_or(1))),
        }
    }

    fn place(&self, number: u64) -> Option<usize> {
        self.state().queue.iter().position(|waiter| waiter.number == number).map(|n| n + 1)
    }

    /// How many of this owner run.
    pub(crate) fn running(&self, owner: &str) -> u64 {
        self.state().running.get(owner).copied().unwrap_or(0)
    }

    /// Those of this owner that wait, with their places among all.
    pub(crate) fn waiting(&self, owner: &str) -> Vec<Waiting> {
        let state = self.state();
        let all = state.queue.iter().enumerate().filter(|(_, waiter)| waiter.owner == owner);
        all.map(|(n, waiter)| Waiting { place: n + 1, what: waiter.what.clone(), since: waiter.since })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(own: u64) -> Rules {
        Rules { own: Some(own), all: 0, queue_length: 2, patience: Duration::from_secs(30) }
    }

    #[tokio::test(start_paused = true)]
    async fn starts_over_the_limit_wait_in_order_of_arrival() {
        let door = Admission::default();
        let first = door.enter("ann", "a", rules(1)).await.unwrap();
        let (sender, mut order) = tokio::sync::mpsc::unbounded_channel();
        for what in ["b", "c"] {
            let (door, sender) = (door.clone(), sender.clone());
            tokio::spawn(async move {
                let permit = door.enter("ann", what, rules(1)).await.unwrap();
                sender.send(what).unwrap();
                drop(permit);
            });
            tokio::task::yield_now().await;
        }
        let places: Vec<_> = door.waiting("ann").into_iter().map(|one| (one.place, one.what)).collect();
        assert_eq!(places, [(1, "b".to_owned()), (2, "c".to_owned())]);
        assert_eq!(door.enter("ann", "d", rules(1)).await.unwrap_err(), Refusal::QueueFull(2));
        // Another's place is another's.
        let other = door.enter("bob", "x", rules(1)).await.unwrap();
        drop(first);
        assert_eq!((order.recv().await, order.recv().await), (Some("b"), Some("c")));
        drop(other);
        assert_eq!((door.running("ann"), door.running("bob")), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_start_that_waits_for_too_long_or_is_dropped_leaves_no_trace() {
        let door = Admission::default();
        let held = door.take("ann");
        assert_eq!(door.enter("ann", "a", rules(1)).await.unwrap_err(), Refusal::TimedOut(1));
        assert_eq!(door.waiting("ann"), []);
        let waiting = tokio::spawn({
            let door = door.clone();
            async move { door.enter("ann", "b", rules(1)).await.map(drop) }
        });
        tokio::task::yield_now().await;
        assert_eq!(door.waiting("ann").len(), 1);
        waiting.abort();
        let _ = waiting.await;
        assert_eq!(door.waiting("ann"), []);
        drop(held);
        assert_eq!(door.running("ann"), 0);
        assert!(door.enter("ann", "c", rules(1)).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn the_limit_of_all_holds_for_all_and_an_owner_at_its_limit_holds_up_nobody() {
        let door = Admission::default();
        let both = Rules { own: Some(1), all: 2, ..rules(1) };
        let (ann, bob) =
            (door.enter("ann", "1", both).await.unwrap(), door.enter("bob", "1", both).await.unwrap());
        let wait = |owner: &'static str| {
            let door = door.clone();
            tokio::spawn(async move { door.enter(owner, "2", both).await.unwrap() })
        };
        let (ann_again, eve) = (wait("ann"), wait("eve"));
        tokio::task::yield_now().await;
        assert_eq!(door.waiting("eve")[0].place, 2);
        drop(bob); // ann is first in the queue, and at its limit
        let eve = eve.await.unwrap();
        drop(ann);
        let ann = ann_again.await.unwrap();
        drop((ann, eve));
        assert_eq!(door.state().total, 0);
    }
}
