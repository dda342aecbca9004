//! Tools that sessions see besides those of the host: `python` where the host has only `python3`, and the script
//! through which pip finds the virtual environment of the workspace.
//!
//! pip reads `PIP_PYTHON` and continues with that interpreter. So `pip`, `pip3` and `python3 -m pip` of the host
//! install into `.venv`, while `python3` itself starts as it always does, without a wrapper and without a module that
//! every start would have to load.
//!
//! The folder keeps its path, and a new worker replaces its files one by one: virtual environments may link to
//! `python` in it, and sessions that outlive a worker see the new files.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use headwater_network::config::PackagesConfig;
use headwater_protocol::{SandboxKind, shell_quote};
use headwater_sandbox::wire::Bind;

use crate::config::Config;
use crate::languages::{Languages, look_up};

/// Where sessions with isolation see the folder.
const INSIDE: &str = "/run/headwater";
/// The name of the folder in the data folder.
const FOLDER: &str = "tools";
/// The folder for `PATH`.
const BIN: &str = "bin";
/// The script that pip starts in place of an interpreter.
const PIP_PYTHON: &str = "pip-python";
const SCRIPT: &str = include_str!("tools/pip-python.sh");
/// The folder with the configuration of cargo, and where cargo looks for it: above every project.
const CARGO: &str = "cargo";
const CARGO_INSIDE: &str = "/.cargo";
/// The folder with the settings of Maven.
const MAVEN: &str = "maven";
/// How Maven prints its messages.
const MAVEN_LOGGING: [(&str, &str); 6] = [
    ("showDateTime", "false"),
    ("showThreadName", "false"),
    ("showLogName", "false"),
    ("logFile", "System.out"),
    ("levelInBrackets", "true"),
    ("warnLevelString", "WARNING"),
];
/// The names of pip; each is the script, if the host does not have it.
const PIPS: [&str; 2] = ["pip", "pip3"];

/// The folder of tools.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    /// The folder on the host, if it exists.
    host: Option<PathBuf>,
}

impl Tools {
    /// Creates the folder in the data folder, or brings it up to date.
    pub(crate) fn prepare(data: &Path, config: &Config, languages: &Languages) -> Self {
        let host = data.join(FOLDER);
        let filled = fill(&host, config.sandbox, python(languages), &config.binds)
            .and_then(|()| fill_packages(&host, &config.packages));
        match filled {
            Ok(()) => Self { host: Some(host) },
            Err(error) => {
                tracing::warn!(%error, "cannot prepare the tools of sessions: `pip` installs nothing in shells");
                Self::default()
            }
        }
    }

    /// Whether new sessions have the folder.
    pub(crate) const fn exist(&self) -> bool {
        self.host.is_some()
    }

    /// How a session with isolation sees the folder. `mirror`: the session may reach the package mirror.
    pub(crate) fn binds(&self, mirror: bool) -> Vec<Bind> {
        let Some(host) = &self.host else { return Vec::new() };
        let bind = |host: &Path, inside: &str| Bind {
            host: host.to_string_lossy().into_owned(),
            inside: inside.to_owned(),
            optional: true,
        };
        let cargo = mirror.then(|| bind(&host.join(CARGO), CARGO_INSIDE));
        [bind(host, INSIDE)].into_iter().chain(cargo).collect()
    }

    /// The path of the folder in a session.
    pub(crate) fn path(&self, sandbox: SandboxKind) -> Option<String> {
        let host = self.host.as_ref()?;
        Some(match sandbox {
            SandboxKind::Full => INSIDE.to_owned(),
            SandboxKind::None => host.to_string_lossy().into_owned(),
        })
    }
}

/// The folder of `PATH` in the folder of tools.
pub(super) fn bin(tools: &str) -> String {
    format!("{tools}/{BIN}")
}

/// The value of `PIP_PYTHON`.
pub(super) fn pip_python(tools: &str) -> String {
    format!("{tools}/{PIP_PYTHON}")
}

/// The variables of a session that may reach the package mirror: the folder of Maven's global settings.
pub(super) fn mirror_environment(tools: &str) -> (&'static str, String) {
    ("MAVEN_OPTS", format!("-Dmaven.conf={tools}/{MAVEN}"))
}

/// The interpreter of Python code.
fn python(languages: &Languages) -> Option<&str> {
    let language = languages.get("python").ok()?.language()?;
    Some(language.interpreter.as_str())
}

fn fill(folder: &Path, sandbox: SandboxKind, python: Option<&str>, binds: &[Bind]) -> io::Result<()> {
    let bin = folder.join(BIN);
    create_folder(folder)?;
    create_folder(&bin)?;
    let venv = match sandbox {
        SandboxKind::Full => "/workspace/.venv",
        SandboxKind::None => "$HOME/.venv",
    };
    let script = python.map_or_else(
        || "#!/bin/sh\necho 'headwater: Python is not installed' >&2\nexit 127\n".to_owned(),
        |python| SCRIPT.replace("@VENV@", venv).replace("@PYTHON@", &shell_quote(python)),
    );
    replace(&folder.join(PIP_PYTHON), |new| {
        fs::write(new, &script)?;
        fs::set_permissions(new, Permissions::from_mode(0o755))
    })?;
    let found = |name: &str| look_up(name, binds).map(|(path, _)| path);
    let links = python.map(|python| {
        // `python3` of the host stays, unless the operator chose another version.
        let other = found("python3").is_none_or(|path| !is_same(&path, python));
        let own = [("python", other || found("python").is_none()), ("python3", other)];
        let own = own.map(|(name, wanted)| (name, wanted.then(|| python.to_owned())));
        let pips = PIPS.map(|name| (name, found(name).is_none().then(|| format!("../{PIP_PYTHON}"))));
        own.into_iter().chain(pips).collect::<Vec<_>>()
    });
    for (name, target) in links.into_iter().flatten() {
        let path = bin.join(name);
        match target {
            Some(target) => replace(&path, |new| symlink(target, new))?,
            None => remove(&path)?,
        }
    }
    Ok(())
}

/// Writes the configuration of package managers that take it from files.
fn fill_packages(folder: &Path, packages: &PackagesConfig) -> io::Result<()> {
    let files = [
        (CARGO, "config.toml", headwater_network::cargo_config(packages)),
        (MAVEN, "settings.xml", headwater_network::maven_settings(packages)),
    ];
    for (name, file, text) in files {
        let folder = folder.join(name);
        create_folder(&folder)?;
        match text {
            Some(text) => replace(&folder.join(file), |new| write(new, &text))?,
            None => remove(&folder.join(file))?,
        }
    }
    // Maven reads this file beside its settings: without it every line names its thread and its class.
    let logging = folder.join(MAVEN).join("logging");
    create_folder(&logging)?;
    let lines = MAVEN_LOGGING.map(|(key, value)| format!("org.slf4j.simpleLogger.{key}={value}\n")).concat();
    replace(&logging.join("simplelogger.properties"), |new| write(new, &lines))
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, Permissions::from_mode(0o644))
}

/// Creates a folder that sessions can read, whatever the umask is.
fn create_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o755).create(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o755))
}

/// Whether two paths lead to the same program of the host, or are the same.
fn is_same(one: &str, other: &str) -> bool {
    one == other
        || fs::canonicalize(one).is_ok_and(|one| fs::canonicalize(other).is_ok_and(|other| one == other))
}

/// Replaces a file by a new one at once.
fn replace(path: &Path, create: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let new = path.with_extension("new");
    remove(&new)?;
    create(&new)?;
    fs::rename(new, path)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The links that a host with this Python gets.
    fn links(python: Option<&str>) -> Vec<(String, PathBuf)> {
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            fill(folder.path(), SandboxKind::Full, python, &[]).unwrap(); // the second worker replaces everything
        }
        let links = fs::read_dir(folder.path().join(BIN)).unwrap().map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), fs::read_link(entry.path()).unwrap())
        });
        let mut links: Vec<_> = links.filter(|(name, _)| name.starts_with("python")).collect();
        links.sort();
        links
    }

    #[test]
    fn another_python_than_the_hosts_goes_by_all_its_names() {
        let other = PathBuf::from("/usr/local/bin/python3.99");
        let expected = ["python", "python3"].map(|name| (name.to_owned(), other.clone()));
        assert_eq!(links(other.to_str()), expected);
        assert_eq!(links(None), []);
    }

    #[test]
    fn the_python_of_the_host_is_linked_only_where_a_name_is_missing() {
        let (python, _) = look_up("python3", &[]).unwrap();
        let missing = look_up("python", &[]).is_none();
        let expected = missing.then(|| ("python".to_owned(), PathBuf::from(&python)));
        assert_eq!(links(Some(&python)), expected.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn the_script_knows_the_environment_and_the_interpreter_in_either_mode() {
        for (sandbox, venv) in
            [(SandboxKind::Full, "\"/workspace/.venv\""), (SandboxKind::None, "\"$HOME/.venv\"")]
        {
            let folder = tempfile::tempdir().unwrap();
            fill(folder.path(), sandbox, Some("/usr/bin/it's"), &[]).unwrap();
            let script = fs::read_to_string(folder.path().join(PIP_PYTHON)).unwrap();
            assert!(script.contains(venv) && script.contains(r"'/usr/bin/it'\''s'"), "{script}");
            assert!(!script.contains("@PYTHON@") && !script.contains("@VENV@"), "{script}");
        }
    }
}
