//! The table `keys`.

use super::{Columns, Select, Statement, damaged, hash, hex, time};
use crate::{KeyRow, StoreError};

const COLUMNS: &str = "owner, key, request_hash, object, session_id, created_at_ms FROM keys";

/// Claims the key if it is free.
pub(crate) fn claim(row: &KeyRow) -> Statement {
    let values = [
        row.owner.as_str().into(),
        row.key.as_str().into(),
        hex(&row.request_hash).into(),
        row.object.as_str().into(),
        row.session.map(|id| id.to_string()).as_deref().into(),
        row.created_at_ms.into(),
    ];
    Statement::new(
        "INSERT INTO keys (owner, key, request_hash, object, session_id, created_at_ms) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (owner, key) DO NOTHING",
        values,
    )
}

pub(crate) fn get(owner: &str, key: &str) -> Statement {
    Select::new(COLUMNS).when("owner =", Some(owner)).when("key =", Some(key)).page("created_at_ms", 1)
}

/// A key that names this object, or this session of a one-shot execution.
pub(crate) fn naming(object: &str) -> Statement {
    Statement::new(
        "SELECT owner, key, request_hash, object, session_id, created_at_ms FROM keys \
         WHERE object = $1 OR session_id = $1 LIMIT 1",
        [object.into()],
    )
}

pub(crate) fn forget(before_ms: u64) -> Statement {
    Statement::new("DELETE FROM keys WHERE created_at_ms < $1", [before_ms.into()])
}

pub(crate) fn read(row: &impl Columns) -> Result<KeyRow, StoreError> {
    let session = row.text("session_id")?.map(|id| id.parse());
    Ok(KeyRow {
        owner: row.some_text("owner")?,
        key: row.some_text("key")?,
        request_hash: hash(row, "request_hash")?,
        object: row.some_text("object")?,
        session: session.transpose().map_err(|why| damaged("session_id", why))?,
        created_at_ms: time(row, "created_at_ms")?,
    })
}
