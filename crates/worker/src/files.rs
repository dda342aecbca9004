//! Files of a workspace: opening it ([`open_workspace`]), and work on whole trees: watch, search, archives, diff,
//! snapshots and forks.

pub(crate) mod archive;
pub(crate) mod change;
pub(crate) mod copy;
pub(crate) mod diff;
pub(crate) mod expectation;
pub(crate) mod fork;
pub(crate) mod free_space;
pub(crate) mod manifest;
pub(crate) mod open_workspace;
pub(crate) mod search;
pub(crate) mod snapshots;
pub(crate) mod unified_diff;
pub(crate) mod watch;

use headwater_contract::v1;
use headwater_workspace::Kind;

pub(crate) use self::snapshots::{kept_bytes, recover, remove_all};
pub(crate) use self::watch::instances::reserve as reserve_watches;

/// The kind of an entry in the contract.
pub(crate) const fn file_kind(kind: Kind) -> v1::FileKind {
    match kind {
        Kind::File => v1::FileKind::File,
        Kind::Folder => v1::FileKind::Folder,
        Kind::Link => v1::FileKind::Link,
        Kind::Other => v1::FileKind::Other,
    }
}
