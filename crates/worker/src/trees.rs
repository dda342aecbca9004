//! Whole trees of a workspace: watching, searching, packing, comparing, keeping copies. The service.

mod copy;
mod diff;
mod fork;
mod ground;
mod manifest;
mod pack;
mod search;
mod service;
mod snapshots;
mod stream;
mod unified;
mod unpack;
mod upload;
mod watch;
mod zip;

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use headwater_contract::{Fault, FaultKind, Turns, v1};
use headwater_protocol::SessionId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use self::ground::Ground;
pub(crate) use self::snapshots::{kept_bytes, remove_all, tidy};
pub(crate) use self::watch::instances::reserve as reserve_watches;
use crate::engine::Engine;
use crate::workspace::Kind;

/// Searches, archives, comparisons and copies that work at the same time; a thread works on each.
const MAX_WORKING: usize = 64;
/// The same with those whose reader is slow, which only wait: each keeps its thread, of which the runtime has 512.
const OPEN: Most = Most { all: 256, of_owner: 16, of_session: 8 };
/// Watches at once; the kernel gives a user 128 unless told otherwise.
const WATCHES: Most = Most { all: 100, of_owner: 24, of_session: 16 };
/// Where the gateway writes whose session it is. Sessions of the local command line have no owner: they are all the
/// operator's.
const OWNER: &str = "headwater.owner";

/// Answers the contract's calls.
#[derive(Debug)]
pub(crate) struct Trees {
    engine: Arc<Engine>,
    work: Places,
    watches: Places,
    /// What changes a session's trees as a whole comes one after the other.
    turns: Turns<SessionId>,
}

impl Trees {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        Self {
            engine,
            work: Places::new(OPEN, Some(MAX_WORKING)),
            watches: Places::new(WATCHES, None),
            turns: Turns::default(),
        }
    }
}

/// How many there may be at once: of all owners, of one owner, and of one session. Whoever may look at one session must
/// not use up its owner's share, and no owner may use up what all have.
#[derive(Debug, Clone, Copy)]
struct Most {
    all: usize,
    of_owner: usize,
    of_session: usize,
}

/// A place among those that are open at once.
#[derive(Debug)]
struct Place {
    _of_session: OwnedSemaphorePermit,
    _of_owner: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
    /// The turn to work, if it is work: given back while its reader is slow.
    turn: Option<OwnedSemaphorePermit>,
}

/// Places of all, of each owner and of each session.
#[derive(Debug)]
struct Places {
    most: Most,
    all: Arc<Semaphore>,
    owners: Shares<String>,
    sessions: Shares<SessionId>,
    /// Turns to work; none are needed for what only waits.
    working: Option<Arc<Semaphore>>,
}

/// The places of each of many.
#[derive(Debug)]
struct Shares<K>(Mutex<HashMap<K, Arc<Semaphore>>>);

impl<K: Hash + Eq> Shares<K> {
    fn of(&self, key: K, most: usize) -> Arc<Semaphore> {
        let mut shares = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shares.retain(|_, places| places.available_permits() < most);
        Arc::clone(shares.entry(key).or_insert_with(|| Arc::new(Semaphore::new(most))))
    }
}

impl Places {
    fn new(most: Most, working: Option<usize>) -> Self {
        Self {
            most,
            all: Arc::new(Semaphore::new(most.all)),
            owners: Shares(Mutex::default()),
            sessions: Shares(Mutex::default()),
            working: working.map(|working| Arc::new(Semaphore::new(working))),
        }
    }

    fn take(&self, owner: &str, session: SessionId, what: &str) -> Result<Place, Fault> {
        let full = |whose: &'static str| {
            let fault = Fault::new(FaultKind::Exhausted, format!("too many {what} {whose}at once"));
            move |_| {
                fault.hint(
                    "ask again when others have ended; those whose answer is not read end by themselves",
                )
            }
        };
        let Most { of_owner, of_session, .. } = self.most;
        let of_session = self.sessions.of(session, of_session).try_acquire_owned();
        let of_owner = self.owners.of(owner.to_owned(), of_owner).try_acquire_owned();
        Ok(Place {
            _of_session: of_session.map_err(full("in this session "))?,
            _of_owner: of_owner.map_err(full("of this owner "))?,
            _of_all: Arc::clone(&self.all).try_acquire_owned().map_err(full(""))?,
            turn: match &self.working {
                Some(working) => Some(Arc::clone(working).try_acquire_owned().map_err(full(""))?),
                None => None,
            },
        })
    }
}

/// Takes a place for work on a session.
fn place(places: &Places, ground: &Ground, what: &str) -> Result<Place, Fault> {
    let owner = ground.spec.metadata.get(OWNER).map(String::as_str).unwrap_or_default();
    places.take(owner, ground.id, what)
}

/// A kind as the contract has it.
const fn node_kind(kind: Kind) -> v1::NodeKind {
    match kind {
        Kind::File => v1::NodeKind::File,
        Kind::Folder => v1::NodeKind::Folder,
        Kind::Link => v1::NodeKind::Link,
        Kind::Other => v1::NodeKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_uses_up_its_own_places_and_not_those_of_others() {
        let places = Places::new(Most { all: 6, of_owner: 4, of_session: 3 }, Some(6));
        let (one, two) = (SessionId::random(), SessionId::random());
        let take = |owner: &str, session| places.take(owner, session, "searches");
        let mut held: Vec<_> = (0..3).map(|_| take("ann", one).unwrap()).collect();
        assert!(take("ann", one).unwrap_err().message.contains("in this session"));
        held.push(take("ann", two).unwrap());
        assert!(take("ann", two).unwrap_err().message.contains("of this owner"));
        held.extend((0..2).map(|_| take("bob", SessionId::random()).unwrap()));
        assert_eq!(take("cid", one).unwrap_err().kind, FaultKind::Exhausted);
        held.clear();
        assert!(take("ann", one).is_ok());
    }
}
