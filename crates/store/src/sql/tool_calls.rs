//! The table `tool_calls`.

use headwater_protocol::SessionId;

use super::{Columns, Select, Statement, damaged, from_json, json, page_size, time};
use crate::{PageRequest, StoreError, ToolCallRow};

const COLUMNS: &str = "number, session_id, owner, caller, agent, conversation_id, tool_call_id, tool, arguments, \
                       result, is_error, executions, called_at_ms, duration_ms FROM tool_calls";

pub(crate) fn put(row: &ToolCallRow) -> Result<Statement, StoreError> {
    let arguments = row.arguments.as_ref().map(|arguments| json("arguments", arguments)).transpose()?;
    let values = [
        row.session_id.to_string().into(),
        row.owner.as_str().into(),
        row.caller.as_str().into(),
        row.agent.as_str().into(),
        row.conversation_id.as_deref().into(),
        row.tool_call_id.as_deref().into(),
        row.tool.as_str().into(),
        arguments.as_deref().into(),
        row.result.as_deref().into(),
        row.is_error.into(),
        json("executions", &row.executions)?.into(),
        row.called_at_ms.into(),
        row.duration_ms.into(),
    ];
    Ok(Statement::new(
        "INSERT INTO tool_calls (session_id, owner, caller, agent, conversation_id, tool_call_id, tool, arguments, \
         result, is_error, executions, called_at_ms, duration_ms) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        values,
    ))
}

/// Removes the calls of an owner up to the newest one that is not kept. Both are found in an index.
pub(crate) fn trim(owner: &str, keep: u64) -> Statement {
    Statement::new(
        "DELETE FROM tool_calls WHERE owner = $1 AND number <= \
         (SELECT number FROM tool_calls WHERE owner = $1 ORDER BY number DESC LIMIT 1 OFFSET $2)",
        [owner.into(), keep.into()],
    )
}

pub(crate) fn list(session: SessionId, page: PageRequest) -> Statement {
    Select::new(COLUMNS)
        .when("session_id =", Some(session.to_string()))
        .when("number <", page.cursor)
        .page("number DESC", page_size(page.limit) + 1)
}

/// Converts a row; returns its number, too.
pub(crate) fn read(row: &impl Columns) -> Result<(i64, ToolCallRow), StoreError> {
    let call = ToolCallRow {
        session_id: row.some_text("session_id")?.parse().map_err(|why| damaged("session_id", why))?,
        owner: row.some_text("owner")?,
        caller: row.some_text("caller")?,
        agent: row.some_text("agent")?,
        conversation_id: row.text("conversation_id")?,
        tool_call_id: row.text("tool_call_id")?,
        tool: row.some_text("tool")?,
        arguments: row.text("arguments")?.map(|_| from_json(row, "arguments")).transpose()?,
        result: row.text("result")?,
        is_error: row.some_number("is_error")? != 0,
        executions: from_json(row, "executions")?,
        called_at_ms: time(row, "called_at_ms")?,
        duration_ms: time(row, "duration_ms")?,
    };
    Ok((row.some_number("number")?, call))
}
