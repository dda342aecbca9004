//! `[retention.rows]`: how long the store keeps rows. The rest of `[retention]` belongs to the worker.

use std::time::Duration;

use headwater_protocol::units::{format_duration, parse_duration};
use headwater_store::AUDIT_FLOOR_MS;
use serde::{Deserialize, Serialize};

/// How long the store keeps rows. An absent value means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// How long executions and sessions are kept after the removal of their logs.
    pub age: Option<Duration>,
    /// How many of the newest executions of one owner are kept.
    pub of_owner: Option<u64>,
    /// How many of the newest executions of all owners are kept.
    pub in_all: Option<u64>,
    /// How long audit rows are kept: at least seven days.
    pub audit_age: Option<Duration>,
    /// How many of the newest audit rows are kept; those of the last seven days are always kept.
    pub audit: Option<u64>,
    /// How long expired and revoked tokens and links are kept.
    pub credentials: Option<Duration>,
}

const DAY: Duration = Duration::from_hours(24);

impl Default for Rows {
    fn default() -> Self {
        Self {
            age: Some(90 * DAY),
            // A row takes about 1 KiB, so the store stays below a few hundred megabytes.
            of_owner: Some(20_000),
            in_all: Some(200_000),
            audit_age: Some(365 * DAY),
            audit: Some(1_000_000),
            credentials: Some(30 * DAY),
        }
    }
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct FileRetention {
    rows: FileRows,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct FileRows {
    age: Option<String>,
    of_owner: Option<u64>,
    in_all: Option<u64>,
    audit_age: Option<String>,
    audit: Option<u64>,
    credentials: Option<String>,
}

impl From<&Rows> for FileRetention {
    fn from(rows: &Rows) -> Self {
        let time = |time: Option<Duration>| Some(time.map_or_else(|| "never".to_owned(), format_duration));
        let number = |number: Option<u64>| Some(number.unwrap_or(0)); // 0: no limit
        let rows = FileRows {
            age: time(rows.age),
            of_owner: number(rows.of_owner),
            in_all: number(rows.in_all),
            audit_age: time(rows.audit_age),
            audit: number(rows.audit),
            credentials: time(rows.credentials),
        };
        Self { rows }
    }
}

impl FileRetention {
    pub(super) fn parse(self) -> Result<Rows, String> {
        let defaults = Rows::default();
        let file = self.rows;
        let time = |name: &str, text: Option<String>, default: Option<Duration>| match text.as_deref() {
            None => Ok(default),
            Some("never" | "0") => Ok(None),
            Some(text) => {
                parse_duration(text).map(Some).map_err(|error| format!("retention.rows.{name}: {error}"))
            }
        };
        let number = |number: Option<u64>, default: Option<u64>| match number {
            None => default,
            Some(number) => (number > 0).then_some(number),
        };
        let audit_age = time("audit_age", file.audit_age, defaults.audit_age)?;
        if audit_age.is_some_and(|age| age < Duration::from_millis(AUDIT_FLOOR_MS)) {
            return Err("retention.rows.audit_age: must be at least `7d`".into());
        }
        Ok(Rows {
            age: time("age", file.age, defaults.age)?,
            of_owner: number(file.of_owner, defaults.of_owner),
            in_all: number(file.in_all, defaults.in_all),
            audit_age,
            audit: number(file.audit, defaults.audit),
            credentials: time("credentials", file.credentials, defaults.credentials)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Rows, String> {
        toml::from_str::<FileRetention>(text).unwrap().parse()
    }

    #[test]
    fn rows_can_be_kept_for_a_time_a_number_or_ever() {
        let rows =
            parse("age = \"1h\"\n[rows]\nage = \"2d\"\naudit_age = \"never\"\nof_owner = 0\n").unwrap();
        assert_eq!((rows.age, rows.audit_age, rows.of_owner), (Some(2 * DAY), None, None));
        assert_eq!(rows.in_all, Rows::default().in_all);
    }

    #[test]
    fn an_invalid_setting_is_named_and_recent_audit_rows_are_always_kept() {
        assert!(parse("[rows]\nage = \"x\"").unwrap_err().contains("retention.rows.age"));
        assert!(parse("[rows]\naudit_age = \"6d\"").unwrap_err().contains("7d"));
    }
}
