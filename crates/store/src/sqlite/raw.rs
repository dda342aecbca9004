//! Direct access to the file, for tests.

use std::path::Path;

use sqlx::{AssertSqlSafe, Connection, Row};

use super::{file, migrate, open};
use crate::StoreError;

/// Creates a file of an older version.
pub(crate) async fn migrate_to(path: &Path, version: i64) {
    file::prepare(path).unwrap();
    let mut connection = open::connect_writer(path).await.unwrap();
    migrate::run_to(&mut connection, version).await;
    connection.close().await.unwrap();
}

/// Runs SQL and returns the first column of its rows, which must be text.
pub(crate) async fn raw(path: &Path, sql: &str) -> Result<Vec<String>, StoreError> {
    let mut connection = open::connect_writer(path).await?;
    let rows = sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_all(&mut connection).await;
    connection.close().await.unwrap();
    Ok(rows.map_err(super::error::from_sqlx)?.iter().map(|row| row.get(0)).collect())
}
