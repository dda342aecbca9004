//! The table `chat_executions`.

use super::{Columns, Select, Statement, time};
use crate::{ChatExecutionRow, StoreError};

const RESULT: &str =
    "owner, message_uuid, artifact_uuid, execution_id, saved_at_ms, result FROM chat_executions";
/// More results than any owner has.
const MAX_RESULTS: i64 = 1_000_000;

pub(crate) fn put(row: &ChatExecutionRow, keep: u32) -> Vec<Statement> {
    let ids = [row.owner.as_str(), &row.message_uuid, &row.artifact_uuid, &row.execution_id];
    let mut values: Vec<_> = ids.into_iter().map(Into::into).collect();
    values.extend([row.saved_at_ms.into(), row.result.as_str().into()]);
    vec![
        Statement::new(
            "INSERT INTO chat_executions (owner, message_uuid, artifact_uuid, execution_id, saved_at_ms, result) \
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (owner, message_uuid, artifact_uuid, execution_id) \
             DO UPDATE SET saved_at_ms = excluded.saved_at_ms, result = excluded.result",
            values,
        ),
        Statement::new(
            "DELETE FROM chat_executions WHERE number IN (SELECT number FROM chat_executions WHERE owner = $1 \
             ORDER BY number DESC LIMIT $2 OFFSET $3)",
            [row.owner.as_str().into(), MAX_RESULTS.into(), i64::from(keep).into()],
        ),
    ]
}

/// The newest results of a message, newest first.
pub(crate) fn of_message(owner: &str, message_uuid: &str, limit: u32) -> Statement {
    let select = Select::new(RESULT).when("owner =", Some(owner)).when("message_uuid =", Some(message_uuid));
    select.page("number DESC", limit)
}

pub(crate) fn read(row: &impl Columns) -> Result<ChatExecutionRow, StoreError> {
    Ok(ChatExecutionRow {
        owner: row.some_text("owner")?,
        message_uuid: row.some_text("message_uuid")?,
        artifact_uuid: row.some_text("artifact_uuid")?,
        execution_id: row.some_text("execution_id")?,
        saved_at_ms: time(row, "saved_at_ms")?,
        result: row.some_text("result")?,
    })
}
