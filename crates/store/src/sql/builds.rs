//! The table `builds`.

use headwater_protocol::build::BuildResult;
use headwater_protocol::{BuildId, SessionId};

use super::{Columns, Select, Statement, damaged, from_json, json, page_size, time};
use crate::{BuildRow, PageRequest, StoreError};

const COLUMNS: &str =
    "number, id, session_id, owner, kind, request, executed, result, created_at_ms FROM builds";

pub(crate) fn put(row: &BuildRow) -> Result<Statement, StoreError> {
    let result = row.result.as_ref().map(|result| json("result", result)).transpose()?;
    let values = [
        row.id.to_string().into(),
        row.session_id.to_string().into(),
        row.owner.as_str().into(),
        row.kind.as_str().into(),
        json("request", &row.request)?.into(),
        row.executed.into(),
        result.as_deref().into(),
        row.created_at_ms.into(),
    ];
    Ok(Statement::new(
        "INSERT INTO builds (id, session_id, owner, kind, request, executed, result, created_at_ms) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING",
        values,
    ))
}

pub(crate) fn get(id: BuildId) -> Statement {
    Select::new(COLUMNS).when("id =", Some(id.to_string())).page("number", 1)
}

pub(crate) fn list(session: SessionId, page: PageRequest) -> Statement {
    Select::new(COLUMNS)
        .when("session_id =", Some(session.to_string()))
        .when("number <", page.cursor)
        .page("number DESC", page_size(page.limit) + 1)
}

/// Builds that have not ended, oldest first.
pub(crate) fn unfinished() -> Statement {
    Statement::new(
        "SELECT number, id, session_id, owner, kind, request, executed, result, created_at_ms FROM builds \
         WHERE result IS NULL ORDER BY number",
        [],
    )
}

/// Stores a result; the first one stays.
pub(crate) fn end(id: BuildId, result: &BuildResult, executed: bool) -> Result<Statement, StoreError> {
    let values = [id.to_string().into(), json("result", result)?.into(), executed.into()];
    Ok(Statement::new(
        "UPDATE builds SET result = $2, executed = $3 WHERE id = $1 AND result IS NULL",
        values,
    ))
}

pub(crate) fn remove(id: BuildId) -> Statement {
    Statement::new("DELETE FROM builds WHERE id = $1", [id.to_string().into()])
}

/// Converts a row; returns its number, too.
pub(crate) fn read(row: &impl Columns) -> Result<(i64, BuildRow), StoreError> {
    let result = row.text("result")?.map(|_| from_json(row, "result")).transpose()?;
    let build = BuildRow {
        id: row.some_text("id")?.parse().map_err(|why| damaged("id", why))?,
        session_id: row.some_text("session_id")?.parse().map_err(|why| damaged("session_id", why))?,
        owner: row.some_text("owner")?,
        kind: row.some_text("kind")?,
        request: from_json(row, "request")?,
        executed: row.some_number("executed")? != 0,
        result,
        created_at_ms: time(row, "created_at_ms")?,
    };
    Ok((row.some_number("number")?, build))
}
