//! What an agent remembers of its commands. Everything here can be lost: results then begin with the first byte
//! of the log again.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headwater_protocol::{ExecutionId, Seq};
use tokio::sync::broadcast;

use super::endings::Ending;
use super::find::number_of;
use super::room::Room;
use crate::output::Carry;

/// The executions that are remembered. Those that were used least recently are forgotten first.
const MAX_KNOWN: usize = 1024;
/// Endings that a slow subscriber can be behind.
const ENDINGS: usize = 64;

/// How far an agent has read the output of an execution.
#[derive(Debug, Clone, Default)]
pub(super) struct Cursor {
    /// The last event.
    pub(super) seq: Seq,
    /// The beginning of a character that the last result cut off.
    pub(super) carry: Carry,
    /// Whether a result has said that the command has ended.
    pub(super) knows_exit: bool,
}

#[derive(Debug, Default)]
struct Known {
    cursor: Cursor,
    /// Whether `kill` has reported the end: the next result need not say it again.
    was_killed: bool,
    /// Whether it was ended to make room for another one.
    was_let_go: bool,
    /// Grows with each use.
    used: u64,
    /// Held while input is written, so that the input of two calls is not mixed.
    input: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug, Default)]
struct Table {
    known: HashMap<ExecutionId, Known>,
    uses: u64,
    /// Executions whose end is awaited in the background.
    watched: HashSet<ExecutionId>,
    /// Ends that no result has reported yet.
    endings: Vec<Ending>,
}

/// The memory of an agent.
#[derive(Debug)]
pub(crate) struct Memory {
    table: Mutex<Table>,
    pub(super) room: Room,
    subscribers: broadcast::Sender<Ending>,
}

impl Default for Memory {
    fn default() -> Self {
        Self { table: Mutex::default(), room: Room::default(), subscribers: broadcast::channel(ENDINGS).0 }
    }
}

impl Memory {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far the agent has read. Counts as a use.
    pub(super) fn cursor(&self, id: ExecutionId) -> Cursor {
        self.table().touch(id).cursor.clone()
    }

    /// Notes that the agent has read up to here. Of two calls at the same time, the one that read further wins.
    pub(super) fn advance(&self, id: ExecutionId, cursor: Cursor) {
        let mut table = self.table();
        let known = table.touch(id);
        let knows_exit = known.cursor.knows_exit || cursor.knows_exit;
        if cursor.seq >= known.cursor.seq {
            known.cursor = cursor;
        }
        known.cursor.knows_exit = knows_exit;
    }

    /// The lock for writing input.
    pub(super) fn input(&self, id: ExecutionId) -> Arc<tokio::sync::Mutex<()>> {
        Arc::clone(&self.table().touch(id).input)
    }

    /// When it was last used, compared with others; 0 if it is not known.
    pub(super) fn last_use(&self, id: ExecutionId) -> u64 {
        self.table().known.get(&id).map_or(0, |known| known.used)
    }

    /// The execution with this number, if it is remembered.
    pub(super) fn by_number(&self, number: u64) -> Option<ExecutionId> {
        let table = self.table();
        let mut found: Vec<_> = table.known.iter().filter(|(id, _)| number_of(**id) == number).collect();
        found.sort_by_key(|(_, known)| known.used);
        found.last().map(|(id, _)| **id)
    }

    /// Whether the caller is the first that watches this execution.
    pub(super) fn begin_watching(&self, id: ExecutionId) -> bool {
        self.table().watched.insert(id)
    }

    /// Notes the end of a watched execution.
    pub(super) fn end_watching(&self, id: ExecutionId, ending: Option<Ending>) {
        let mut table = self.table();
        table.watched.remove(&id);
        let knows = table.known.get(&id).is_some_and(Known::knows_end);
        if let Some(ending) = ending.filter(|_| !knows) {
            table.endings.push(ending.clone());
            drop(table);
            // Without a subscriber, the next result says it.
            let _ = self.subscribers.send(ending);
        }
    }

    /// Whether a result has reported the end.
    pub(crate) fn knows_end(&self, id: ExecutionId) -> bool {
        self.table().known.get(&id).is_some_and(Known::knows_end)
    }

    /// Notes that the result of `kill` reports the end. The output before it is still to be read.
    pub(super) fn killed(&self, id: ExecutionId) {
        self.table().touch(id).was_killed = true;
    }

    /// Notes that an execution is ended to make room for another one.
    pub(super) fn let_go(&self, id: ExecutionId) {
        let mut table = self.table();
        table.known.entry(id).or_default().was_let_go = true;
    }

    /// Whether it was ended to make room.
    pub(super) fn was_let_go(&self, id: ExecutionId) -> bool {
        self.table().known.get(&id).is_some_and(|known| known.was_let_go)
    }

    /// Takes the ends that no result has reported.
    pub(super) fn take_endings(&self) -> Vec<Ending> {
        let mut table = self.table();
        let endings = std::mem::take(&mut table.endings);
        let is_new = |ending: &Ending| !table.known.get(&ending.execution).is_some_and(Known::knows_end);
        endings.into_iter().filter(is_new).collect()
    }

    /// A subscription to ends.
    pub(crate) fn endings(&self) -> broadcast::Receiver<Ending> {
        self.subscribers.subscribe()
    }
}

impl Known {
    const fn knows_end(&self) -> bool {
        self.cursor.knows_exit || self.was_killed
    }
}

impl Table {
    fn touch(&mut self, id: ExecutionId) -> &mut Known {
        self.uses += 1;
        if !self.known.contains_key(&id) && self.known.len() >= MAX_KNOWN {
            let oldest = self.known.iter().min_by_key(|(_, known)| known.used).map(|(id, _)| *id);
            oldest.and_then(|oldest| self.known.remove(&oldest));
        }
        let known = self.known.entry(id).or_default();
        known.used = self.uses;
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seq: u64) -> Cursor {
        Cursor { seq: Seq(seq), ..Cursor::default() }
    }

    #[test]
    fn of_two_calls_the_one_that_read_further_sets_the_position() {
        let (memory, id) = (Memory::default(), ExecutionId::random());
        memory.advance(id, at(7));
        memory.advance(id, Cursor { knows_exit: true, ..at(5) });
        let cursor = memory.cursor(id);
        assert_eq!((cursor.seq, cursor.knows_exit), (Seq(7), true));
    }

    #[test]
    fn an_end_that_a_kill_has_reported_is_not_reported_again() {
        let memory = Memory::default();
        for (is_killed_first, is_killed) in [(true, true), (false, true), (false, false)] {
            let execution = ExecutionId::random();
            let ending = Ending { execution, session_id: 1000, command: "x".into(), exit_code: 143 };
            if is_killed_first {
                memory.killed(execution);
            }
            memory.end_watching(execution, Some(ending));
            if is_killed {
                memory.killed(execution);
            }
            assert_eq!(memory.take_endings().is_empty(), is_killed);
            assert!(!memory.cursor(execution).knows_exit, "its output is still to be read");
        }
    }

    #[test]
    fn the_least_recently_used_execution_is_forgotten_first() {
        let memory = Memory::default();
        let ids: Vec<_> = (0..MAX_KNOWN).map(|_| ExecutionId::random()).collect();
        for id in &ids {
            memory.advance(*id, at(1));
        }
        memory.cursor(ids[0]);
        memory.advance(ExecutionId::random(), at(1));
        assert_eq!((memory.last_use(ids[0]) > 0, memory.last_use(ids[1])), (true, 0));
    }
}
