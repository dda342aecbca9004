//! The viewers of each terminal, and which of them controls its size: the last one that typed. Read-only
//! viewers never do.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headwater_contract::{ContractError, KeyedLock};
use headwater_protocol::{ExecutionId, TtySize};

use crate::state::Gateway;
use crate::streams::socket::notice::Notice;
use crate::streams::socket::shared::Shared;

/// All viewers of all terminals.
#[derive(Debug, Default)]
pub(crate) struct Viewers {
    terminals: Mutex<HashMap<ExecutionId, TerminalViewers>>,
    /// Serialises changes of size for each terminal.
    locks: KeyedLock<ExecutionId>,
}

/// The viewers of one terminal.
#[derive(Debug, Default)]
struct TerminalViewers {
    viewers: BTreeMap<u64, Viewer>,
    last: u64,
    /// The viewer that controls the size.
    owner: Option<u64>,
    /// The current size, as far as known.
    size: Option<TtySize>,
}

#[derive(Debug)]
struct Viewer {
    shared: Arc<Shared>,
    size: Option<TtySize>,
    writes: bool,
}

impl TerminalViewers {
    /// A viewer that is the only one that may write controls the size without typing.
    fn enter(&mut self, viewer: Viewer) -> u64 {
        self.last += 1;
        if viewer.writes && self.owner.is_none() {
            self.owner = Some(self.last);
        }
        self.viewers.insert(self.last, viewer);
        self.last
    }

    /// If the viewer that controls the size leaves, the size stays until another one types or is resized.
    fn leave(&mut self, number: u64) {
        self.viewers.remove(&number);
        self.owner = self.owner.filter(|owner| *owner != number);
    }

    fn note_typing(&mut self, number: u64) {
        self.owner = Some(number);
    }

    fn set_window(&mut self, number: u64, size: TtySize) {
        let Some(viewer) = self.viewers.get_mut(&number).filter(|viewer| viewer.writes) else {
            return;
        };
        viewer.size = Some(size);
        self.owner.get_or_insert(number);
    }

    /// The size to set, if it differs from the current one.
    fn size_to_set(&self) -> Option<TtySize> {
        let size_to_set = self.viewers.get(&self.owner?)?.size?;
        (self.size != Some(size_to_set)).then_some(size_to_set)
    }
}

impl Viewers {
    fn terminals(&self) -> MutexGuard<'_, HashMap<ExecutionId, TerminalViewers>> {
        self.terminals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The terminal was resized: notifies all its viewers.
    pub(crate) fn resized(&self, id: ExecutionId, size: TtySize) {
        if let Some(terminal) = self.terminals().get_mut(&id)
            && terminal.size.replace(size) != Some(size)
        {
            terminal.viewers.values().for_each(|viewer| viewer.shared.notice(Notice::Resized(size)));
        }
    }
}

/// The registration of one viewer, which ends when this is dropped.
pub(crate) struct Registration {
    gateway: Arc<Gateway>,
    id: ExecutionId,
    number: u64,
}

impl Registration {
    /// Registers a viewer of a terminal. From now on it is sent every change of the size.
    pub(crate) fn new(gateway: &Arc<Gateway>, id: ExecutionId, shared: &Arc<Shared>, writes: bool) -> Self {
        let mut terminals = gateway.viewers.terminals();
        let terminal = terminals.entry(id).or_default();
        let number = terminal.enter(Viewer { shared: Arc::clone(shared), size: None, writes });
        Self { gateway: Arc::clone(gateway), id, number }
    }

    /// The terminal had this size after the viewer was registered; a change since then is more recent.
    pub(crate) fn had_size(&self, size: TtySize) {
        self.with(|terminal| {
            terminal.size.get_or_insert(size);
        });
    }

    fn with(&self, change: impl FnOnce(&mut TerminalViewers)) -> bool {
        self.gateway.viewers.terminals().get_mut(&self.id).is_some_and(|terminal| {
            change(terminal);
            terminal.size_to_set().is_some()
        })
    }

    /// This viewer has typed: it controls the size from now on.
    pub(crate) async fn note_typing(&self) -> Result<(), ContractError> {
        if self.with(|terminal| terminal.note_typing(self.number)) {
            Box::pin(self.apply_size()).await
        } else {
            Ok(())
        }
    }

    /// This viewer's window has a new size.
    pub(crate) async fn set_window(&self, size: TtySize) -> Result<(), ContractError> {
        if self.with(|terminal| terminal.set_window(self.number, size)) {
            Box::pin(self.apply_size()).await
        } else {
            Ok(())
        }
    }

    /// Sets the size of the terminal. Concurrent changes are applied one after the other.
    async fn apply_size(&self) -> Result<(), ContractError> {
        let (id, viewers) = (self.id, &self.gateway.viewers);
        let _lock = viewers.locks.lock(id).await;
        let Some(size) = viewers.terminals().get(&id).and_then(TerminalViewers::size_to_set) else {
            return Ok(());
        };
        self.gateway.worker.resize(id, size).await?;
        viewers.resized(id, size);
        Ok(())
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut terminals = self.gateway.viewers.terminals();
        if let Some(terminal) = terminals.get_mut(&self.id) {
            terminal.leave(self.number);
            if terminal.viewers.is_empty() {
                terminals.remove(&self.id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(rows: u16) -> TtySize {
        TtySize { rows, cols: 80 }
    }

    fn enter(terminal: &mut TerminalViewers, writes: bool, rows: Option<u16>) -> u64 {
        let number = terminal.enter(Viewer { shared: Arc::default(), size: None, writes });
        if let Some(rows) = rows {
            terminal.set_window(number, size(rows));
        }
        number
    }

    #[test]
    fn the_last_that_typed_owns_the_size() {
        let mut terminal = TerminalViewers { size: Some(size(24)), ..TerminalViewers::default() };
        let first = enter(&mut terminal, true, Some(30));
        assert_eq!(terminal.size_to_set(), Some(size(30)), "who is alone owns it");
        terminal.size = terminal.size_to_set();
        let second = enter(&mut terminal, true, Some(40));
        assert_eq!(terminal.size_to_set(), None, "to come is not to type");
        terminal.note_typing(second);
        assert_eq!(terminal.size_to_set(), Some(size(40)));
        terminal.size = terminal.size_to_set();
        terminal.set_window(first, size(50));
        assert_eq!(terminal.size_to_set(), None, "another's window changed");
        terminal.note_typing(first);
        assert_eq!(terminal.size_to_set(), Some(size(50)));
    }

    #[test]
    fn read_only_viewers_never_count() {
        let mut terminal = TerminalViewers { size: Some(size(24)), ..TerminalViewers::default() };
        let looks = enter(&mut terminal, false, Some(10));
        assert_eq!((terminal.size_to_set(), terminal.owner), (None, None));
        let writes = enter(&mut terminal, true, Some(30));
        assert_eq!(terminal.size_to_set(), Some(size(30)));
        terminal.size = terminal.size_to_set();
        terminal.set_window(looks, size(5));
        assert_eq!(terminal.size_to_set(), None);
        terminal.leave(writes);
        assert_eq!((terminal.size_to_set(), terminal.size), (None, Some(size(30))), "the size stays");
    }
}
