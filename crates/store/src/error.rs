//! Errors of the store.

use std::sync::Arc;

/// An error of the store, with advice.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// Another program is using the store, or all connections are in use.
    #[error("the store is busy: {message}; try again, and make sure that only one gateway uses this file")]
    Busy {
        /// What the database reported.
        message: String,
    },
    /// The disk is full.
    #[error("the disk of the store is full: {message}; free some space; the stored data is intact")]
    Full {
        /// What the database reported.
        message: String,
    },
    /// The file is not writable.
    #[error(
        "the store cannot be written: {message}; give the server's user write permission on the file and its folder"
    )]
    ReadOnly {
        /// What the database reported.
        message: String,
    },
    /// The file is damaged, or is not a store.
    #[error(
        "the store is damaged: {message}; restore it from a backup, or move it aside together with the files \
         that end in `-wal` and `-shm` and start again: the logs of the worker are not affected"
    )]
    Corrupt {
        /// The database's message, or what cannot be read.
        message: String,
    },
    /// A later version of Headwater wrote it.
    #[error("the store was written by a newer version: {message}; use that version or a newer one")]
    Newer {
        /// The migration that is unknown here.
        message: String,
    },
    /// The row contradicts other rows.
    #[error("the row contradicts stored rows: {message}")]
    Conflict {
        /// The rule that it breaks.
        message: String,
    },
    /// Another session of the owner that has not ended has this name.
    #[error("another session of its owner has this name")]
    NameTaken,
    /// The store is closed.
    #[error("the store is closed: the gateway is shutting down")]
    Closed,
    /// Any other error: the file cannot be opened, the disk fails.
    #[error(
        "the store is not available: {message}; check that its folder exists and is writable, and that the disk works"
    )]
    Unavailable {
        /// The message of the database or the system.
        message: String,
        /// The cause, for the log.
        #[source]
        source: Option<Arc<dyn std::error::Error + Send + Sync>>,
    },
}

impl StoreError {
    /// Whether the disk is full: reading and removing still work.
    pub const fn is_disk_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }

    /// Whether the same call may succeed a little later.
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Busy { .. } | Self::Full { .. })
    }
}
