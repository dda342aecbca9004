//! SQL as data: texts for SQLite and PostgreSQL, their values, and the conversion of rows to Rust types. One
//! file for each table; nothing here accesses a database.

pub(crate) mod audit;
pub(crate) mod builds;
pub(crate) mod chat;
pub(crate) mod conversation_access;
pub(crate) mod conversation_log;
pub(crate) mod conversations;
pub(crate) mod execution_search;
pub(crate) mod executions;
pub(crate) mod grants;
pub(crate) mod keys;
pub(crate) mod retention;
mod select;
pub(crate) mod session_rules;
pub(crate) mod sessions;
pub(crate) mod shares;
pub(crate) mod tickets;
pub(crate) mod tokens;
pub(crate) mod tool_calls;
pub(crate) mod usage;
pub(crate) mod users;
mod value;

use std::fmt::Write;

use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};

use crate::{Page, StoreError};

pub(crate) use select::{Select, page_size};
pub(crate) use value::{Columns, Value};
use value::{damaged, from_json, hash, hex, json, time};

/// How many rows a page looks at for conditions that are checked row by row.
const SCAN_ROWS: u32 = if cfg!(test) { 50 } else { 5_000 };

/// A statement with its values, which can be run any number of times.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    pub(crate) sql: SqlStr,
    pub(crate) values: Vec<Value>,
}

impl Statement {
    fn new(sql: &'static str, values: impl Into<Vec<Value>>) -> Self {
        Self { sql: SqlStr::from_static(sql), values: values.into() }
    }

    /// Combines statements to one text between `BEGIN IMMEDIATE` and `COMMIT`. (`IMMEDIATE` takes the lock at
    /// the beginning, where waiting for it undoes nothing.)
    pub(crate) fn transaction<'a>(statements: impl Iterator<Item = &'a Self>) -> Self {
        let (mut sql, mut values) = (String::from("BEGIN IMMEDIATE;"), Vec::new());
        for statement in statements {
            push_renumbered(&mut sql, statement.sql.as_str(), values.len());
            sql.push(';');
            values.extend(statement.values.iter().cloned());
        }
        sql += "COMMIT";
        Self { sql: AssertSqlSafe(sql).into_sql_str(), values }
    }
}

/// Appends a text, renumbering its placeholders from `$1` to follow `before` values. Our texts contain `$`
/// only in placeholders.
fn push_renumbered(whole: &mut String, text: &str, before: usize) {
    let mut parts = text.split('$');
    whole.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = part.split_at(digits);
        let number = number.parse::<usize>().unwrap_or_default() + before;
        let _ = write!(whole, "${number}{rest}"); // writing to a string cannot fail
    }
}

/// Checks that the database answers.
pub(crate) fn ping() -> Statement {
    Statement::new("SELECT 1", [])
}

/// A page of `limit` rows, cut from one row more, each with its number. The extra row shows that there is a
/// next page.
pub(crate) fn cut<T>(mut rows: Vec<(i64, T)>, limit: u32) -> Page<T> {
    let limit = page_size(limit) as usize;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(|(number, _)| *number);
    Page { items: rows.into_iter().map(|(_, row)| row).collect(), next }
}

/// The number in a row that has only that.
pub(crate) fn read_number(row: &impl Columns) -> Result<i64, StoreError> {
    row.some_number("number")
}

/// Converts all rows.
pub(crate) fn read_all<R: Columns, T>(
    rows: &[R],
    read: impl Fn(&R) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    rows.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_placeholders_of_a_transaction_count_through() {
        let two = Statement::new("UPDATE a SET b = $2, c = $2 WHERE d = $1", [1_i64.into(), 2_i64.into()]);
        let none = Statement::new("DELETE FROM e", []);
        let twelve = Statement::new("INSERT INTO f VALUES ($1, $12)", vec![Value::from(0_i64); 12]);
        let whole = Statement::transaction([&two, &none, &twelve, &two].into_iter());
        let sql = "BEGIN IMMEDIATE;UPDATE a SET b = $2, c = $2 WHERE d = $1;DELETE FROM e;\
                   INSERT INTO f VALUES ($3, $14);UPDATE a SET b = $16, c = $16 WHERE d = $15;COMMIT";
        assert_eq!(whole.sql.as_str(), sql);
        assert_eq!(whole.values.len(), 16);
    }
}
