//! Usage of owners: the table `usage_by_day`, and counts of other tables.

use super::{Columns, Statement};
use crate::StoreError;

pub(crate) fn add_cpu(owner: &str, day: u64, cpu_ms: u64) -> Statement {
    Statement::new(
        "INSERT INTO usage_by_day (owner, day, cpu_ms) VALUES ($1, $2, $3) \
         ON CONFLICT (owner, day) DO UPDATE SET cpu_ms = usage_by_day.cpu_ms + excluded.cpu_ms",
        [owner.into(), day.into(), cpu_ms.into()],
    )
}

pub(crate) fn cpu_of_day(owner: &str, day: u64) -> Statement {
    let values = [owner.into(), day.into()];
    Statement::new("SELECT cpu_ms AS total FROM usage_by_day WHERE owner = $1 AND day = $2", values)
}

pub(crate) fn sessions(owner: &str) -> Statement {
    let text = "SELECT COUNT(*) AS total FROM sessions WHERE owner = $1 AND ended_at_ms IS NULL";
    Statement::new(text, [owner.into()])
}

/// Reads the only number of a row.
pub(crate) fn read(row: &impl Columns) -> Result<u64, StoreError> {
    Ok(u64::try_from(row.some_number("total")?).unwrap_or(0))
}
