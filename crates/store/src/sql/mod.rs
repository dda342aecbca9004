//! The SQL, as data: texts that SQLite and PostgreSQL both understand, the values that go with them, and how rows
//! become Rust types again. One file for each table; nothing here touches a database.

pub(crate) mod audit;
pub(crate) mod executions;
pub(crate) mod keys;
mod select;
pub(crate) mod sessions;
pub(crate) mod tokens;
mod value;

use sqlx::SqlStr;

use crate::{Page, StoreError};

pub(crate) use select::{Select, page_size};
pub(crate) use value::{Columns, Value};
use value::{damaged, from_json, hash, hex, json, time};

/// One statement with its values, ready to be run any number of times.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    pub(crate) sql: SqlStr,
    pub(crate) values: Vec<Value>,
}

impl Statement {
    fn new(sql: &'static str, values: impl Into<Vec<Value>>) -> Self {
        Self { sql: SqlStr::from_static(sql), values: values.into() }
    }
}

/// Whether the database answers.
pub(crate) fn ping() -> Statement {
    Statement::new("SELECT 1", [])
}

/// A page of `limit` rows out of one row more, each with its number; the row too many shows that there is a next page.
pub(crate) fn cut<T>(mut rows: Vec<(i64, T)>, limit: u32) -> Page<T> {
    let limit = page_size(limit) as usize;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(|(number, _)| *number);
    Page { items: rows.into_iter().map(|(_, row)| row).collect(), next }
}

/// Turns all rows into what they say.
pub(crate) fn read_all<R: Columns, T>(
    rows: &[R],
    read: impl Fn(&R) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    rows.iter().map(read).collect()
}
