//! Removing rows that are no longer kept. Only executions whose log was removed lose their rows: the others
//! would be restored from the worker.

use super::{Statement, Value, execution_search, json};
use crate::StoreError;
use crate::retention::{AUDIT_FLOOR_MS, AuditRules, RemovedLogRow, RowRules};

/// Rows that one statement removes: the writer serves others in between.
pub(crate) const BATCH_ROWS: u64 = 2_000;

pub(crate) fn note_removed(row: &RemovedLogRow) -> Result<[Statement; 2], StoreError> {
    let values = [
        row.id.to_string().into(),
        row.removed.at_ms.into(),
        row.removed.reason.as_str().into(),
        json("spec", &row.spec)?.into(),
    ];
    let noted = Statement::new(
        "UPDATE executions SET log_removed_at_ms = $2, log_removed_reason = $3, spec = $4, closed = 1 \
         WHERE id = $1 AND log_removed_at_ms IS NULL AND verdict IS NOT NULL",
        values,
    );
    Ok([noted, execution_search::shorten(row.id, &row.spec)])
}

/// Statements that each remove at most [`BATCH_ROWS`] rows. They are run until they remove fewer.
pub(crate) fn rows(rules: &RowRules) -> Vec<Statement> {
    let mut all = Vec::new();
    if let Some(before_ms) = rules.before_ms {
        all.push(Statement::new(
            "DELETE FROM executions WHERE number IN (SELECT number FROM executions \
             WHERE log_removed_at_ms < $1 AND queued_at_ms < $2 LIMIT $3)",
            [before_ms.into(), rules.keys_ms.into(), BATCH_ROWS.into()],
        ));
    }
    if let Some(most) = rules.of_owner {
        all.push(Statement::new(
            "DELETE FROM executions WHERE number IN (SELECT number FROM (SELECT number, log_removed_at_ms, queued_at_ms, \
             ROW_NUMBER() OVER (PARTITION BY owner ORDER BY number DESC) AS place FROM executions) \
             WHERE place > $1 AND log_removed_at_ms IS NOT NULL AND queued_at_ms < $2 LIMIT $3)",
            [most.into(), rules.keys_ms.into(), BATCH_ROWS.into()],
        ));
    }
    if let Some(most) = rules.in_all {
        all.push(Statement::new(
            "DELETE FROM executions WHERE number IN (SELECT number FROM executions WHERE log_removed_at_ms IS NOT NULL \
             AND queued_at_ms < $2 AND number <= \
             (SELECT number FROM executions ORDER BY number DESC LIMIT 1 OFFSET $1) LIMIT $3)",
            [most.into(), rules.keys_ms.into(), BATCH_ROWS.into()],
        ));
    }
    all.extend(tool_calls(rules));
    let before_ms = rules.before_ms.unwrap_or(0);
    all.push(Statement::new(
        "DELETE FROM sessions WHERE number IN (SELECT number FROM sessions WHERE ended_at_ms < $1 \
         AND NOT EXISTS (SELECT 1 FROM executions WHERE session_id = sessions.id) \
         AND (ended_at_ms < $2 OR NOT EXISTS (SELECT 1 FROM builds WHERE session_id = sessions.id)) LIMIT $3)",
        [rules.keys_ms.into(), before_ms.into(), BATCH_ROWS.into()],
    ));
    if let Some(before_ms) = rules.credentials_ms {
        for sql in [
            "DELETE FROM tokens WHERE expires_at_ms < $1 OR revoked_at_ms < $1",
            "DELETE FROM shares WHERE expires_at_ms < $1 OR revoked_at_ms < $1",
        ] {
            all.push(Statement::new(sql, [before_ms.into()]));
        }
    }
    all.push(Statement::new("DELETE FROM usage_by_day WHERE day < $1", [rules.usage_day.into()]));
    all
}

/// Removes tool calls by age and number. No key names them.
fn tool_calls(rules: &RowRules) -> Vec<Statement> {
    let before = rules.before_ms.map(|before_ms| {
        let sql = "DELETE FROM tool_calls WHERE number IN \
                   (SELECT number FROM tool_calls WHERE called_at_ms < $1 LIMIT $2)";
        Statement::new(sql, [before_ms.into(), BATCH_ROWS.into()])
    });
    let of_owner = rules.of_owner.map(|most| {
        let sql = "DELETE FROM tool_calls WHERE number IN (SELECT number FROM (SELECT number, \
                   ROW_NUMBER() OVER (PARTITION BY owner ORDER BY number DESC) AS place FROM tool_calls) \
                   WHERE place > $1 LIMIT $2)";
        Statement::new(sql, [most.into(), BATCH_ROWS.into()])
    });
    let in_all = rules.in_all.map(|most| {
        let sql = "DELETE FROM tool_calls WHERE number IN (SELECT number FROM tool_calls WHERE number <= \
                   (SELECT number FROM tool_calls ORDER BY number DESC LIMIT 1 OFFSET $1) LIMIT $2)";
        Statement::new(sql, [most.into(), BATCH_ROWS.into()])
    });
    [before, of_owner, in_all].into_iter().flatten().collect()
}

/// The number of audit rows to remove.
pub(crate) fn count_audit(rules: &AuditRules) -> Statement {
    Statement::new(
        "SELECT COUNT(*) AS total FROM audit WHERE at_ms < $1 AND (at_ms < $2 \
         OR number <= (SELECT MAX(number) FROM audit) - $3)",
        audit_values(rules),
    )
}

/// Removes a batch of audit rows: opens the guard, deletes, and closes the guard, in one transaction.
pub(crate) fn remove_audit(rules: &AuditRules) -> Vec<Statement> {
    let guard = |before_ms: u64| {
        Statement::new("UPDATE audit_retention SET before_ms = $1 WHERE id = 1", [before_ms.into()])
    };
    let mut values = Vec::from(audit_values(rules));
    values.push(BATCH_ROWS.into());
    let delete = Statement::new(
        "DELETE FROM audit WHERE number IN (SELECT number FROM audit WHERE at_ms < $1 AND (at_ms < $2 \
         OR number <= (SELECT MAX(number) FROM audit) - $3) LIMIT $4)",
        values,
    );
    vec![guard(floor(rules)), delete, guard(0)]
}

const fn floor(rules: &AuditRules) -> u64 {
    rules.now_ms.saturating_sub(AUDIT_FLOOR_MS)
}

/// The floor, the age and the number, as values.
fn audit_values(rules: &AuditRules) -> [Value; 3] {
    // More rows than any table has.
    let rows = rules.rows.unwrap_or(u64::MAX >> 2);
    [floor(rules).into(), rules.before_ms.unwrap_or(0).into(), rows.into()]
}
