//! Why the store did not do what it was asked to.

use std::sync::Arc;

/// What went wrong, and what to do about it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// Another program holds the store, or all connections are in use.
    #[error("the store is busy: {message}; try again, and see that only one gateway uses this file")]
    Busy {
        /// What the database said.
        message: String,
    },
    /// No space left.
    #[error("the disk of the store is full: {message}; free some space: what is stored is intact")]
    Full {
        /// What the database said.
        message: String,
    },
    /// The file may be read and not written.
    #[error(
        "the store cannot be written: {message}; give its user the right to write the file and its folder"
    )]
    ReadOnly {
        /// What the database said.
        message: String,
    },
    /// The file is damaged, or is no store.
    #[error(
        "the store is damaged: {message}; restore it from a backup, or move it aside together with the files \
         that end in `-wal` and `-shm` and start again: the logs of the worker are not affected"
    )]
    Corrupt {
        /// What the database said, or what cannot be read.
        message: String,
    },
    /// A later version of this program wrote it.
    #[error("the store was written by a newer version: {message}; use that version or a newer one")]
    Newer {
        /// Which migration is unknown here.
        message: String,
    },
    /// The row contradicts others.
    #[error("the row contradicts what is stored: {message}")]
    Conflict {
        /// Which rule it breaks.
        message: String,
    },
    /// The store was closed.
    #[error("the store is closed: the gateway is shutting down")]
    Closed,
    /// All else: the file cannot be opened, the disk fails.
    #[error(
        "the store is not available: {message}; see that its folder exists, can be written and is healthy"
    )]
    Unavailable {
        /// What the database or the system said.
        message: String,
        /// The cause, for the log.
        #[source]
        source: Option<Arc<dyn std::error::Error + Send + Sync>>,
    },
}

impl StoreError {
    /// Whether it is for lack of space: reading and removing still work.
    pub const fn is_disk_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }

    /// Whether the same call may work a little later.
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Busy { .. } | Self::Full { .. })
    }
}
