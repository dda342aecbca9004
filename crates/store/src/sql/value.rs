//! Values of columns, in both directions.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::StoreError;

/// A value to be stored. Text is shared, because a statement may be run a second time.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Text(Option<Arc<str>>),
    Number(Option<i64>),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(Some(text.into()))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(Some(text.into()))
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Self {
        Self::Text(text.map(Into::into))
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(Some(number))
    }
}

impl From<Option<i64>> for Value {
    fn from(number: Option<i64>) -> Self {
        Self::Number(number)
    }
}

/// Times and counts; a value beyond `i64` is stored as its maximum.
impl From<u64> for Value {
    fn from(number: u64) -> Self {
        i64::try_from(number).unwrap_or(i64::MAX).into()
    }
}

impl From<Option<u64>> for Value {
    fn from(number: Option<u64>) -> Self {
        number.map_or(Self::Number(None), Self::from)
    }
}

impl From<bool> for Value {
    fn from(yes: bool) -> Self {
        i64::from(yes).into()
    }
}

/// A row that was read, from any database. Columns are accessed by name.
pub(crate) trait Columns {
    fn text(&self, name: &'static str) -> Result<Option<String>, StoreError>;
    fn number(&self, name: &'static str) -> Result<Option<i64>, StoreError>;

    fn some_text(&self, name: &'static str) -> Result<String, StoreError> {
        self.text(name)?.ok_or_else(|| damaged(name, "it is empty"))
    }

    fn some_number(&self, name: &'static str) -> Result<i64, StoreError> {
        self.number(name)?.ok_or_else(|| damaged(name, "it is empty"))
    }
}

/// The error for a column with a value that no version of Headwater writes.
pub(super) fn damaged(column: &'static str, why: impl std::fmt::Display) -> StoreError {
    StoreError::Corrupt { message: format!("the column `{column}` cannot be read: {why}") }
}

/// A required time or count.
pub(super) fn time(row: &impl Columns, name: &'static str) -> Result<u64, StoreError> {
    u64::try_from(row.some_number(name)?).map_err(|why| damaged(name, why))
}

/// Encodes a value as JSON for a text column.
pub(super) fn json<T: Serialize>(what: &'static str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|why| StoreError::Conflict { message: format!("`{what}` cannot be written as JSON: {why}") })
}

/// Decodes a text column of JSON.
pub(super) fn from_json<T: DeserializeOwned>(
    row: &impl Columns,
    name: &'static str,
) -> Result<T, StoreError> {
    serde_json::from_str(&row.some_text(name)?).map_err(|why| damaged(name, why))
}

/// Encodes a hash as text.
pub(super) fn hex(hash: &[u8; 32]) -> String {
    use std::fmt::Write;
    hash.iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // writing to a string cannot fail
        text
    })
}

/// Decodes a hash.
pub(super) fn hash(row: &impl Columns, name: &'static str) -> Result<[u8; 32], StoreError> {
    let text = row.some_text(name)?;
    let mut hash = [0; 32];
    let plain = text.len() == 64 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    if !plain {
        return Err(damaged(name, "it is not a hash"));
    }
    for (byte, digits) in hash.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let digits = str::from_utf8(digits).map_err(|why| damaged(name, why))?;
        *byte = u8::from_str_radix(digits, 16).map_err(|why| damaged(name, why))?;
    }
    Ok(hash)
}
