//! Examines a store without changing it: for `headwater doctor`.

use std::path::Path;

use sqlx::ConnectOptions;
use sqlx::Row as _;

use super::error::{from_io, from_sqlx};
use super::{migrate, open};
use crate::StoreError;

/// What was found in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreFacts {
    /// The number of its last migration.
    pub version: i64,
    /// The number of executions in it.
    pub executions: i64,
    /// The size of its file.
    pub bytes: u64,
}

/// Checks the file's structure and version.
pub(super) async fn examine(path: &Path) -> Result<StoreFacts, StoreError> {
    let bytes = std::fs::metadata(path).map_err(from_io)?.len();
    // Without a journal nobody has the store open, and SQLite need not create files for locks.
    let journal = path.with_extension("db-wal");
    let options = open::options(path).read_only(true).immutable(!journal.exists());
    let mut connection = options.connect().await.map_err(from_sqlx)?;
    let checked = sqlx::query("PRAGMA quick_check(1)").fetch_one(&mut connection).await.map_err(from_sqlx)?;
    let found: String = checked.try_get(0).map_err(from_sqlx)?;
    if found != "ok" {
        return Err(StoreError::Corrupt { message: found });
    }
    let row = sqlx::query("SELECT max(version) FROM _sqlx_migrations").fetch_one(&mut connection).await;
    let version: i64 = row.and_then(|row| row.try_get(0)).map_err(from_sqlx)?;
    if version > migrate::last() {
        return Err(StoreError::Newer { message: format!("migration {version}") });
    }
    let row = sqlx::query("SELECT count(*) FROM executions").fetch_one(&mut connection).await;
    let executions = row.and_then(|row| row.try_get(0)).map_err(from_sqlx)?;
    Ok(StoreFacts { version, executions, bytes })
}
