//! The store in one SQLite file.
//!
//! 1. Reads use a few separate connections; in WAL mode they neither wait for the writer nor block it.
//! 2. Writes go through a bounded queue to one task that owns the only writing connection ([`writer`]).
//!    Everything in the queue is written in one transaction, because the commit is what costs; a single write
//!    is a transaction.
//! 3. A write is answered after its commit.
//!
//! The journal is a WAL with `synchronous = NORMAL`: an acknowledged write survives the death of this process
//! at any moment, and the file is consistent after a power failure, though the last moments before it may be
//! missing. The worker's logs, not this file, are the record of what ran.

mod chat;
mod conversations;
mod error;
mod examine;
mod file;
mod grants;
mod migrate;
mod open;
#[cfg(test)]
mod raw;
mod row;
mod session_rules;
mod shares;
mod store;
mod tickets;
mod tool_calls;
mod users;
mod writer;
#[cfg(test)]
mod writer_tests;

use std::fmt;
use std::path::{Path, PathBuf};

use sqlx::sqlite::{SqlitePool, SqliteRow};

#[cfg(test)]
pub(crate) use raw::{migrate_to, raw};

use crate::sql::Statement;
use crate::{Reserve, StoreError};
use error::from_sqlx;
pub use examine::StoreFacts;
use row::arguments;
use writer::{Writer, Written};

/// A store in one SQLite file.
pub struct SqliteStore {
    path: PathBuf,
    readers: SqlitePool,
    writer: Writer,
    reserve: Reserve,
}

impl SqliteStore {
    /// Opens the store at this path, and creates it if it does not exist (mode 0600, in an existing folder).
    /// Migrates a file of an older version.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        open::open(path).await
    }

    /// Checks the store at this path without changing it. It may be in use.
    pub async fn examine(path: &Path) -> Result<StoreFacts, StoreError> {
        examine::examine(path).await.map_err(|error| error::naming(path, error))
    }

    async fn write(&self, statements: Vec<Statement>) -> Result<Written, StoreError> {
        self.writer.write(statements).await
    }

    /// Runs statements that remove or end something. On a full disk this uses the reserve, so that users can
    /// free space.
    async fn remove(&self, statements: Vec<Statement>) -> Result<Written, StoreError> {
        loop {
            let written = self.write(statements.clone()).await;
            if !written.as_ref().is_err_and(StoreError::is_disk_full) {
                return written;
            }
            let reserve = self.reserve.clone();
            let released = tokio::task::spawn_blocking(move || reserve.release()).await;
            if !released.unwrap_or(false) {
                return written;
            }
        }
    }

    async fn fetch(&self, statement: Statement) -> Result<Vec<SqliteRow>, StoreError> {
        let query = sqlx::query_with(statement.sql, arguments(&statement.values)?);
        query.fetch_all(&self.readers).await.map_err(from_sqlx)
    }

    async fn close_all(&self) -> Result<(), StoreError> {
        // Close the readers first: the last connection to close moves the WAL into the file.
        self.readers.close().await;
        self.writer.close().await
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.path).finish_non_exhaustive()
    }
}
