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

use std::sync::Arc;

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

/// Answers the contract's calls.
#[derive(Debug)]
pub(crate) struct Trees {
    engine: Arc<Engine>,
    work: Arc<Semaphore>,
    watches: Arc<Semaphore>,
    /// What changes a session's trees as a whole comes one after the other.
    turns: Turns<SessionId>,
}

impl Trees {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        Self {
            engine,
            work: Arc::new(Semaphore::new(MAX_WORK)),
            watches: Arc::new(Semaphore::new(MAX_WATCHES)),
            turns: Turns::default(),
        }
    }
}

/// A place among those that work at once.
fn place(places: &Arc<Semaphore>, what: &str) -> Result<OwnedSemaphorePermit, Fault> {
    Arc::clone(places).try_acquire_owned().map_err(|_| {
        Fault::new(FaultKind::Exhausted, format!("too many {what} at once"))
            .hint("ask again when others have ended")
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
