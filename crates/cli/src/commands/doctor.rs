//! `headwater doctor`: what this host can and cannot do, and what mends it.
//!
//! The walls and limits are tried by the sandbox; what only the worker's configuration tells (languages, data folder,
//! the worker itself) is looked at here.

mod data;
mod languages;
mod table;
mod worker;

use std::path::{Path, PathBuf};

use headwater_protocol::SandboxKind;
use headwater_sandbox::doctor::{self as walls, Check, Options};
use headwater_worker::config::{Config, ConfigError};
use headwater_worker::usage::{enforcement, project_quotas};
use serde::Serialize;

use crate::args::DoctorArgs;
use crate::error::CommandError;
use crate::output::say;
use crate::style::Style;

/// All that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Whether code can be run safely.
    pub ok: bool,
    /// Each thing.
    pub checks: Vec<Check>,
}

impl From<Vec<Check>> for Report {
    fn from(checks: Vec<Check>) -> Self {
        Self { ok: checks.iter().all(|check| check.ok), checks }
    }
}

/// Tries, tells, and answers with 1 if code cannot be run safely.
pub fn doctor(data: &Path, args: &DoctorArgs) -> Result<u8, CommandError> {
    let report = Report::from(examine(data, args.config.as_deref()));
    if args.json {
        let json = serde_json::to_string(&report);
        say(&json.map_err(|error| CommandError::internal(error.to_string()))?)?;
    } else {
        table::lines(&report, Style::of_stdout()).iter().try_for_each(|line| say(line))?;
    }
    Ok(u8::from(!report.ok))
}

fn examine(data: &Path, file: Option<&Path>) -> Vec<Check> {
    let (config, unusable) = match Config::load(data, file) {
        Ok(config) => (config, None),
        Err(error) => (Config::new(data), Some(bad_configuration(&error))),
    };
    let config = &config;
    let options = Options::new(ground(&config.data), config.uid_base, config.binds.clone());
    let mut checks = walls::check(&options);
    checks.extend(unusable);
    checks.extend(without_walls(config));
    checks.push(disk_limit(&options.folder));
    checks.extend(languages::check(config));
    checks.extend(data::check(config));
    checks.push(worker::check(config));
    checks
}

/// Where to try a session: in the data folder, or, while there is none, as near to it as can be written.
fn ground(data: &Path) -> PathBuf {
    match data::writable(data) {
        Ok(folder) => folder,
        Err(_) => std::env::temp_dir(), // that the data folder cannot be written is told for itself
    }
}

/// The worker refuses to start with it; the rest is looked at with the defaults.
fn bad_configuration(error: &ConfigError) -> Check {
    Check::failure(
        "configuration",
        error.to_string(),
        "correct that file, or name another with --config FILE",
    )
}

/// An explicit choice, but nobody should forget it.
fn without_walls(config: &Config) -> Option<Check> {
    (config.sandbox == SandboxKind::None).then(|| {
        let detail = "the configuration says `sandbox = \"none\"`: programs can do all that this user can";
        Check::warning("configuration", detail, "remove that line, unless all code that runs here is trusted")
    })
}

/// How a session's disk is limited: by the kernel where the file system has project quotas, else less than by a wall.
fn disk_limit(folder: &Path) -> Check {
    let words = enforcement::told(None, project_quotas::are_usable(folder)).remove("disk_bytes");
    Check::fine("disk limit", words.unwrap_or_else(|| "not enforced".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;

    #[test]
    fn one_failure_spoils_the_report_and_a_warning_does_not() {
        let fine = Check::fine("a", "fine");
        let warning = Check::warning("b", "c stands in", "do d");
        assert!(Report::from(vec![fine.clone(), warning]).ok);
        let report = Report::from(vec![fine, Check::failure("e", "not there", "install it")]);
        assert!(!report.ok);
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(
            json["checks"],
            serde_json::json!([
                {"name": "a", "ok": true, "detail": "fine", "fix": null},
                {"name": "e", "ok": false, "detail": "not there", "fix": "install it"},
            ])
        );
    }

    #[test]
    fn a_configuration_that_cannot_be_used_fails_and_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.toml");
        let check = bad_configuration(&Config::load(folder.path(), Some(&path)).unwrap_err());
        assert!(!check.ok && check.detail.contains("x.toml"), "{check:?}");
    }

    #[test]
    fn disabled_walls_are_reported() {
        let mut config = Config::new("/nowhere");
        assert_eq!(without_walls(&config), None);
        config.sandbox = SandboxKind::None;
        assert!(without_walls(&config).unwrap().fix.is_some());
    }

    #[test]
    fn checks_of_the_configuration_read_like_this() {
        let missing = Config::load(Path::new("/data"), Some(Path::new("/no/such/file"))).unwrap_err();
        let mut config = Config::new("/data");
        config.sandbox = SandboxKind::None;
        let mut checks = vec![bad_configuration(&missing)];
        checks.extend(without_walls(&config));
        snapshot::assert("doctor-configuration", &table::lines(&checks.into(), Style::plain()).join("\n"));
    }

    #[test]
    fn a_session_is_tried_as_near_to_the_data_folder_as_can_be() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(ground(&folder.path().join("new/deep")), folder.path());
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(ground(&file), std::env::temp_dir());
    }
}
