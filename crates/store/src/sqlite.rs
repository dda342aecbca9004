//! The store in one SQLite file.
//!
//! 1. Reads run on a few connections of their own; in WAL mode they neither wait for the writer nor hold it up.
//! 2. Writes go through a bounded queue to one task that owns the one writing connection ([`writer`]). All that waits
//!    is written in one transaction, for the commit is what costs; a write that is alone is a transaction by itself.
//! 3. A write is answered after its commit.
//!
//! The journal is a WAL with `synchronous = NORMAL`: what was answered outlives the death of this process at any
//! moment, and the file is sound after a power cut, though the last moments before one may be missing. The worker's
//! logs, not this file, are the record of what ran.

mod error;
mod file;
mod migrate;
mod open;
#[cfg(test)]
mod raw;
mod row;
mod shares;
mod store;
mod tickets;
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
    /// Opens the store of this path, and makes it if it is not there (mode 0600, in a folder that must exist).
    /// A file of an older version is brought up to date.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        open::open(path).await
    }

    async fn write(&self, statements: Vec<Statement>) -> Result<Written, StoreError> {
        self.writer.write(statements).await
    }

    /// Writes what removes or ends something. On a full disk that uses the reserve: it is how people make room.
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
        // Readers first: the last connection to go moves the WAL into the file.
        self.readers.close().await;
        self.writer.close().await
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.path).finish_non_exhaustive()
    }
}
