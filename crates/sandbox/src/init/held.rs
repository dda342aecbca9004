//! The executions that init still answers for.

use headwater_protocol::ExecutionId;

use super::clock;
use super::code_file::CodeFile;
use super::ends::Ends;
use super::scratch::Scratch;
use super::spawn::Spawned;
use super::tree;
use crate::wire::{Cause, Exit, Start};

/// After so many forgotten executions init looks which of them still have processes.
const PAST_AT_LEAST: usize = 64;

/// How far the worker knows of an exit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// Not at all, as far as init can be sure.
    Untold,
    /// This worker has been told.
    Told,
    /// It is in a log: never to be told again.
    Logged,
}

/// An execution whose exit the worker has not logged, or whose descriptors it may want again.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) id: ExecutionId,
    pub(super) tag: u64,
    pub(super) pid: i32,
    pub(super) started_at_us: u64,
    /// Monotonic nanoseconds.
    pub(super) started: u64,
    /// When its wall time runs out, while the program runs.
    pub(super) deadline: Option<u64>,
    pub(super) grace_ms: u64,
    pub(super) kill_children: bool,
    pub(super) ends: Ends,
    /// While the program runs.
    pub(super) code_file: Option<CodeFile>,
    /// Likewise.
    pub(super) scratch: Option<Scratch>,
    /// Why it was stopped, if it was while the program ran.
    pub(super) cause: Option<Cause>,
    pub(super) exit: Option<Exit>,
    /// How far the worker knows of the exit.
    pub(super) known: Known,
    pub(super) note: Vec<u8>,
}

impl Held {
    pub(super) fn new(start: Start, tag: u64, spawned: Spawned) -> Self {
        Self {
            id: start.execution,
            tag,
            pid: spawned.pid,
            started_at_us: spawned.at_us,
            started: spawned.at,
            deadline: start.timeout_ms.map(|ms| clock::after(spawned.at, ms)),
            grace_ms: start.grace_ms,
            kill_children: start.kill_children,
            ends: spawned.ends,
            code_file: spawned.code_file,
            scratch: spawned.scratch,
            cause: None,
            exit: None,
            known: Known::Untold,
            note: start.note,
        }
    }

    /// Whether nobody will ask for its descriptors or its exit again.
    fn is_done(&self) -> bool {
        self.known == Known::Logged && matches!(self.ends, Ends::None)
    }
}

/// All executions of this init, those that are done among them while they may have processes.
#[derive(Debug, Default)]
pub(super) struct Executions {
    held: Vec<Held>,
    /// Done, but perhaps with children that run on.
    past: Vec<(ExecutionId, u64)>,
    /// How many of `past` had processes when last looked at.
    past_alive: usize,
}

impl Executions {
    pub(super) fn add(&mut self, held: Held) {
        self.held.push(held);
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, Held> {
        self.held.iter()
    }

    pub(super) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Held> {
        self.held.iter_mut()
    }

    pub(super) fn get(&self, id: ExecutionId) -> Option<&Held> {
        self.held.iter().find(|held| held.id == id)
    }

    pub(super) fn get_mut(&mut self, id: ExecutionId) -> Option<&mut Held> {
        self.held.iter_mut().find(|held| held.id == id)
    }

    /// The one whose program this is. An id is free for others once its program has been waited for.
    pub(super) fn running(&mut self, pid: i32) -> Option<&mut Held> {
        self.held.iter_mut().find(|held| held.pid == pid && held.exit.is_none())
    }

    /// The tag of an execution, done or not.
    pub(super) fn tag(&self, id: ExecutionId) -> Option<u64> {
        let past = || self.past.iter().find(|(past, _)| *past == id).map(|(_, tag)| *tag);
        self.get(id).map(|held| held.tag).or_else(past)
    }

    /// Forgets what is done of this execution.
    pub(super) fn settle(&mut self, id: ExecutionId) {
        let Some(at) = self.held.iter().position(|held| held.id == id && held.is_done()) else {
            return;
        };
        let done = self.held.swap_remove(at);
        self.past.push((done.id, done.tag));
        if self.past.len() >= PAST_AT_LEAST.max(2 * self.past_alive) {
            self.forget_past();
        }
    }

    /// No process is left at all.
    pub(super) fn forget_all_past(&mut self) {
        self.past.clear();
        self.past_alive = 0;
    }

    /// Forgets those without processes: a few looks for all of them together.
    fn forget_past(&mut self) {
        let mut alive = vec![false; self.past.len()];
        for _ in 0..tree::LOOKS {
            if look(&self.past, &mut alive).is_err() {
                alive.fill(true);
            }
        }
        let mut alive = alive.into_iter();
        self.past.retain(|_| alive.next().unwrap_or(true));
        self.past_alive = self.past.len();
    }
}

/// Marks those that have a process.
fn look(past: &[(ExecutionId, u64)], alive: &mut [bool]) -> Result<(), rustix::io::Errno> {
    let place = |tag: u64| past.iter().position(|(_, past)| *past == tag);
    tree::scan(
        |tag| place(tag).is_some(),
        |_, tag| {
            if let Some(alive) = place(tag).and_then(|at| alive.get_mut(at)) {
                *alive = true;
            }
        },
    )
}
