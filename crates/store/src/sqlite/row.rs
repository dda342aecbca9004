//! Conversion of values to and from SQLite.

use sqlx::Row;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Arguments, Error};

use super::error::from_sqlx;
use crate::StoreError;
use crate::sql::{Columns, Value};

pub(super) fn arguments(values: &[Value]) -> Result<SqliteArguments, StoreError> {
    let mut arguments = SqliteArguments::default();
    arguments.reserve(values.len(), 0);
    for value in values {
        let added = match value {
            Value::Text(text) => arguments.add(text.clone()),
            Value::Number(number) => arguments.add(*number),
        };
        added.map_err(|error| from_sqlx(Error::Encode(error)))?;
    }
    Ok(arguments)
}

impl Columns for SqliteRow {
    fn text(&self, name: &'static str) -> Result<Option<String>, StoreError> {
        self.try_get(name).map_err(from_sqlx)
    }

    fn number(&self, name: &'static str) -> Result<Option<i64>, StoreError> {
        self.try_get(name).map_err(from_sqlx)
    }
}
