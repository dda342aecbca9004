//! A `SELECT` whose conditions depend on the request. It is assembled from our own texts only; external data
//! is passed as values.

use std::fmt::Write;

use sqlx::{AssertSqlSafe, SqlSafeStr};

use super::{Statement, Value};
use crate::MAX_PAGE;

/// A `SELECT` under construction.
pub(crate) struct Select {
    sql: String,
    values: Vec<Value>,
    conditions: usize,
}

impl Select {
    pub(super) fn new(columns_and_table: &'static str) -> Self {
        Self { sql: format!("SELECT {columns_and_table}"), values: Vec::new(), conditions: 0 }
    }

    /// Adds a condition without a value.
    pub(super) fn only(mut self, condition: &'static str) -> Self {
        self.sql += if self.conditions == 0 { " WHERE " } else { " AND " };
        self.sql += condition;
        self.conditions += 1;
        self
    }

    /// Adds a condition such as `owner =` with its value, if there is one.
    pub(super) fn when<V: Into<Value>>(self, condition: &'static str, value: Option<V>) -> Self {
        let Some(value) = value else { return self };
        let mut select = self.only(condition);
        select.push(value.into());
        select
    }

    /// Adds a condition with its value inside.
    pub(super) fn within(self, before: &'static str, value: &str, after: &'static str) -> Self {
        let mut select = self.only(before);
        select.push(value.into());
        select.sql += after;
        select
    }

    /// Adds a condition that has the same value between its pieces.
    pub(super) fn around(self, pieces: &[&'static str], value: &str) -> Self {
        let Some((first, rest)) = pieces.split_first() else { return self };
        let mut select = self.only(first);
        for piece in rest {
            select.push(value.into());
            select.sql += piece;
        }
        select
    }

    /// Restricts a column to these values, if given.
    pub(super) fn among<V: ToString>(self, column_in: &'static str, values: Option<&[V]>) -> Self {
        let Some(values) = values else { return self };
        if values.is_empty() {
            return self.only("1 = 0");
        }
        let mut select = self.only(column_in);
        for (index, value) in values.iter().enumerate() {
            select.sql += if index == 0 { " (" } else { "," };
            select.push(value.to_string().into());
        }
        select.sql += " )";
        select
    }

    /// Adds the order and the limit.
    pub(super) fn page(mut self, order: &'static str, limit: u32) -> Statement {
        self.limit(order, limit);
        self.done()
    }

    /// Selects one row by its position in the order, from 0.
    pub(super) fn at(mut self, order: &'static str, position: u32) -> Statement {
        self.limit(order, 1);
        self.sql += " OFFSET";
        self.push(i64::from(position).into());
        self.done()
    }

    fn limit(&mut self, order: &'static str, limit: u32) {
        self.sql += " ORDER BY ";
        self.sql += order;
        self.sql += " LIMIT";
        self.push(i64::from(limit).into());
    }

    fn done(self) -> Statement {
        Statement { sql: AssertSqlSafe(self.sql).into_sql_str(), values: self.values }
    }

    fn push(&mut self, value: Value) {
        self.values.push(value);
        let _ = write!(self.sql, " ${}", self.values.len()); // writing to a string cannot fail
    }
}

/// The number of rows on a page with this limit.
pub(crate) fn page_size(limit: u32) -> u32 {
    limit.clamp(1, MAX_PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_without_a_value_are_left_out_and_the_others_are_numbered() {
        let statement = Select::new("id FROM rows")
            .when("owner =", Some("me"))
            .when("name =", None::<&str>)
            .only("end IS NULL")
            .when("number <", Some(7_i64))
            .page("number DESC", 3);
        let sql = "SELECT id FROM rows WHERE owner = $1 AND end IS NULL AND number < $2 ORDER BY number DESC LIMIT $3";
        assert_eq!(statement.sql.as_str(), sql);
        assert_eq!(statement.values.len(), 3);
    }

    #[test]
    fn a_value_can_stand_between_pieces_and_a_row_be_selected_by_its_position() {
        let statement =
            Select::new("id FROM rows").around(&["(a =", " OR b =", ")"], "x").at("number DESC", 7);
        let sql = "SELECT id FROM rows WHERE (a = $1 OR b = $2) ORDER BY number DESC LIMIT $3 OFFSET $4";
        assert_eq!((statement.sql.as_str(), statement.values.len()), (sql, 4));
    }
}
