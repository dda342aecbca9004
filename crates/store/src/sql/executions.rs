//! The table `executions`.

use headwater_protocol::{ExecutionId, LogRemoved, Seq, SessionId, StartSpec, Stdin};

use super::{
    Columns, SCAN_ROWS, Select, Statement, Value, damaged, execution_search, from_json, json, page_size, time,
};
use crate::{ExecutionEnd, ExecutionFilter, ExecutionRow, PageRequest, StateFilter, StoreError};

const COLUMNS: &str = "number, id, session_id, owner, conversation_id, tool_call_id, language, spec, queued_at_ms, \
                       verdict, started_at_ms, exited_at_ms, last_seq, closed, log_removed_at_ms, log_removed_reason \
                       FROM executions";

/// Adds an execution, and then what a search reads. Both have the same number and change the same number of rows.
pub(crate) fn put(row: &ExecutionRow) -> Result<Vec<Statement>, StoreError> {
    Ok(vec![put_row(row)?, execution_search::put(row.id, &row.spec)])
}

fn put_row(row: &ExecutionRow) -> Result<Statement, StoreError> {
    let mut values = vec![
        row.id.to_string().into(),
        row.session_id.to_string().into(),
        row.owner.as_str().into(),
        row.conversation_id.as_deref().into(),
        row.tool_call_id.as_deref().into(),
        row.language.as_deref().into(),
        spec_without_input(&row.spec)?.into(),
        row.queued_at_ms.into(),
    ];
    values.extend(end_values(row.end.as_ref())?);
    Ok(Statement::new(
        "INSERT INTO executions (id, session_id, owner, conversation_id, tool_call_id, language, spec, queued_at_ms, \
         verdict, started_at_ms, exited_at_ms, last_seq, closed) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT (id) DO NOTHING",
        values,
    ))
}

/// Given input may be large and secret, and is not stored.
fn spec_without_input(spec: &StartSpec) -> Result<String, StoreError> {
    if matches!(spec.stdin, Stdin::Given(_)) {
        return json("spec", &StartSpec { stdin: Stdin::None, ..spec.clone() });
    }
    json("spec", spec)
}

fn end_values(end: Option<&ExecutionEnd>) -> Result<[Value; 5], StoreError> {
    let verdict = end.map(|end| json("verdict", &end.verdict)).transpose()?;
    Ok([
        verdict.as_deref().into(),
        end.map(|end| end.started_at_ms).into(),
        end.map(|end| end.exited_at_ms).into(),
        end.map(|end| end.last_seq.0).into(),
        end.is_some_and(|end| end.closed).into(),
    ])
}

pub(crate) fn get(id: ExecutionId) -> Statement {
    Select::new(COLUMNS).when("id =", Some(id.to_string())).page("number", 1)
}

/// A page; only rows from the number `lowest` on, if there is one.
pub(crate) fn list(filter: &ExecutionFilter, page: PageRequest, lowest: Option<i64>) -> Statement {
    let select = execution_search::searched(chosen(COLUMNS, filter), filter);
    let select = select.when("number <", page.cursor).when("number >=", lowest);
    select.page("number DESC", page_size(page.limit) + 1)
}

/// The last number that a search for a page looks at, if there are that many.
pub(crate) fn lowest_scanned(filter: &ExecutionFilter, page: PageRequest) -> Statement {
    let select = chosen("number FROM executions", filter).when("number <", page.cursor);
    select.at("number DESC", SCAN_ROWS - 1)
}

pub(crate) fn after(filter: &ExecutionFilter, number: i64, limit: u32) -> Statement {
    let select = execution_search::searched(chosen(COLUMNS, filter), filter);
    select.when("number >", Some(number)).page("number", page_size(limit))
}

/// The table's counter: the rows themselves may have been removed.
pub(crate) fn last_number() -> Statement {
    Statement::new("SELECT seq AS number FROM sqlite_sequence WHERE name = 'executions'", [])
}

/// The conditions but for those of a search.
fn chosen(columns: &'static str, filter: &ExecutionFilter) -> Select {
    let select = Select::new(columns)
        .when("owner =", filter.owner.as_deref())
        .when("session_id =", filter.session_id.map(|id| id.to_string()))
        .when("succeeded =", filter.succeeded)
        .when("language =", filter.language.as_deref())
        .when("conversation_id =", filter.conversation_id.as_deref())
        .when("tool_call_id =", filter.tool_call_id.as_deref())
        .when("queued_at_ms >=", filter.started_after_ms)
        .when("queued_at_ms <", filter.started_before_ms)
        .among("session_id IN", filter.among.as_deref());
    match filter.state {
        None => select,
        Some(StateFilter::Running) => select.only("closed = 0 AND verdict IS NULL"),
        Some(StateFilter::Exited) => select.only("closed = 0 AND verdict IS NOT NULL"),
        Some(StateFilter::Closed) => select.only("closed = 1"),
    }
}

/// Stores an end. The first verdict stays with its times; the rest only advances.
pub(crate) fn end(id: ExecutionId, end: &ExecutionEnd) -> Result<Statement, StoreError> {
    let mut values = vec![id.to_string().into()];
    values.extend(end_values(Some(end))?);
    Ok(Statement::new(
        "UPDATE executions SET verdict = COALESCE(verdict, $2), \
         started_at_ms = COALESCE(started_at_ms, $3), exited_at_ms = COALESCE(exited_at_ms, $4), \
         last_seq = CASE WHEN last_seq > $5 THEN last_seq ELSE $5 END, \
         closed = CASE WHEN closed = 1 THEN 1 ELSE $6 END WHERE id = $1",
        values,
    ))
}

pub(crate) fn unfinished() -> Statement {
    Statement::new("SELECT id, session_id FROM executions WHERE closed = 0 ORDER BY number", [])
}

pub(crate) fn read_unfinished(row: &impl Columns) -> Result<(ExecutionId, SessionId), StoreError> {
    Ok((id(row)?, session_id(row)?))
}

pub(crate) fn remove(id: ExecutionId) -> Vec<Statement> {
    let id = id.to_string();
    vec![
        Statement::new("DELETE FROM keys WHERE object = $1", [id.as_str().into()]),
        Statement::new("DELETE FROM executions WHERE id = $1", [id.as_str().into()]),
    ]
}

pub(crate) fn read(row: &impl Columns) -> Result<ExecutionRow, StoreError> {
    Ok(ExecutionRow {
        id: id(row)?,
        session_id: session_id(row)?,
        owner: row.some_text("owner")?,
        conversation_id: row.text("conversation_id")?,
        tool_call_id: row.text("tool_call_id")?,
        language: row.text("language")?,
        spec: from_json(row, "spec")?,
        number: row.some_number("number")?,
        queued_at_ms: time(row, "queued_at_ms")?,
        end: read_end(row)?,
        log_removed: read_removed(row)?,
    })
}

fn read_removed(row: &impl Columns) -> Result<Option<LogRemoved>, StoreError> {
    if row.number("log_removed_at_ms")?.is_none() {
        return Ok(None);
    }
    let reason = row.text("log_removed_reason")?.unwrap_or_default();
    Ok(Some(LogRemoved { at_ms: time(row, "log_removed_at_ms")?, reason }))
}

fn read_end(row: &impl Columns) -> Result<Option<ExecutionEnd>, StoreError> {
    if row.text("verdict")?.is_none() {
        return Ok(None);
    }
    Ok(Some(ExecutionEnd {
        verdict: from_json(row, "verdict")?,
        started_at_ms: time(row, "started_at_ms")?,
        exited_at_ms: time(row, "exited_at_ms")?,
        last_seq: Seq(time(row, "last_seq")?),
        closed: row.some_number("closed")? == 1,
    }))
}

fn id(row: &impl Columns) -> Result<ExecutionId, StoreError> {
    row.some_text("id")?.parse().map_err(|why| damaged("id", why))
}

fn session_id(row: &impl Columns) -> Result<SessionId, StoreError> {
    row.some_text("session_id")?.parse().map_err(|why| damaged("session_id", why))
}
