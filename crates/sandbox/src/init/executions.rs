//! The executions whose exit or descriptors a worker may still need.

use headwater_protocol::ExecutionId;

use super::clock;
use super::code_file::CodeFile;
use super::process_tree;
use super::scratch_dir::ScratchDir;
use super::spawn::Spawned;
use super::stdio::WorkerEnds;
use crate::wire::{Cause, Exit, Start};

/// When this many finished executions are remembered, those without processes are dropped.
const SWEEP_FROM_ENTRIES: usize = 64;

/// Whether the worker has the exit of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExitReport {
    /// Not sent yet, or sent to a worker that has disconnected.
    Pending,
    /// Sent to the worker that is connected now.
    Sent,
    /// The worker has logged it. It is never sent again.
    Logged,
}

/// An execution whose exit the worker has not logged, or whose descriptors it may want again.
#[derive(Debug)]
pub(super) struct HeldExecution {
    pub(super) id: ExecutionId,
    pub(super) tag: u64,
    pub(super) pid: i32,
    pub(super) started_at_us: u64,
    /// Start time in monotonic nanoseconds.
    pub(super) started: u64,
    /// When the wall time runs out, in monotonic nanoseconds; only while the program runs.
    pub(super) deadline: Option<u64>,
    pub(super) grace_ms: u64,
    pub(super) kill_children: bool,
    pub(super) ends: WorkerEnds,
    /// Removed when the program exits.
    pub(super) code_file: Option<CodeFile>,
    /// Removed when the program exits.
    pub(super) scratch: Option<ScratchDir>,
    /// Why init stopped it, if that happened while the program was running.
    pub(super) cause: Option<Cause>,
    pub(super) exit: Option<Exit>,
    /// Whether the worker has the exit.
    pub(super) exit_report: ExitReport,
    pub(super) note: Vec<u8>,
}

impl HeldExecution {
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
            exit_report: ExitReport::Pending,
            note: start.note,
        }
    }

    /// Whether neither its descriptors nor its exit will be requested again.
    fn is_done(&self) -> bool {
        self.exit_report == ExitReport::Logged && matches!(self.ends, WorkerEnds::None)
    }
}

/// All executions of this init, finished ones included while they may have processes.
#[derive(Debug, Default)]
pub(super) struct Executions {
    held: Vec<HeldExecution>,
    /// Finished executions that may have background children, with their tags.
    past: Vec<(ExecutionId, u64)>,
    /// How many of `past` had processes at the last sweep.
    past_alive: usize,
}

impl Executions {
    pub(super) fn add(&mut self, held: HeldExecution) {
        self.held.push(held);
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, HeldExecution> {
        self.held.iter()
    }

    pub(super) fn iter_mut(&mut self) -> std::slice::IterMut<'_, HeldExecution> {
        self.held.iter_mut()
    }

    pub(super) fn get(&self, id: ExecutionId) -> Option<&HeldExecution> {
        self.held.iter().find(|held| held.id == id)
    }

    pub(super) fn get_mut(&mut self, id: ExecutionId) -> Option<&mut HeldExecution> {
        self.held.iter_mut().find(|held| held.id == id)
    }

    /// The execution whose program has this pid. A pid may be reused once its program has been reaped.
    pub(super) fn running(&mut self, pid: i32) -> Option<&mut HeldExecution> {
        self.held.iter_mut().find(|held| held.pid == pid && held.exit.is_none())
    }

    /// The tag of an execution, finished or not.
    pub(super) fn tag(&self, id: ExecutionId) -> Option<u64> {
        let past = || self.past.iter().find(|(past, _)| *past == id).map(|(_, tag)| *tag);
        self.get(id).map(|held| held.tag).or_else(past)
    }

    /// Moves an execution to `past` if nothing of it is needed any more.
    pub(super) fn settle(&mut self, id: ExecutionId) {
        let Some(at) = self.held.iter().position(|held| held.id == id && held.is_done()) else {
            return;
        };
        let done = self.held.swap_remove(at);
        self.past.push((done.id, done.tag));
        if self.past.len() >= SWEEP_FROM_ENTRIES.max(2 * self.past_alive) {
            self.forget_past();
        }
    }

    /// Drops all finished executions: no process is left.
    pub(super) fn forget_all_past(&mut self) {
        self.past.clear();
        self.past_alive = 0;
    }

    /// Drops finished executions without processes, with a few scans for all of them together.
    fn forget_past(&mut self) {
        let mut alive = vec![false; self.past.len()];
        for _ in 0..process_tree::EMPTY_SCANS_REQUIRED {
            if look(&self.past, &mut alive).is_err() {
                alive.fill(true);
            }
        }
        let mut alive = alive.into_iter();
        self.past.retain(|_| alive.next().unwrap_or(true));
        self.past_alive = self.past.len();
    }
}

/// Marks the executions that have a process.
fn look(past: &[(ExecutionId, u64)], alive: &mut [bool]) -> Result<(), rustix::io::Errno> {
    let place = |tag: u64| past.iter().position(|(_, past)| *past == tag);
    process_tree::scan(
        |tag| place(tag).is_some(),
        |_, tag| {
            if let Some(alive) = place(tag).and_then(|at| alive.get_mut(at)) {
                *alive = true;
            }
        },
    )
}
