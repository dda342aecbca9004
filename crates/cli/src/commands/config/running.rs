//! The configuration of the running worker, which may differ from the one that is configured now.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use headwater_gateway::config::LogFormat;
use headwater_worker::config::Config as WorkerConfig;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::secrets;
use super::settings::{KeyPath, leaves};
use crate::connect::Place;
use crate::error::CommandError;
use crate::view;

/// The file in which a worker records its configuration.
const FILE: &str = "worker.settings.json";
/// The key that is never changed by replacing a worker: sessions need a worker with their sandbox.
const SANDBOX: &str = "sandbox";

/// The record of a worker.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    pid: u32,
    /// Whether a command started it in the background, so that another may replace it.
    background: bool,
    /// All settings, in the form of the file.
    settings: Value,
}

/// A setting whose value in the running worker is not the configured one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The tables and the field.
    pub path: KeyPath,
    /// The value in the running worker; secrets are hidden.
    pub running: Value,
    /// The configured value; secrets are hidden.
    pub configured: Value,
}

/// A running worker with another configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outdated {
    /// Its process id.
    pub pid: u32,
    /// Whether a command started it in the background.
    background: bool,
    /// What differs; at least one setting.
    pub differences: Vec<Difference>,
}

impl Outdated {
    /// Whether it can be replaced: its programs continue, and the next worker takes them over.
    pub fn is_replaceable(&self) -> bool {
        self.background && !self.differences.iter().any(|one| one.path == [SANDBOX])
    }

    /// The names of the settings that differ.
    pub fn keys(&self) -> String {
        self.differences.iter().map(|one| one.path.join(".")).collect::<Vec<_>>().join(", ")
    }
}

fn path(data: &Path) -> PathBuf {
    data.join(FILE)
}

/// Records the configuration of this worker. Without the record it is not compared, which is logged.
pub fn record(config: &WorkerConfig, format: LogFormat, background: bool) {
    let settings = settings_of(config, format);
    let record = Record { pid: std::process::id(), background, settings };
    if let Err(error) = write(&path(&config.data), &record) {
        tracing::warn!(%error, "cannot record the configuration of this worker");
    }
}

/// All settings of a worker. The default format of the log is left out, as in the records of earlier versions.
fn settings_of(config: &WorkerConfig, format: LogFormat) -> Value {
    let mut settings = view::object(&config.settings());
    if format != LogFormat::default() {
        settings["server"] = json!({ "log_format": format.name() });
    }
    settings
}

fn write(path: &Path, record: &Record) -> std::io::Result<()> {
    let new = path.with_extension("new");
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(&serde_json::to_vec(record)?)?;
    std::fs::rename(new, path)
}

/// The running worker, if its configuration is not this one. A worker without a record is an earlier version.
pub async fn outdated(
    place: &Place,
    config: &WorkerConfig,
    format: LogFormat,
) -> Result<Option<Outdated>, CommandError> {
    let Ok(text) = std::fs::read(path(&place.data)) else { return Ok(None) };
    let Ok(record) = serde_json::from_slice::<Record>(&text) else { return Ok(None) };
    let Some(worker) = place.running().await? else { return Ok(None) };
    if worker.info().await?.pid != record.pid {
        return Ok(None);
    }
    let differences = differences(record.settings, settings_of(config, format));
    let Record { pid, background, .. } = record;
    Ok((!differences.is_empty()).then_some(Outdated { pid, background, differences }))
}

fn differences(running: Value, configured: Value) -> Vec<Difference> {
    let flat = |value: Value| {
        let mut found = std::collections::BTreeMap::new();
        leaves(Vec::new(), value, &mut |path, value| drop(found.insert(path, value)));
        found
    };
    let (running, configured) = (flat(running), flat(configured));
    let mut paths: Vec<&KeyPath> = running.keys().chain(configured.keys()).collect();
    paths.sort();
    paths.dedup();
    let value = |of: &std::collections::BTreeMap<KeyPath, Value>, path: &KeyPath| {
        of.get(path).cloned().unwrap_or_default()
    };
    let differs = paths.into_iter().filter(|path| value(&running, path) != value(&configured, path));
    let hidden = |path: &KeyPath, value| secrets::hide(path, value);
    differs
        .map(|path| Difference {
            path: path.clone(),
            running: hidden(path, value(&running, path)),
            configured: hidden(path, value(&configured, path)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_that_differ_are_named() {
        let running = json!({"pool": 4, "limits": {"memory": "2Gi", "pids": 5}, "languages": {}});
        let configured = json!({"pool": 4, "limits": {"memory": "1Gi"}, "languages": {}});
        let found = differences(running, configured);
        let found: Vec<_> =
            found.iter().map(|one| (one.path.join("."), &one.running, &one.configured)).collect();
        let (two, one, five, null) = (json!("2Gi"), json!("1Gi"), json!(5), Value::Null);
        assert_eq!(
            found,
            [("limits.memory".to_owned(), &two, &one), ("limits.pids".to_owned(), &five, &null)]
        );
    }

    #[test]
    fn a_worker_in_the_foreground_or_with_another_sandbox_is_not_replaced() {
        let outdated = |background, key: &str| {
            let path = vec![key.to_owned()];
            let differences = vec![Difference { path, running: json!(1), configured: json!(2) }];
            Outdated { pid: 1, background, differences }.is_replaceable()
        };
        assert!(outdated(true, "pool") && !outdated(false, "pool") && !outdated(true, "sandbox"));
    }
}
