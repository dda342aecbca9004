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
use std::sync::{Arc, Mutex, PoisonError};

use headwater_contract::{Fault, FaultKind, Turns, v1};
use headwater_protocol::SessionId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(crate) use self::snapshots::{kept_bytes, remove_all, tidy};
use crate::engine::Engine;
use crate::workspace::Kind;

/// Searches, archives and copies at once; a thread works on each.
const MAX_WORK: usize = 64;
/// Watches at once; the kernel gives a user 128 unless told otherwise.
const MAX_WATCHES: usize = 100;

/// The same of one session: whoever may look at one must not hold up all others.
const MAX_WORK_OF_SESSION: usize = 8;
const MAX_WATCHES_OF_SESSION: usize = 16;

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
            work: Places::new(MAX_WORK, MAX_WORK_OF_SESSION),
            watches: Places::new(MAX_WATCHES, MAX_WATCHES_OF_SESSION),
            turns: Turns::default(),
        }
    }
}

/// A place among those that work at once.
#[derive(Debug)]
struct Place {
    _of_all: OwnedSemaphorePermit,
    _of_session: OwnedSemaphorePermit,
}

/// Places of all sessions together, and of each.
#[derive(Debug)]
struct Places {
    all: Arc<Semaphore>,
    each: usize,
    sessions: Mutex<HashMap<SessionId, Arc<Semaphore>>>,
}

impl Places {
    fn new(all: usize, each: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(all)), each, sessions: Mutex::default() }
    }

    fn of(&self, session: SessionId) -> Arc<Semaphore> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, places| places.available_permits() < self.each);
        Arc::clone(sessions.entry(session).or_insert_with(|| Arc::new(Semaphore::new(self.each))))
    }
}

/// Takes a place for work on a session.
fn place(places: &Places, session: SessionId, what: &str) -> Result<Place, Fault> {
    let full = |_| {
        Fault::new(FaultKind::Exhausted, format!("too many {what} at once"))
            .hint("ask again when others have ended")
    };
    Ok(Place {
        _of_session: places.of(session).try_acquire_owned().map_err(full)?,
        _of_all: Arc::clone(&places.all).try_acquire_owned().map_err(full)?,
    })
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
