//! `headwater doctor`: checks what this host can isolate, and how to fix what it cannot.
//!
//! The sandbox crate tests isolation and limits. The checks that need the worker's configuration (languages, data
//! folder, the worker itself) are here.

mod data;
mod languages;
mod models;
mod store;
mod table;
mod worker;

use std::path::{Path, PathBuf};

use headwater_protocol::SandboxKind;
use headwater_sandbox::doctor::{self as isolation, Check, Options};
use headwater_worker::config::{Config, ConfigError};
use headwater_worker::usage::{limit_descriptions, project_quotas};
use serde::Serialize;

use crate::args::DoctorArgs;
use crate::error::CommandError;
use crate::output::print_line;
use crate::style::Style;

/// The results of all checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Whether code can be run safely: no check failed.
    pub ok: bool,
    /// The checks, in the order in which they are printed.
    pub checks: Vec<Check>,
}

impl From<Vec<Check>> for Report {
    fn from(checks: Vec<Check>) -> Self {
        Self { ok: checks.iter().all(|check| check.ok), checks }
    }
}

/// Runs all checks and prints them; returns exit code 1 if code cannot be run safely.
pub fn doctor(data: &Path, args: &DoctorArgs) -> Result<u8, CommandError> {
    let report = Report::from(examine(data, args.config.as_deref()));
    if args.json {
        let json = serde_json::to_string(&report);
        print_line(&json.map_err(|error| CommandError::internal(error.to_string()))?)?;
    } else {
        table::lines(&report, Style::of_stdout()).iter().try_for_each(|line| print_line(line))?;
    }
    Ok(u8::from(!report.ok))
}

fn examine(data: &Path, file: Option<&Path>) -> Vec<Check> {
    let (config, unusable) = match Config::load(data, file) {
        Ok(config) => (config, None),
        Err(error) => (Config::new(data), Some(bad_configuration(&error))),
    };
    let config = &config;
    let options = Options::new(probe_folder(&config.data), config.uid_base, config.binds.clone());
    let mut checks = isolation::check(&options);
    let is_usable = unusable.is_none();
    checks.extend(unusable);
    checks.extend(without_sandbox(config));
    checks.push(disk_limit(&options.folder));
    checks.extend(languages::check(config));
    checks.extend(data::check(config));
    checks.push(store::check(&config.data));
    checks.push(worker::check(config));
    if is_usable {
        checks.extend(models::check(data, file));
    }
    checks
}

/// Where to try a session: in the data folder or, before it exists, in its nearest writable ancestor.
fn probe_folder(data: &Path) -> PathBuf {
    match data::writable(data) {
        Ok(folder) => folder,
        Err(_) => std::env::temp_dir(), // another check reports that the data folder is not writable
    }
}

/// The worker does not start with this configuration; the other checks use the defaults.
fn bad_configuration(error: &ConfigError) -> Check {
    let fix = match error {
        ConfigError::Variable { .. } => "correct the variable, or unset it",
        _ => "correct the file, or choose another with --config FILE",
    };
    Check::failure("configuration", error.to_string(), fix)
}

/// Running without isolation is an explicit choice, but easily forgotten.
fn without_sandbox(config: &Config) -> Option<Check> {
    (config.sandbox == SandboxKind::None).then(|| {
        let detail = "the configuration sets `sandbox = \"none\"`: programs can do whatever this user can";
        Check::warning("configuration", detail, "remove that line, unless you trust all code that runs here")
    })
}

/// How the disk use of a session is limited: by the kernel if the file system has project quotas, else by measuring.
fn disk_limit(folder: &Path) -> Check {
    let words = limit_descriptions::describe(None, project_quotas::are_usable(folder)).remove("disk_bytes");
    Check::fine("disk limit", words.unwrap_or_else(|| "not enforced".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;

    #[test]
    fn a_failure_fails_the_report_and_a_warning_does_not() {
        let fine = Check::fine("a", "fine");
        let warning = Check::warning("b", "c is used instead", "do d");
        assert!(Report::from(vec![fine.clone(), warning.clone()]).ok);
        let report = Report::from(vec![fine, warning, Check::failure("e", "not installed", "install it")]);
        assert!(!report.ok);
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(
            json["checks"],
            serde_json::json!([
                {"name": "a", "ok": true, "status": "ok", "detail": "fine", "fix": null},
                {"name": "b", "ok": true, "status": "warning", "detail": "c is used instead", "fix": "do d"},
                {"name": "e", "ok": false, "status": "failed", "detail": "not installed", "fix": "install it"},
            ])
        );
    }

    #[test]
    fn an_invalid_configuration_fails_and_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.toml");
        let check = bad_configuration(&Config::load(folder.path(), Some(&path)).unwrap_err());
        assert!(!check.ok && check.detail.contains("x.toml"), "{check:?}");
    }

    #[test]
    fn a_disabled_sandbox_is_reported() {
        let mut config = Config::new("/nowhere");
        assert_eq!(without_sandbox(&config), None);
        config.sandbox = SandboxKind::None;
        assert!(without_sandbox(&config).unwrap().fix.is_some());
    }

    #[test]
    fn checks_of_the_configuration_match_their_snapshot() {
        let missing = Config::load(Path::new("/data"), Some(Path::new("/no/such/file"))).unwrap_err();
        let mut config = Config::new("/data");
        config.sandbox = SandboxKind::None;
        let mut checks = vec![bad_configuration(&missing)];
        checks.extend(without_sandbox(&config));
        snapshot::assert("doctor-configuration", &table::lines(&checks.into(), Style::plain()).join("\n"));
    }

    #[test]
    fn a_session_is_tried_in_the_nearest_writable_folder() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(probe_folder(&folder.path().join("new/deep")), folder.path());
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(probe_folder(&file), std::env::temp_dir());
    }
}
