//! The configuration of a worker: the data folder, isolation, default limits.
//!
//! Values come from a TOML file (`DIR/headwater.toml`, or a named one); flags override it.

mod machine;
mod retention;
mod terminals;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use headwater_log::LosslessOptions;
pub use headwater_network::config as network;
use headwater_network::config::{FileNetwork, FilePackages, NetworkConfig, PackagesConfig};
use headwater_protocol::settings;
use headwater_protocol::units::{format_bytes, format_duration, parse_bytes, parse_duration};
use headwater_protocol::{Limits, SandboxKind};
use headwater_sandbox::wire::Bind;
use serde::{Deserialize, Serialize};

use crate::builds::config::{BuildsConfig, FileBuilds};
use crate::executions::permits::MaxRunning;
use crate::languages::LanguageConfig;

pub use retention::RetentionConfig;
pub use terminals::TerminalConfig;

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read `{path}`: {source}")]
    Unreadable {
        /// The configuration file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not valid.
    #[error("`{path}` is not a valid configuration: {message}")]
    Invalid {
        /// The configuration file.
        path: PathBuf,
        /// Where and why.
        message: String,
    },
    /// An environment variable is not valid.
    #[error("the environment variable `{name}` is not valid: {message}")]
    Variable {
        /// Which.
        name: &'static str,
        /// The key of the file that it stands for, and why.
        message: String,
    },
}

/// The configuration of a worker.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The data folder.
    pub data: PathBuf,
    /// How sessions are isolated.
    pub sandbox: SandboxKind,
    /// The number of prepared sessions.
    pub pool: usize,
    /// How long an init waits for a new worker.
    pub orphan_timeout: Duration,
    /// The options of lossless readers.
    pub lossless: LosslessOptions,
    /// The default limits of a session.
    pub limits: Limits,
    /// The highest limits that a session may request; absent ones are unlimited.
    pub max_limits: Limits,
    /// Host paths shown in every session, read-only.
    pub binds: Vec<Bind>,
    /// Languages that are added or changed.
    pub languages: BTreeMap<String, LanguageConfig>,
    /// The first host uid given to a session when the worker is root.
    pub uid_base: u32,
    /// Whether programs may use kernel AIO.
    pub allow_aio: bool,
    /// How many executions may be open at once.
    pub max_running: MaxRunning,
    /// The configuration of builds.
    pub builds: BuildsConfig,
    /// What sessions may reach.
    pub network: NetworkConfig,
    /// Where packages come from.
    pub packages: PackagesConfig,
    /// When sessions are hibernated.
    pub hibernation: Hibernation,
    /// The configuration of terminals.
    pub terminals: TerminalConfig,
    /// How long logs are kept.
    pub retention: RetentionConfig,
}

/// When sessions are hibernated: their programs end, their workspaces are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hibernation {
    /// The idle time after which a session without running programs is hibernated; `None`: never.
    pub after: Option<Duration>,
    /// The idle time after which a session is hibernated whose programs neither print nor read nor compute; `None`: never.
    pub running_after: Option<Duration>,
    /// The time between SIGTERM and SIGKILL for its programs.
    pub warning: Duration,
}

impl Default for Hibernation {
    fn default() -> Self {
        Self { after: Some(Duration::from_mins(5)), running_after: None, warning: Duration::from_secs(10) }
    }
}

/// Open executions: more than people and agents use, and few enough that one session or one owner leaves most of a usual
/// limit of open files to others.
const MAX_RUNNING: MaxRunning = MaxRunning { of_session: 256, of_owner: 1024, of_all: 4096 };
/// A reader that reads nothing for a day was forgotten.
const MAX_HOLD: Duration = Duration::from_hours(24);
/// While output is kept for a disconnected reader, the program may have to wait.
const MAX_GRACE: Duration = Duration::from_mins(10);
/// Prepared sessions: enough for a burst, cheap to keep.
const POOL: usize = 4;
/// Above the ranges of distributions, containers and systemd (see its `UIDS-GIDS` notes).
pub(crate) const UID_BASE: u32 = 0x7100_0000;
/// The number of user ranges for the workers of a host, and the users of one range.
pub(crate) const UID_RANGES: u32 = 1 << 12;
pub(crate) const UID_RANGE: u32 = 1 << 12;

/// The kernel counts processes, pipe pages and more for each user: sessions of two workers must not share one. The range
/// is derived from the data folder; `host_users` ensures that no two have the same.
pub(crate) fn uid_base(data: &Path) -> u32 {
    let path = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
    UID_BASE + crc32fast::hash(path.as_os_str().as_encoded_bytes()) % UID_RANGES * UID_RANGE
}

impl Config {
    /// The defaults for this data folder.
    pub fn new(data: impl Into<PathBuf>) -> Self {
        let data = data.into();
        let uid_base = uid_base(&data);
        Self {
            retention: RetentionConfig::new(&data),
            data,
            sandbox: SandboxKind::Full,
            pool: POOL,
            orphan_timeout: Duration::from_mins(15),
            lossless: LosslessOptions::DEFAULT,
            limits: default_limits(),
            max_limits: Limits::default(),
            binds: Vec::new(),
            languages: BTreeMap::new(),
            uid_base,
            allow_aio: false,
            max_running: MAX_RUNNING,
            builds: BuildsConfig::default(),
            network: NetworkConfig::default(),
            packages: PackagesConfig::default(),
            hibernation: Hibernation::default(),
            terminals: TerminalConfig::default(),
        }
    }

    /// The defaults, overridden by a file: the named one, which must exist, or `headwater.toml` in the data folder, which
    /// need not.
    pub fn load(data: &Path, file: Option<&Path>) -> Result<Self, ConfigError> {
        let path = file.map_or_else(|| data.join("headwater.toml"), Path::to_owned);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound && file.is_none() => String::new(),
            Err(source) => return Err(ConfigError::Unreadable { path, source }),
        };
        let env = |name: &str| std::env::var(name).ok();
        Self::read(data, &text, env).map_err(|message| {
            match settings::culprit(env, |env| Self::read(data, &text, env)) {
                Some(name) => ConfigError::Variable { name, message },
                None => ConfigError::Invalid { path, message },
            }
        })
    }

    fn read(data: &Path, text: &str, env: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let mut config = Self::new(data);
        settings::read::<File>(text, &env)?.apply(&mut config)?;
        if let Some(version) = env(PYTHON_VERSION).filter(|version| !version.is_empty()) {
            installed_python(&version, &config.binds)?;
        }
        Ok(config)
    }

    /// The defaults for this data folder on this machine: without a file and without the environment.
    #[must_use]
    pub fn defaults(data: &Path) -> Self {
        Self::read(data, "", |_| None).unwrap_or_else(|_| Self::new(data)) // the defaults are valid
    }

    /// All settings with their values, in the form of the file.
    #[must_use]
    pub fn settings(&self) -> impl Serialize + use<> {
        File::from(self)
    }

    /// The keys that the file may have, including the tables of the gateway.
    #[must_use]
    pub fn keys() -> Vec<String> {
        settings::keys::<File>()
    }

    /// The worker's socket.
    pub fn socket(&self) -> PathBuf {
        socket_path(&self.data)
    }
}

/// The Python version of a deployment. Its programs expect it, so a host without it is misconfigured.
const PYTHON_VERSION: &str = "SESSION_PYTHON_VERSION";

/// Checks that a version of Python is installed.
fn installed_python(version: &str, binds: &[Bind]) -> Result<(), String> {
    let program = settings::python_of(version);
    if crate::languages::look_up(&program, binds).is_some() {
        return Ok(());
    }
    let others: Vec<_> = crate::languages::pythons().into_iter().map(|name| format!("`{name}`")).collect();
    let others = if others.is_empty() { "no other version".to_owned() } else { others.join(", ") };
    Err(format!(
        "{PYTHON_VERSION}: `{program}` is not installed in a folder that sessions see ({others} is); \
         run `apt-get install {program}`, or unset the variable"
    ))
}

/// The socket of the worker of a data folder.
pub fn socket_path(data: &Path) -> PathBuf {
    data.join("worker.sock")
}

/// The default limits of a session.
fn default_limits() -> Limits {
    Limits {
        memory_bytes: Some(2 << 30),
        cpus: None,
        pids: Some(512),
        open_files: Some(4096),
        file_bytes: None,
        disk_bytes: Some(4 << 30),
        inodes: Some(500_000),
        output_bytes: Some(256 << 20),
        wall_ms: None,
        cpu_ms: None,
    }
}

/// The configuration file; sizes and durations are written like `2Gi` and `300s`.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    sandbox: Option<SandboxKind>,
    pool: Option<usize>,
    orphan_timeout: Option<String>,
    lossless_hold: Option<String>,
    lossless_grace: Option<String>,
    uid_base: Option<u32>,
    allow_aio: Option<bool>,
    max_running: Option<usize>,
    max_running_of_owner: Option<usize>,
    max_running_of_session: Option<usize>,
    hibernation: FileHibernation,
    terminals: terminals::FileTerminals,
    retention: retention::FileRetention,
    limits: FileLimits,
    max_limits: FileLimits,
    binds: Vec<FileBind>,
    languages: BTreeMap<String, LanguageConfig>,
    builds: FileBuilds,
    network: FileNetwork,
    packages: FilePackages,
    /// Settings of the gateway, which checks them.
    #[serde(rename = "server", skip_serializing)]
    _server: Option<serde::de::IgnoredAny>,
    #[serde(rename = "quotas", skip_serializing)]
    _quotas: Option<serde::de::IgnoredAny>,
    #[serde(rename = "watchdog", skip_serializing)]
    _watchdog: Option<serde::de::IgnoredAny>,
    /// Settings of the gateway.
    #[serde(rename = "auth", skip_serializing)]
    _auth: Option<serde::de::IgnoredAny>,
    #[serde(rename = "models", skip_serializing)]
    _models: Option<serde::de::IgnoredAny>,
    #[serde(rename = "mcp_servers", skip_serializing)]
    _mcp_servers: Option<serde::de::IgnoredAny>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct FileHibernation {
    after: Option<String>,
    running_after: Option<String>,
    warning: Option<String>,
}

/// A duration in the form of the file, where none is `never`.
fn or_never(time: Option<Duration>) -> String {
    time.map_or_else(|| "never".to_owned(), format_duration)
}

/// Lists every field of the file: a field that is missing here does not compile.
impl From<&Config> for File {
    fn from(config: &Config) -> Self {
        let Config { lossless, max_running, .. } = config;
        Self {
            sandbox: Some(config.sandbox),
            pool: Some(config.pool),
            orphan_timeout: Some(format_duration(config.orphan_timeout)),
            lossless_hold: Some(format_duration(lossless.stall_timeout)),
            lossless_grace: Some(format_duration(lossless.grace)),
            uid_base: Some(config.uid_base),
            allow_aio: Some(config.allow_aio),
            max_running: Some(max_running.of_all),
            max_running_of_owner: Some(max_running.of_owner),
            max_running_of_session: Some(max_running.of_session),
            hibernation: FileHibernation {
                after: Some(or_never(config.hibernation.after)),
                running_after: Some(or_never(config.hibernation.running_after)),
                warning: Some(format_duration(config.hibernation.warning)),
            },
            terminals: (&config.terminals).into(),
            retention: (&config.retention).into(),
            limits: (&config.limits).into(),
            max_limits: (&config.max_limits).into(),
            binds: config.binds.iter().map(FileBind::from).collect(),
            languages: config.languages.clone(),
            builds: (&config.builds).into(),
            network: (&config.network).into(),
            packages: (&config.packages).into(),
            _server: None,
            _quotas: None,
            _watchdog: None,
            _auth: None,
            _models: None,
            _mcp_servers: None,
        }
    }
}

impl From<&Limits> for FileLimits {
    fn from(limits: &Limits) -> Self {
        let time = |ms: Option<u64>| ms.map(|ms| format_duration(Duration::from_millis(ms)));
        Self {
            memory: limits.memory_bytes.map(format_bytes),
            cpus: limits.cpus,
            pids: limits.pids,
            open_files: limits.open_files,
            file: limits.file_bytes.map(format_bytes),
            disk: limits.disk_bytes.map(format_bytes),
            inodes: limits.inodes,
            output: limits.output_bytes.map(format_bytes),
            wall: time(limits.wall_ms),
            cpu: time(limits.cpu_ms),
        }
    }
}

impl From<&Bind> for FileBind {
    fn from(bind: &Bind) -> Self {
        Self { host: bind.host.clone(), inside: Some(bind.inside.clone()), optional: bind.optional }
    }
}

impl FileHibernation {
    fn parse(self, now: Hibernation) -> Result<Hibernation, String> {
        let time = |name: &str, text: &str| {
            parse_duration(text).map_err(|error| format!("hibernation.{name}: {error}"))
        };
        let or_never = |name: &str, text: Option<String>, now: Option<Duration>| match text.as_deref() {
            None => Ok(now),
            Some("never") => Ok(None),
            Some(text) => time(name, text).map(Some),
        };
        Ok(Hibernation {
            after: or_never("after", self.after, now.after)?,
            running_after: or_never("running_after", self.running_after, now.running_after)?,
            warning: self.warning.map_or(Ok(now.warning), |text| time("warning", &text))?,
        })
    }
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FileLimits {
    memory: Option<String>,
    cpus: Option<f64>,
    pids: Option<u64>,
    open_files: Option<u64>,
    file: Option<String>,
    disk: Option<String>,
    inodes: Option<u64>,
    output: Option<String>,
    wall: Option<String>,
    cpu: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct FileBind {
    host: String,
    inside: Option<String>,
    #[serde(default)]
    optional: bool,
}

impl File {
    fn max_running(&self, now: MaxRunning) -> Result<MaxRunning, String> {
        let given = |name: &str, value: Option<usize>, now: usize| match value {
            Some(0) => Err(format!("{name}: must be at least 1")),
            value => Ok(value.unwrap_or(now)),
        };
        Ok(MaxRunning {
            of_session: given("max_running_of_session", self.max_running_of_session, now.of_session)?,
            of_owner: given("max_running_of_owner", self.max_running_of_owner, now.of_owner)?,
            of_all: given("max_running", self.max_running, now.of_all)?,
        })
    }

    fn apply(self, config: &mut Config) -> Result<(), String> {
        config.sandbox = self.sandbox.unwrap_or(config.sandbox);
        config.pool = self.pool.unwrap_or(config.pool);
        config.uid_base = self.uid_base.unwrap_or(config.uid_base);
        config.max_running = self.max_running(config.max_running)?;
        config.allow_aio = self.allow_aio.unwrap_or(config.allow_aio);
        if let Some(text) = self.orphan_timeout {
            config.orphan_timeout = parse_duration(&text).map_err(|e| format!("orphan_timeout: {e}"))?;
        }
        let time = |name: &str, text: Option<String>, default: Duration, most: Duration| match text {
            None => Ok(default),
            Some(text) => match parse_duration(&text).map_err(|e| format!("{name}: {e}"))? {
                time if time > most => Err(format!("{name}: at most `{}s`", most.as_secs())),
                time => Ok(time),
            },
        };
        let lossless = &mut config.lossless;
        lossless.stall_timeout = time("lossless_hold", self.lossless_hold, lossless.stall_timeout, MAX_HOLD)?;
        lossless.grace = time("lossless_grace", self.lossless_grace, lossless.grace, MAX_GRACE)?;
        config.network = self.network.parse()?;
        config.packages = self.packages.parse()?;
        config.hibernation = self.hibernation.parse(config.hibernation)?;
        config.terminals = self.terminals.parse(config.terminals)?;
        config.retention = self.retention.parse(config.retention)?;
        let said = self.limits.parse()?;
        let said_max = self.max_limits.parse().map_err(|why| format!("max_{why}"))?;
        let machine = machine::max_limits(&config.data, &said.or(&config.limits));
        // A default never exceeds the machine; a limit that the operator sets for every session may be requested.
        config.limits = said.or(&config.limits.at_most(&machine));
        config.max_limits = said_max.or(&machine.at_least(&said));
        if let Some(above) = config.limits.above(&config.max_limits) {
            return Err(format!("{above} (`max_limits`)"));
        }
        if let Some(nonsense) = config.limits.first_invalid() {
            return Err(nonsense.to_string());
        }
        for bind in self.binds {
            let inside = bind.inside.unwrap_or_else(|| bind.host.clone());
            if !bind.host.starts_with('/') || !inside.starts_with('/') {
                return Err(format!("binds: `{}` must be an absolute path", bind.host));
            }
            config.binds.push(Bind { host: bind.host, inside, optional: bind.optional });
        }
        crate::languages::check(&self.languages)?;
        config.languages = self.languages;
        self.builds.apply(&mut config.builds)?;
        Ok(())
    }
}

impl FileLimits {
    pub(crate) fn parse(self) -> Result<Limits, String> {
        let bytes = |name: &str, text: Option<String>| {
            text.map(|text| parse_bytes(&text)).transpose().map_err(|e| format!("limits.{name}: {e}"))
        };
        let ms = |name: &str, text: Option<String>| {
            let time = text.map(|text| parse_duration(&text)).transpose();
            let time = time.map_err(|e| format!("limits.{name}: {e}"))?;
            Ok::<_, String>(time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)))
        };
        Ok(Limits {
            memory_bytes: bytes("memory", self.memory)?,
            cpus: self.cpus,
            pids: self.pids,
            open_files: self.open_files,
            file_bytes: bytes("file", self.file)?,
            disk_bytes: bytes("disk", self.disk)?,
            inodes: self.inodes,
            output_bytes: bytes("output", self.output)?,
            wall_ms: ms("wall", self.wall)?,
            cpu_ms: ms("cpu", self.cpu)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("headwater.toml"), text).unwrap();
        Config::load(folder.path(), None)
    }

    #[test]
    fn a_file_overrides_the_defaults_it_names_and_no_others() {
        let config = load("pool = 2\n[limits]\nmemory = \"64Mi\"\nwall = \"300s\"\n").unwrap();
        assert_eq!((config.pool, config.limits.memory_bytes), (2, Some(64 << 20)));
        assert_eq!((config.limits.wall_ms, config.limits.pids), (Some(300_000), Some(512)));
    }

    #[test]
    fn unset_maximums_come_from_the_machine() {
        let config = load("").unwrap();
        assert!(config.max_limits.memory_bytes.is_some() && config.max_limits.cpus.is_some());
        assert!(config.limits.above(&config.max_limits).is_none());
        let absurd = Limits { memory_bytes: Some(u64::MAX), ..Limits::default() };
        assert!(absurd.above(&config.max_limits).is_some());
        let config = load("[limits]\nmemory = \"900Ti\"\n[max_limits]\npids = 9000").unwrap();
        assert_eq!(
            config.max_limits.memory_bytes,
            Some(900 << 40),
            "what every session has may be asked for"
        );
        assert_eq!(config.max_limits.pids, Some(9000));
    }

    #[test]
    fn two_workers_of_a_host_give_out_different_users() {
        let bases = ["/srv/a", "/srv/b", "/srv/c"].map(|data| Config::new(data).uid_base);
        assert!(bases[0] != bases[1] && bases[1] != bases[2] && bases[0] != bases[2]);
        assert!(bases.iter().all(|base| (UID_BASE..UID_BASE + UID_RANGES * UID_RANGE).contains(base)));
        assert_eq!(Config::new("/srv/a").uid_base, bases[0]);
    }

    #[test]
    fn an_error_in_the_file_is_named() {
        for (text, says) in [
            ("poool = 2", "poool"),
            ("[limits]\nmemory = \"many\"", "limits.memory"),
            ("[limits]\npids = 0", "limits.pids"),
            ("max_running_of_owner = 0", "max_running_of_owner"),
            ("[max_limits]\nmemory = \"much\"", "max_limits.memory"),
            ("[max_limits]\nmemory = \"1Mi\"", "max_limits"),
            ("lossless_hold = \"soon\"", "lossless_hold"),
            ("lossless_grace = \"11m\"", "lossless_grace"),
            ("[[binds]]\nhost = \"opt\"", "absolute"),
            ("[languages.x]\ninterpreters = []\nargs = []\nsuffix = \"a/b\"", "languages.x.suffix"),
        ] {
            let error = load(text).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn a_python_version_that_is_not_installed_is_an_error_with_its_package() {
        let read = |version: &str| {
            Config::read(Path::new("/data"), "", |name| {
                (name == "SESSION_PYTHON_VERSION").then(|| version.to_owned())
            })
        };
        let error = read("3.99").unwrap_err();
        for part in ["SESSION_PYTHON_VERSION", "`python3.99`", "apt-get install python3.99", "`python3.1"] {
            assert!(error.contains(part), "{part} in {error}");
        }
        let installed = crate::languages::pythons();
        let version = installed.first().unwrap().strip_prefix("python").unwrap();
        assert!(read(version).is_ok() && read("").is_ok());
    }

    #[test]
    fn a_maximum_of_the_environment_is_one_and_not_only_the_default() {
        let set = [("SESSION_MAX_MEMORY", "64Mi"), ("SESSION_MAX_CPU", "0.5")];
        let env = |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let config = Config::read(Path::new("/data"), "[max_limits]\nmemory = \"1Gi\"", env).unwrap();
        assert_eq!(config.limits.memory_bytes, Some(64 << 20));
        assert_eq!(config.max_limits.memory_bytes, Some(64 << 20));
        let asked = Limits { cpus: Some(0.6), ..Limits::default() };
        assert!(asked.above(&config.max_limits).is_some());
    }

    #[test]
    fn no_file_means_defaults_but_a_named_one_must_be_there() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Config::load(folder.path(), None).is_ok());
        assert!(Config::load(folder.path(), Some(&folder.path().join("x.toml"))).is_err());
    }
}
