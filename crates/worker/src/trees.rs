//! Whole trees of a workspace: watching, searching, packing, comparing, keeping copies. The service.

mod copy;
mod diff;
mod fork;
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

use headwater_contract::{Fault, v1};

pub(crate) use self::snapshots::{kept_bytes, remove_all, tidy};
pub(crate) use self::watch::instances::reserve as reserve_watches;
use crate::engine::Engine;
use crate::open_workspace::OpenWorkspace;
use headwater_limits::permits::{Most, Place, Places};
use headwater_workspace::Kind;

/// Searches, archives, comparisons and copies that work at the same time; a thread works on each.
const MAX_WORKING: usize = 64;
/// The same with those whose reader is slow, which only wait: each keeps its thread, of which the runtime has 512.
const OPEN: Most = Most { all: 256, of_owner: 16, of_session: 8 };
/// Watches at once; the kernel gives a user 128 unless told otherwise.
const WATCHES: Most = Most { all: 100, of_owner: 24, of_session: 16 };

/// Answers the contract's calls.
#[derive(Debug)]
pub(crate) struct Trees {
    engine: Arc<Engine>,
    work: Places,
    watches: Places,
}

impl Trees {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        Self { engine, work: Places::new(OPEN, Some(MAX_WORKING)), watches: Places::new(WATCHES, None) }
    }
}

/// Takes a place for work on a session.
fn place(places: &Places, open: &OpenWorkspace, what: &str) -> Result<Place, Fault> {
    places.take(open.record.spec.owner(), open.id, what)
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
