//! Retention of logs: `[retention]` in the file. `[retention.rows]` belongs to the gateway.

use std::path::Path;
use std::time::Duration;

use headwater_protocol::units::{format_bytes, format_duration, parse_bytes, parse_duration};
use serde::{Deserialize, Serialize};

use super::or_never;

use crate::retention::{Bounds, Rules};

/// The configuration of retention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionConfig {
    /// Logs of executions.
    pub rules: Rules,
    /// `worker.log` is rotated when it is larger.
    pub worker_log_bytes: u64,
    /// The number of its files that are kept, including the current one.
    pub worker_log_files: u32,
}

/// All logs together take at most this ...
const ALL_BYTES: u64 = 10 << 30;
/// ... and at most this part of the file system: a small disk stays usable.
const ALL_SHARE: u64 = 5;

impl RetentionConfig {
    /// The defaults for this data folder.
    pub(super) fn new(data: &Path) -> Self {
        let rules = Rules {
            // Long enough for a client that polls, or that was away for a restart, to fetch its result.
            keep_at_least: Duration::from_mins(5),
            age: Some(Duration::from_hours(30 * 24)),
            // A log takes at least three inodes and 12 KiB; the worker needs about 2 KiB of memory for each.
            session: Bounds { logs: Some(1_000), bytes: Some(2 << 30) },
            owner: Bounds { logs: Some(10_000), bytes: Some(4 << 30) },
            all: Bounds { logs: Some(50_000), bytes: Some(all_bytes(data)) },
        };
        Self { rules, worker_log_bytes: 10 << 20, worker_log_files: 4 }
    }
}

/// The default bound of all logs, which depends on the file system of the data folder.
fn all_bytes(data: &Path) -> u64 {
    let found = data.ancestors().find_map(|path| rustix::fs::statvfs(path).ok());
    found
        .map_or(ALL_BYTES, |found| (found.f_blocks.saturating_mul(found.f_frsize) / ALL_SHARE).min(ALL_BYTES))
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FileRetention {
    age: Option<String>,
    keep_at_least: Option<String>,
    session_logs: Option<u64>,
    session_bytes: Option<String>,
    owner_logs: Option<u64>,
    owner_bytes: Option<String>,
    all_logs: Option<u64>,
    all_bytes: Option<String>,
    worker_log: Option<String>,
    worker_log_files: Option<u32>,
    /// Settings of the gateway, which checks them.
    #[serde(rename = "rows", skip_serializing)]
    _rows: Option<serde::de::IgnoredAny>,
}

impl From<&RetentionConfig> for FileRetention {
    fn from(config: &RetentionConfig) -> Self {
        let bytes = |bytes: Option<u64>| Some(bytes.map_or_else(|| "never".to_owned(), format_bytes));
        let logs = |logs: Option<u64>| Some(logs.unwrap_or(0)); // 0: any number
        let Rules { keep_at_least, age, session, owner, all } = config.rules;
        Self {
            age: Some(or_never(age)),
            keep_at_least: Some(format_duration(keep_at_least)),
            session_logs: logs(session.logs),
            session_bytes: bytes(session.bytes),
            owner_logs: logs(owner.logs),
            owner_bytes: bytes(owner.bytes),
            all_logs: logs(all.logs),
            all_bytes: bytes(all.bytes),
            worker_log: bytes(Some(config.worker_log_bytes).filter(|bytes| *bytes != u64::MAX)),
            worker_log_files: Some(config.worker_log_files),
            _rows: None,
        }
    }
}

impl FileRetention {
    pub(super) fn parse(self, now: RetentionConfig) -> Result<RetentionConfig, String> {
        let time = |name: &str, text: &str| {
            parse_duration(text).map_err(|error| format!("retention.{name}: {error}"))
        };
        let size =
            |name: &str, text: &str| parse_bytes(text).map_err(|error| format!("retention.{name}: {error}"));
        let bytes = |name: &str, text: Option<String>, now: Option<u64>| match text.as_deref() {
            None => Ok(now),
            Some("never") => Ok(None),
            Some(text) => size(name, text).map(|bytes| (bytes > 0).then_some(bytes)),
        };
        let logs = |number: Option<u64>, now: Option<u64>| match number {
            None => now,
            Some(number) => (number > 0).then_some(number),
        };
        let old = now.rules;
        let rules = Rules {
            keep_at_least: self
                .keep_at_least
                .map_or(Ok(old.keep_at_least), |text| time("keep_at_least", &text))?,
            age: match self.age.as_deref() {
                None => old.age,
                Some("never" | "0") => None,
                Some(text) => Some(time("age", text)?),
            },
            session: Bounds {
                logs: logs(self.session_logs, old.session.logs),
                bytes: bytes("session_bytes", self.session_bytes, old.session.bytes)?,
            },
            owner: Bounds {
                logs: logs(self.owner_logs, old.owner.logs),
                bytes: bytes("owner_bytes", self.owner_bytes, old.owner.bytes)?,
            },
            all: Bounds {
                logs: logs(self.all_logs, old.all.logs),
                bytes: bytes("all_bytes", self.all_bytes, old.all.bytes)?,
            },
        };
        if self.worker_log_files == Some(0) {
            return Err("retention.worker_log_files: must be more than 0".into());
        }
        let worker_log = bytes("worker_log", self.worker_log, Some(now.worker_log_bytes))?;
        Ok(RetentionConfig {
            rules,
            worker_log_bytes: worker_log.unwrap_or(u64::MAX),
            worker_log_files: self.worker_log_files.unwrap_or(now.worker_log_files),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<RetentionConfig, String> {
        let file: FileRetention = toml::from_str(text).unwrap();
        file.parse(RetentionConfig::new(Path::new("/")))
    }

    #[test]
    fn each_bound_can_be_set_and_switched_off() {
        let text =
            "age = \"7d\"\nsession_logs = 5\nowner_bytes = \"1Gi\"\nall_bytes = \"never\"\nall_logs = 0\n";
        let rules = parse(text).unwrap().rules;
        assert_eq!(rules.age, Some(Duration::from_hours(7 * 24)));
        assert_eq!((rules.session.logs, rules.session.bytes), (Some(5), Some(2 << 30)));
        assert_eq!((rules.owner.bytes, rules.all), (Some(1 << 30), Bounds::default()));
        assert_eq!(parse("age = \"never\"").unwrap().rules.age, None);
        assert!(parse("").unwrap().rules.all.bytes.is_some_and(|bytes| bytes <= ALL_BYTES));
    }

    #[test]
    fn an_invalid_setting_is_named_with_its_section() {
        for text in
            ["age = \"old\"", "all_bytes = \"much\"", "keep_at_least = \"never\"", "worker_log_files = 0"]
        {
            let name = text.split(' ').next().unwrap();
            assert!(parse(text).unwrap_err().contains(&format!("retention.{name}")), "{text}");
        }
    }
}
