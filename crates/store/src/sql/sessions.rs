//! The table `sessions`.

use headwater_protocol::{SessionId, SessionSpec};

use super::{Columns, SCAN_ROWS, Select, Statement, Value, damaged, from_json, json, page_size, time};
use crate::{PageRequest, SessionFilter, SessionRow, StoreError};

const COLUMNS: &str = "number, id, owner, spec, sandbox, created_at_ms, ended_at_ms FROM sessions";

fn values(row: &SessionRow) -> Result<[Value; 7], StoreError> {
    Ok([
        row.id.to_string().into(),
        row.owner.as_str().into(),
        row.spec.name.as_deref().into(),
        json("spec", &row.spec)?.into(),
        row.sandbox.name().into(),
        row.created_at_ms.into(),
        row.ended_at_ms.into(),
    ])
}

/// Adds a session; it is not found by its name if another one is.
pub(crate) fn put(row: &SessionRow) -> Result<Statement, StoreError> {
    Ok(Statement::new(
        "INSERT INTO sessions (id, owner, name, spec, sandbox, created_at_ms, ended_at_ms, unique_name) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, CASE WHEN NOT EXISTS (SELECT 1 FROM sessions \
         WHERE owner = $2 AND unique_name = $3 AND ended_at_ms IS NULL) THEN $3 END) ON CONFLICT (id) DO NOTHING",
        values(row)?,
    ))
}

/// Adds a session, and breaks the unique index if its name is taken. The id is checked in the condition: with `ON CONFLICT`
/// the index of names could be checked first.
pub(crate) fn create(row: &SessionRow) -> Result<Statement, StoreError> {
    Ok(Statement::new(
        "INSERT INTO sessions (id, owner, name, spec, sandbox, created_at_ms, ended_at_ms, unique_name) \
         SELECT $1, $2, $3, $4, $5, $6, $7, $3 WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE id = $1)",
        values(row)?,
    ))
}

pub(crate) fn rename(id: SessionId, name: Option<&str>) -> Statement {
    let values = [id.to_string().into(), name.into()];
    Statement::new("UPDATE sessions SET name = $2, unique_name = $2 WHERE id = $1", values)
}

pub(crate) fn by_name(owner: &str, name: &str) -> Statement {
    Select::new(COLUMNS)
        .when("owner =", Some(owner))
        .when("unique_name =", Some(name))
        .only("ended_at_ms IS NULL")
        .page("number DESC", 1)
}

pub(crate) fn get(id: SessionId) -> Statement {
    Select::new(COLUMNS).when("id =", Some(id.to_string())).page("number", 1)
}

/// A page; only rows from the number `lowest` on, if there is one.
pub(crate) fn list(filter: &SessionFilter, page: PageRequest, lowest: Option<i64>) -> Statement {
    let select = searched(chosen(COLUMNS, filter), filter);
    let select = select.when("number <", page.cursor).when("number >=", lowest);
    select.page("number DESC", page_size(page.limit) + 1)
}

/// The last number that a search for a page looks at, if there are that many.
pub(crate) fn lowest_scanned(filter: &SessionFilter, page: PageRequest) -> Statement {
    let select = chosen("number FROM sessions", filter).when("number <", page.cursor);
    select.at("number DESC", SCAN_ROWS - 1)
}

/// The conditions but for those of a search.
fn chosen(columns: &'static str, filter: &SessionFilter) -> Select {
    let mut select = Select::new(columns)
        .when("owner =", filter.owner.as_deref())
        .when("name =", filter.name.as_deref())
        .when("id >=", filter.id_prefix.as_deref())
        // Greater than every digit that can follow.
        .when("id <", filter.id_prefix.as_ref().map(|prefix| format!("{prefix}g")))
        .among("id IN", filter.among.as_deref());
    if let Some(member) = filter.member.as_deref() {
        select = select.within("id IN (SELECT session_id FROM session_members WHERE member =", member, ")");
    }
    if let Some(ended) = filter.ended {
        select = select.only(if ended { "ended_at_ms IS NOT NULL" } else { "ended_at_ms IS NULL" });
    }
    select
}

/// Adds the conditions of a search. They are checked row by row.
fn searched(select: Select, filter: &SessionFilter) -> Select {
    // As the function `lower` of the database does.
    let Some(text) = filter.text.as_deref().map(|text| text.trim().to_ascii_lowercase()) else {
        return select;
    };
    let pieces = [
        "(instr(lower(name),",
        ") > 0 OR instr(lower(owner),",
        ") > 0 OR instr(id,",
        ") = 1 OR EXISTS (SELECT 1 FROM json_each(spec -> 'metadata') AS entry WHERE instr(lower(entry.value),",
        ") > 0))",
    ];
    select.around(&pieces, &text)
}

/// Each of the two times is found at the end of an index.
pub(crate) fn last_activity(ids: &[SessionId]) -> Statement {
    let columns = "id, created_at_ms, \
                   (SELECT queued_at_ms FROM executions WHERE session_id = sessions.id ORDER BY number DESC LIMIT 1) \
                   AS last_start_ms, \
                   (SELECT MAX(exited_at_ms) FROM executions WHERE session_id = sessions.id AND exited_at_ms IS NOT NULL) \
                   AS last_end_ms FROM sessions";
    Select::new(columns)
        .among("id IN", Some(ids))
        .page("number", u32::try_from(ids.len()).unwrap_or(u32::MAX))
}

pub(crate) fn read_last_activity(row: &impl Columns) -> Result<(SessionId, u64), StoreError> {
    let mut at = time(row, "created_at_ms")?;
    for name in ["last_start_ms", "last_end_ms"] {
        if row.number(name)?.is_some() {
            at = at.max(time(row, name)?);
        }
    }
    Ok((id(row)?, at))
}

pub(crate) fn update(id: SessionId, spec: &SessionSpec) -> Result<Statement, StoreError> {
    let values = [id.to_string().into(), spec.name.as_deref().into(), json("spec", spec)?.into()];
    Ok(Statement::new("UPDATE sessions SET name = $2, spec = $3 WHERE id = $1", values))
}

pub(crate) fn end(id: SessionId, at_ms: u64) -> Statement {
    let values = [id.to_string().into(), at_ms.into()];
    Statement::new("UPDATE sessions SET ended_at_ms = $2 WHERE id = $1 AND ended_at_ms IS NULL", values)
}

/// Removes a session. Its executions are removed by the foreign key. Keys have none, so they are removed
/// first.
pub(crate) fn remove(id: SessionId) -> Vec<Statement> {
    let id = id.to_string();
    vec![
        Statement::new(
            "DELETE FROM keys WHERE object = $1 OR session_id = $1 \
             OR object IN (SELECT id FROM executions WHERE session_id = $1)",
            [id.as_str().into()],
        ),
        Statement::new("DELETE FROM sessions WHERE id = $1", [id.as_str().into()]),
    ]
}

/// Converts a row; returns its number, too.
pub(crate) fn read(row: &impl Columns) -> Result<(i64, SessionRow), StoreError> {
    let sandbox = row.some_text("sandbox")?;
    let session = SessionRow {
        id: id(row)?,
        owner: row.some_text("owner")?,
        spec: from_json(row, "spec")?,
        sandbox: serde_json::from_value(sandbox.into()).map_err(|why| damaged("sandbox", why))?,
        created_at_ms: time(row, "created_at_ms")?,
        ended_at_ms: row.number("ended_at_ms")?.map(|_| time(row, "ended_at_ms")).transpose()?,
    };
    Ok((row.some_number("number")?, session))
}

fn id(row: &impl Columns) -> Result<SessionId, StoreError> {
    row.some_text("id")?.parse().map_err(|why| damaged("id", why))
}
