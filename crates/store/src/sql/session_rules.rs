//! The table `session_rules`.

use headwater_protocol::SessionId;

use super::{Columns, Select, Statement, damaged, from_json, json, time};
use crate::{SessionRuleRow, StoreError};

const COLUMNS: &str = "number, session_id, owner, subject, rule, created_at_ms FROM session_rules";
/// More rules than any session has.
const MAX_RULES: u32 = 100_000;

pub(crate) fn put(row: &SessionRuleRow, most: u32) -> Result<Vec<Statement>, StoreError> {
    let (session, owner, subject) = (row.session_id.to_string(), row.owner.as_str(), row.subject.as_str());
    let rule = json("rule", &row.rule)?;
    Ok(vec![
        Statement::new(
            "DELETE FROM session_rules WHERE session_id = $1 AND owner = $2 AND subject = $3",
            [session.as_str().into(), owner.into(), subject.into()],
        ),
        Statement::new(
            "INSERT INTO session_rules (session_id, owner, subject, rule, created_at_ms) \
             SELECT $1, $2, $3, $4, $5 WHERE (SELECT count(*) FROM session_rules WHERE session_id = $1) < $6",
            [
                session.as_str().into(),
                owner.into(),
                subject.into(),
                rule.into(),
                row.created_at_ms.into(),
                u64::from(most).into(),
            ],
        ),
    ])
}

pub(crate) fn list(session: SessionId, owner: Option<&str>) -> Statement {
    Select::new(COLUMNS)
        .when("session_id =", Some(session.to_string()))
        .when("owner =", owner)
        .page("number", MAX_RULES)
}

pub(crate) fn remove(session: SessionId, number: i64) -> Statement {
    Statement::new(
        "DELETE FROM session_rules WHERE session_id = $1 AND number = $2",
        [session.to_string().into(), number.into()],
    )
}

pub(crate) fn read(row: &impl Columns) -> Result<SessionRuleRow, StoreError> {
    Ok(SessionRuleRow {
        number: row.some_number("number")?,
        session_id: row.some_text("session_id")?.parse().map_err(|why| damaged("session_id", why))?,
        owner: row.some_text("owner")?,
        subject: row.some_text("subject")?,
        rule: from_json(row, "rule")?,
        created_at_ms: time(row, "created_at_ms")?,
    })
}
