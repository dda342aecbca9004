//! `headwater doctor`: what this host can and cannot do, and what mends it.

use std::io;
use std::path::Path;

use headwater_worker::config::Config;
use headwater_worker::languages::Languages;
use serde::Serialize;

use crate::args::DoctorArgs;
use crate::error::CommandError;
use crate::output::say;
use crate::style::Style;

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What.
    pub name: String,
    /// Whether it is as it should be.
    pub ok: bool,
    /// What was found.
    pub detail: String,
    /// The command or setting that mends it; empty if nothing is to be mended.
    pub fix: String,
}

impl Check {
    fn good(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { name: name.into(), ok: true, detail: detail.into(), fix: String::new() }
    }

    fn bad(name: impl Into<String>, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name: name.into(), ok: false, detail: detail.into(), fix: fix.into() }
    }
}

/// All that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Whether everything is as it should be.
    pub ok: bool,
    /// Each thing.
    pub checks: Vec<Check>,
}

/// Looks, tells, and answers with 1 if something is missing.
pub fn doctor(data: &Path, args: &DoctorArgs) -> Result<u8, CommandError> {
    let config = Config::load(data, args.config.as_deref());
    let config = config.map_err(|error| CommandError::usage(error.to_string()))?;
    let report = examine(&config);
    if args.json {
        let json = serde_json::to_string(&report);
        say(&json.map_err(|error| CommandError::internal(error.to_string()))?)?;
    } else {
        table(&report, Style::of_stdout()).iter().try_for_each(|line| say(line))?;
    }
    Ok(u8::from(!report.ok))
}

fn examine(config: &Config) -> Report {
    let mut checks = Vec::new();
    checks.extend(languages(config));
    checks.push(data_folder(&config.data));
    Report { ok: checks.iter().all(|check| check.ok), checks }
}

fn languages(config: &Config) -> Vec<Check> {
    let visible: Vec<_> = config.binds.iter().map(|bind| bind.host.clone().into()).collect();
    let languages = Languages::find(&config.languages, &visible);
    let present = languages
        .present()
        .map(|language| Check::good(format!("language {}", language.name), version(&language.interpreter)));
    let missing = languages.missing().map(|name| {
        let fix = match name {
            "bash" => "apt-get install bash".to_owned(),
            "python" => "apt-get install python3".to_owned(),
            "node" => "apt-get install nodejs".to_owned(),
            other => format!("install it, or correct `languages.{other}.interpreters` in the configuration"),
        };
        Check::bad(format!("language {name}"), "no interpreter in the folders that a session sees", fix)
    });
    let checks: Vec<_> = present.chain(missing).collect();
    checks
}

/// The interpreter and what it calls itself.
fn version(interpreter: &str) -> String {
    let said =
        std::process::Command::new(interpreter).arg("--version").stdin(std::process::Stdio::null()).output();
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let first = said.lines().next().unwrap_or_default().trim();
    if first.is_empty() { interpreter.to_owned() } else { format!("{interpreter}: {first}") }
}

fn data_folder(data: &Path) -> Check {
    let name = "data folder";
    let shown = data.display();
    match writable(data) {
        Ok(true) => Check::good(name, format!("{shown} can be written")),
        Ok(false) => Check::good(name, format!("{shown} will be made when it is needed")),
        Err(error) => Check::bad(
            name,
            format!("{shown}: {error}"),
            format!("chown -R \"$(id -un)\" '{shown}', or name another with --data DIR"),
        ),
    }
}

/// Whether a file can be made in it; `false` if it is not there but can be.
fn writable(data: &Path) -> io::Result<bool> {
    let nearest = data.ancestors().find(|path| path.exists()).unwrap_or(data);
    if !nearest.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let probe = nearest.join(format!(".headwater-doctor-{}", std::process::id()));
    std::fs::OpenOptions::new().write(true).create_new(true).open(&probe)?;
    std::fs::remove_file(&probe)?;
    Ok(nearest == data)
}

fn table(report: &Report, style: Style) -> Vec<String> {
    let width = report.checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for check in &report.checks {
        let mark = if check.ok { style.green("ok     ") } else { style.red("missing") };
        lines.push(format!("{mark}  {:width$}  {}", check.name, check.detail));
        if !check.ok && !check.fix.is_empty() {
            lines.push(format!("{:9}{:width$}  {} {}", "", "", style.cyan("fix:"), check.fix));
        }
    }
    lines.push(String::new());
    lines.push(if report.ok { style.green("all is well") } else { style.red("something is missing") });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_written_is_told_with_its_fix() {
        let folder = tempfile::tempdir().unwrap();
        assert!(data_folder(folder.path()).ok);
        assert!(data_folder(&folder.path().join("new/deep")).detail.contains("will be made"));
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let check = data_folder(&file);
        assert!(!check.ok && !check.fix.is_empty(), "{check:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
    }

    #[test]
    fn one_missing_thing_spoils_the_report_and_its_fix_is_shown() {
        let checks = vec![Check::good("a", "fine"), Check::bad("bb", "not there", "install it")];
        let report = Report { ok: false, checks };
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(
            json["checks"][1],
            serde_json::json!({"name": "bb", "ok": false, "detail": "not there", "fix": "install it"})
        );
        let text = table(&report, Style::of_stdout()).join("\n");
        assert!(text.contains("install it"), "{text}");
    }

    #[test]
    fn a_language_of_the_configuration_without_an_interpreter_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let text = "[languages.rare]\ninterpreters = [\"no-such-program\"]\nargs = []\n";
        std::fs::write(folder.path().join("headwater.toml"), text).unwrap();
        let config = Config::load(folder.path(), None).unwrap();
        let checks = languages(&config);
        assert!(checks.iter().any(|check| check.name == "language rare" && !check.ok));
        assert!(checks.iter().any(|check| check.name == "language bash" && check.ok));
    }
}
