//! Who looks at which terminal, and whose size it has: the last viewer that typed owns the size, and those that may only
//! look never count.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headwater_contract::{ContractError, KeyedLock};
use headwater_protocol::{ExecutionId, TtySize};

use crate::state::Gateway;
use crate::streams::socket::note::Note;
use crate::streams::socket::shared::Shared;

/// All viewers of all terminals.
#[derive(Debug, Default)]
pub(crate) struct Viewers {
    rooms: Mutex<HashMap<ExecutionId, Room>>,
    /// One change of size at a time for each terminal.
    locks: KeyedLock<ExecutionId>,
}

/// The viewers of one terminal.
#[derive(Debug, Default)]
struct Room {
    viewers: BTreeMap<u64, Viewer>,
    last: u64,
    /// Whose size counts.
    owner: Option<u64>,
    /// The size that it has, as far as is known.
    size: Option<TtySize>,
}

#[derive(Debug)]
struct Viewer {
    shared: Arc<Shared>,
    size: Option<TtySize>,
    writes: bool,
}

impl Room {
    /// Whoever is alone among those that may write owns the size without typing.
    fn enter(&mut self, viewer: Viewer) -> u64 {
        self.last += 1;
        if viewer.writes && self.owner.is_none() {
            self.owner = Some(self.last);
        }
        self.viewers.insert(self.last, viewer);
        self.last
    }

    /// Where the owner goes the size stays, until somebody else types or is resized.
    fn leave(&mut self, number: u64) {
        self.viewers.remove(&number);
        self.owner = self.owner.filter(|owner| *owner != number);
    }

    fn typed(&mut self, number: u64) {
        self.owner = Some(number);
    }

    fn asks_for(&mut self, number: u64, size: TtySize) {
        let Some(viewer) = self.viewers.get_mut(&number).filter(|viewer| viewer.writes) else {
            return;
        };
        viewer.size = Some(size);
        self.owner.get_or_insert(number);
    }

    /// The size that it is to have, if that is another than it has.
    fn wanted(&self) -> Option<TtySize> {
        let wanted = self.viewers.get(&self.owner?)?.size?;
        (self.size != Some(wanted)).then_some(wanted)
    }
}

impl Viewers {
    fn rooms(&self) -> MutexGuard<'_, HashMap<ExecutionId, Room>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The terminal has another size: all its viewers are told.
    pub(crate) fn resized(&self, id: ExecutionId, size: TtySize) {
        if let Some(room) = self.rooms().get_mut(&id)
            && room.size.replace(size) != Some(size)
        {
            room.viewers.values().for_each(|viewer| viewer.shared.note(Note::Resized(size)));
        }
    }
}

/// The place of one viewer; it is free again when this is dropped.
pub(crate) struct Place {
    gateway: Arc<Gateway>,
    id: ExecutionId,
    number: u64,
}

impl Place {
    /// One more viewer of a terminal. It is sent every change of the size from now on.
    pub(crate) fn take(gateway: &Arc<Gateway>, id: ExecutionId, shared: &Arc<Shared>, writes: bool) -> Self {
        let mut rooms = gateway.viewers.rooms();
        let room = rooms.entry(id).or_default();
        let number = room.enter(Viewer { shared: Arc::clone(shared), size: None, writes });
        Self { gateway: Arc::clone(gateway), id, number }
    }

    /// The terminal had this size after the viewer came; a change since then is known better.
    pub(crate) fn found(&self, size: TtySize) {
        self.with(|room| {
            room.size.get_or_insert(size);
        });
    }

    fn with(&self, change: impl FnOnce(&mut Room)) -> bool {
        self.gateway.viewers.rooms().get_mut(&self.id).is_some_and(|room| {
            change(room);
            room.wanted().is_some()
        })
    }

    /// This viewer has typed: the size is its own from now on.
    pub(crate) async fn typed(&self) -> Result<(), ContractError> {
        if self.with(|room| room.typed(self.number)) { Box::pin(self.settle()).await } else { Ok(()) }
    }

    /// This viewer has another size.
    pub(crate) async fn asks_for(&self, size: TtySize) -> Result<(), ContractError> {
        if self.with(|room| room.asks_for(self.number, size)) {
            Box::pin(self.settle()).await
        } else {
            Ok(())
        }
    }

    /// Gives the terminal the size that it is to have. Whoever changes it at the same time comes before or after.
    async fn settle(&self) -> Result<(), ContractError> {
        let (id, viewers) = (self.id, &self.gateway.viewers);
        let _lock = viewers.locks.lock(id).await;
        let Some(size) = viewers.rooms().get(&id).and_then(Room::wanted) else {
            return Ok(());
        };
        self.gateway.worker.resize(id, size).await?;
        viewers.resized(id, size);
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut rooms = self.gateway.viewers.rooms();
        if let Some(room) = rooms.get_mut(&self.id) {
            room.leave(self.number);
            if room.viewers.is_empty() {
                rooms.remove(&self.id);
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

    fn enter(room: &mut Room, writes: bool, rows: Option<u16>) -> u64 {
        let number = room.enter(Viewer { shared: Arc::default(), size: None, writes });
        if let Some(rows) = rows {
            room.asks_for(number, size(rows));
        }
        number
    }

    #[test]
    fn the_last_that_typed_owns_the_size() {
        let mut room = Room { size: Some(size(24)), ..Room::default() };
        let first = enter(&mut room, true, Some(30));
        assert_eq!(room.wanted(), Some(size(30)), "who is alone owns it");
        room.size = room.wanted();
        let second = enter(&mut room, true, Some(40));
        assert_eq!(room.wanted(), None, "to come is not to type");
        room.typed(second);
        assert_eq!(room.wanted(), Some(size(40)));
        room.size = room.wanted();
        room.asks_for(first, size(50));
        assert_eq!(room.wanted(), None, "another's window changed");
        room.typed(first);
        assert_eq!(room.wanted(), Some(size(50)));
    }

    #[test]
    fn read_only_viewers_never_count() {
        let mut room = Room { size: Some(size(24)), ..Room::default() };
        let looks = enter(&mut room, false, Some(10));
        assert_eq!((room.wanted(), room.owner), (None, None));
        let writes = enter(&mut room, true, Some(30));
        assert_eq!(room.wanted(), Some(size(30)));
        room.size = room.wanted();
        room.asks_for(looks, size(5));
        assert_eq!(room.wanted(), None);
        room.leave(writes);
        assert_eq!((room.wanted(), room.size), (None, Some(size(30))), "the size stays");
    }
}
