//! The gateway's configuration: defaults, then `[server]` of the file, then `HEADWATER_*`, then flags.

mod auth;
mod machine;
mod network;
mod quotas;
mod rows;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use headwater_protocol::settings;
use headwater_protocol::units::{format_bytes, format_duration, parse_bytes, parse_duration};
use serde::{Deserialize, Serialize};

use self::auth::FileAuth;
pub use self::auth::{AuthConfig, JwtConfig, KeySource};
pub use self::network::{Network, NotANetwork};
pub use self::quotas::{Action, Quota, Quotas, Watchdog};
use self::quotas::{FileQuotas, FileWatchdog};
use self::rows::FileRetention;
pub use self::rows::Rows;

/// Where and how the gateway serves.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The folder that holds everything of one server.
    pub data: PathBuf,
    /// Where it listens.
    pub listen: SocketAddr,
    /// Other addresses than loopback are an explicit choice.
    pub allow_remote: bool,
    /// Names by which it may be called besides its address, as in `Host`; `example.org` or `example.org:8443`.
    pub hosts: Vec<String>,
    /// Pages of these origins may call it, besides its own.
    pub origins: Vec<String>,
    /// Proxies in front of it that say for whom they ask; nobody else is believed.
    pub trusted_proxies: Vec<Network>,
    /// How the log is written.
    pub log_format: LogFormat,
    /// Open connections, those of a `WebSocket` included; more wait.
    pub max_connections: usize,
    /// Those of one address; three quarters of all if absent. Trusted proxies have no share.
    pub max_connections_of_address: Option<usize>,
    /// Bytes of a JSON body.
    pub max_body_bytes: usize,
    /// Bytes of one `POST .../stdin`.
    pub max_stdin_bytes: usize,
    /// How long headers may take to arrive, and each part of a body.
    pub header_timeout: Duration,
    /// How long a client may take nothing of an answer that is not a live stream.
    pub write_timeout: Duration,
    /// Bytes of answers that were made and not read yet, of all clients together; an owner has a quarter of it.
    pub max_unread_bytes: usize,
    /// Requests a second of one token; 0 means any number.
    pub requests_per_second: u32,
    /// Requests a second of one user, by all of its tokens together; 0 means any number.
    pub requests_per_second_of_user: u32,
    /// Requests a second from one address; 0 means any number.
    pub requests_per_second_of_address: u32,
    /// Requests that were not authenticated, a second from one address.
    pub failures_per_second: u32,
    /// How often a stream without events says that it lives.
    pub heartbeat: Duration,
    /// How long requests in flight may take when the server ends.
    pub shutdown_grace: Duration,
    /// How long an idempotency key is remembered.
    pub key_lifetime: Duration,
    /// What owners may use.
    pub quotas: Quotas,
    /// What looks like abuse.
    pub watchdog: Watchdog,
    /// Where CMake builds unless a build says otherwise: a folder in the workspace.
    pub build_path: String,
    /// The longest that a program may run that the editor's `execute/binary` starts; absent: as its session allows.
    pub binary_max_runtime: Option<Duration>,
    /// How users sign in.
    pub auth: AuthConfig,
    /// How long the store keeps rows.
    pub rows: Rows,
}

/// How the log is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One object a line.
    Json,
}

impl LogFormat {
    /// As written in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read `{path}`: {cause}")]
    Unreadable {
        /// Which file.
        path: String,
        /// Why.
        cause: String,
    },
    /// The file makes no sense.
    #[error("`{path}`: {cause}")]
    Nonsense {
        /// Which file or variable.
        path: String,
        /// Why.
        cause: String,
    },
    /// Not loopback, and nobody said that this is meant.
    #[error(
        "`{0}` can be reached from other machines: say `--allow-remote` (or `allow_remote = true`) if that is \
         meant, and put TLS in front of it"
    )]
    NotLoopback(SocketAddr),
}

/// What flags and the environment say; each wins over the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--listen`.
    pub listen: Option<SocketAddr>,
    /// `--allow-remote`.
    pub allow_remote: Option<bool>,
    /// `--host`, each.
    pub hosts: Vec<String>,
    /// `--origin`, each.
    pub origins: Vec<String>,
    /// `--log-format`.
    pub log_format: Option<LogFormat>,
    /// `--requests-per-second`.
    pub requests_per_second: Option<u32>,
}

const DEFAULT_PORT: u16 = 8080;
/// With less than this for answers that are not read yet, ordinary answers would be refused.
const MIN_UNREAD: usize = 1 << 20;

impl Config {
    /// The defaults for this data folder.
    pub fn new(data: impl Into<PathBuf>) -> Self {
        Self {
            data: data.into(),
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), DEFAULT_PORT),
            allow_remote: false,
            hosts: Vec::new(),
            origins: Vec::new(),
            trusted_proxies: Vec::new(),
            log_format: LogFormat::Text,
            max_connections: 16_384,
            max_connections_of_address: None,
            max_body_bytes: 16 << 20,
            max_stdin_bytes: 64 << 20,
            header_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_mins(1),
            max_unread_bytes: 128 << 20,
            requests_per_second: 2_000,
            requests_per_second_of_user: 4_000,
            requests_per_second_of_address: 8_000,
            failures_per_second: 5,
            heartbeat: Duration::from_secs(15),
            shutdown_grace: Duration::from_secs(10),
            key_lifetime: Duration::from_hours(24),
            quotas: Quotas::default(),
            watchdog: Watchdog::default(),
            build_path: "/workspace/build".to_owned(),
            binary_max_runtime: None,
            auth: AuthConfig::default(),
            rows: Rows::default(),
        }
    }

    /// The defaults, overridden by the `[server]` table of a file (the named one, which must be there, or
    /// `headwater.toml` in the data folder, which need not), and then by what was said besides.
    pub fn load(data: &Path, file: Option<&Path>, said: Overrides) -> Result<Self, ConfigError> {
        let mut config = Self::new(data);
        let path = file.map_or_else(|| data.join("headwater.toml"), Path::to_owned);
        match std::fs::read_to_string(&path) {
            Ok(text) => config.apply_file(&path, &text)?,
            Err(error) if file.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
                config.apply_file(&path, "")?; // the environment may say something all the same
            }
            Err(error) => {
                let (path, cause) = (path.display().to_string(), error.to_string());
                return Err(ConfigError::Unreadable { path, cause });
            }
        }
        config.apply(said);
        config.check()?;
        Ok(config)
    }

    fn apply(&mut self, said: Overrides) {
        self.listen = said.listen.unwrap_or(self.listen);
        self.allow_remote = said.allow_remote.unwrap_or(self.allow_remote);
        self.hosts.extend(said.hosts);
        self.origins.extend(said.origins);
        self.log_format = said.log_format.unwrap_or(self.log_format);
        self.requests_per_second = said.requests_per_second.unwrap_or(self.requests_per_second);
    }

    fn apply_file(&mut self, path: &Path, text: &str) -> Result<(), ConfigError> {
        self.read(text, |name| std::env::var(name).ok())
            .map_err(|cause| ConfigError::Nonsense { path: path.display().to_string(), cause })
    }

    fn read(&mut self, text: &str, env: impl Fn(&str) -> Option<String>) -> Result<(), String> {
        let file: File = settings::read(text, env)?;
        file.auth.apply(&mut self.auth)?;
        file.server.apply(self)?;
        self.quotas = file.quotas.parse()?;
        self.quotas.everybody = self.quotas.everybody.or(&machine::quota(&self.data));
        self.watchdog = file.watchdog.parse()?;
        self.rows = file.retention.parse()?;
        Ok(())
    }

    /// The defaults for this data folder on this machine: without a file and without the environment.
    #[must_use]
    pub fn defaults(data: &Path) -> Self {
        let mut config = Self::new(data);
        let _ = config.read("", |_| None); // the defaults are valid
        config
    }

    /// All settings with their values, in the form of the file.
    #[must_use]
    pub fn settings(&self) -> impl Serialize + use<> {
        File {
            auth: (&self.auth).into(),
            server: self.into(),
            quotas: (&self.quotas).into(),
            watchdog: (&self.watchdog).into(),
            retention: (&self.rows).into(),
        }
    }

    /// The keys of the gateway that the file may have.
    #[must_use]
    pub fn keys() -> Vec<String> {
        settings::keys::<File>()
    }

    fn check(&self) -> Result<(), ConfigError> {
        if !self.listen.ip().is_loopback() && !self.allow_remote {
            return Err(ConfigError::NotLoopback(self.listen));
        }
        Ok(())
    }

    /// The most connections of one address.
    pub fn connections_of_address(&self) -> usize {
        self.max_connections_of_address.unwrap_or_else(|| self.connections_of_owner())
    }

    /// The most connections of one owner: three quarters of all, so that there is always room for others.
    pub fn connections_of_owner(&self) -> usize {
        (self.max_connections - self.max_connections / 4).max(1)
    }

    /// Where the store is.
    pub fn store_path(&self) -> PathBuf {
        self.data.join("store.db")
    }

    /// Bytes of the store, with what is not yet in its file.
    pub fn store_bytes(&self) -> u64 {
        let path = self.store_path();
        let files = [path.clone(), path.with_extension("db-wal")];
        files.iter().filter_map(|path| Some(path.metadata().ok()?.len())).sum()
    }

    /// Where the first token is.
    pub fn token_path(&self) -> PathBuf {
        self.data.join("token")
    }

    /// Where the secret of access tokens is.
    pub fn jwt_key_path(&self) -> PathBuf {
        self.data.join("jwt.key")
    }

    /// Where the running server says who and where it is.
    pub fn address_path(&self) -> PathBuf {
        self.data.join("server.json")
    }
}

/// The file as far as it is ours; the rest is the worker's, who checks it.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct File {
    auth: FileAuth,
    server: FileServer,
    quotas: FileQuotas,
    watchdog: FileWatchdog,
    retention: FileRetention,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct FileServer {
    listen: Option<SocketAddr>,
    allow_remote: Option<bool>,
    hosts: Vec<String>,
    origins: Vec<String>,
    trusted_proxies: Vec<String>,
    log_format: Option<LogFormat>,
    max_connections: Option<usize>,
    max_connections_of_address: Option<usize>,
    max_body: Option<String>,
    max_stdin: Option<String>,
    header_timeout: Option<String>,
    write_timeout: Option<String>,
    max_unread: Option<String>,
    requests_per_second: Option<u32>,
    requests_per_second_of_user: Option<u32>,
    requests_per_second_of_address: Option<u32>,
    failures_per_second: Option<u32>,
    heartbeat: Option<String>,
    shutdown_grace: Option<String>,
    key_lifetime: Option<String>,
    build_path: Option<String>,
    binary_max_runtime: Option<String>,
}

/// Lists every field of the table: a field that is missing here does not compile.
impl From<&Config> for FileServer {
    fn from(config: &Config) -> Self {
        let bytes = |bytes: usize| Some(format_bytes(bytes as u64));
        let time = |time: Duration| Some(format_duration(time));
        Self {
            listen: Some(config.listen),
            allow_remote: Some(config.allow_remote),
            hosts: config.hosts.clone(),
            origins: config.origins.clone(),
            trusted_proxies: config.trusted_proxies.iter().map(ToString::to_string).collect(),
            log_format: Some(config.log_format),
            max_connections: Some(config.max_connections),
            max_connections_of_address: Some(config.connections_of_address()),
            max_body: bytes(config.max_body_bytes),
            max_stdin: bytes(config.max_stdin_bytes),
            header_timeout: time(config.header_timeout),
            write_timeout: time(config.write_timeout),
            max_unread: bytes(config.max_unread_bytes),
            requests_per_second: Some(config.requests_per_second),
            requests_per_second_of_user: Some(config.requests_per_second_of_user),
            requests_per_second_of_address: Some(config.requests_per_second_of_address),
            failures_per_second: Some(config.failures_per_second),
            heartbeat: time(config.heartbeat),
            shutdown_grace: time(config.shutdown_grace),
            key_lifetime: time(config.key_lifetime),
            build_path: Some(config.build_path.clone()),
            binary_max_runtime: config.binary_max_runtime.map(format_duration),
        }
    }
}

impl FileServer {
    fn apply(self, config: &mut Config) -> Result<(), String> {
        let bytes = |name: &str, text: Option<String>, now: usize| match text {
            None => Ok(now),
            Some(text) => parse_bytes(&text)
                .map_err(|error| format!("server.{name}: {error}"))
                .and_then(|n| usize::try_from(n).map_err(|_| format!("server.{name}: too large"))),
        };
        let time = |name: &str, text: Option<String>, now: Duration| match text {
            None => Ok(now),
            Some(text) => match parse_duration(&text) {
                Ok(time) if time.is_zero() => Err(format!("server.{name}: must be more than 0")),
                other => other.map_err(|error| format!("server.{name}: {error}")),
            },
        };
        config.listen = self.listen.unwrap_or(config.listen);
        config.allow_remote = self.allow_remote.unwrap_or(config.allow_remote);
        config.hosts = self.hosts;
        config.origins = self.origins;
        config.trusted_proxies = networks(&self.trusted_proxies)?;
        config.log_format = self.log_format.unwrap_or(config.log_format);
        config.max_connections = self.max_connections.unwrap_or(config.max_connections).max(1);
        if self.max_connections_of_address == Some(0) {
            return Err("server.max_connections_of_address: must be more than 0".to_owned());
        }
        config.max_connections_of_address = self.max_connections_of_address;
        config.max_body_bytes = bytes("max_body", self.max_body, config.max_body_bytes)?;
        config.max_stdin_bytes = bytes("max_stdin", self.max_stdin, config.max_stdin_bytes)?;
        config.header_timeout = time("header_timeout", self.header_timeout, config.header_timeout)?;
        config.write_timeout = time("write_timeout", self.write_timeout, config.write_timeout)?;
        config.max_unread_bytes = bytes("max_unread", self.max_unread, config.max_unread_bytes)?;
        if config.max_unread_bytes < MIN_UNREAD {
            return Err(format!("server.max_unread: must be at least {MIN_UNREAD} bytes"));
        }
        config.requests_per_second = self.requests_per_second.unwrap_or(config.requests_per_second);
        config.requests_per_second_of_user =
            self.requests_per_second_of_user.unwrap_or(config.requests_per_second_of_user);
        config.requests_per_second_of_address =
            self.requests_per_second_of_address.unwrap_or(config.requests_per_second_of_address);
        config.failures_per_second = self.failures_per_second.unwrap_or(config.failures_per_second);
        config.heartbeat = time("heartbeat", self.heartbeat, config.heartbeat)?;
        config.shutdown_grace = time("shutdown_grace", self.shutdown_grace, config.shutdown_grace)?;
        config.key_lifetime = time("key_lifetime", self.key_lifetime, config.key_lifetime)?;
        if let Some(path) = self.build_path {
            if !path.starts_with("/workspace/") {
                return Err(format!("server.build_path: `{path}` is not a folder in `/workspace`"));
            }
            config.build_path = path;
        }
        if self.binary_max_runtime.is_some() {
            let longest = time("binary_max_runtime", self.binary_max_runtime, Duration::ZERO)?;
            config.binary_max_runtime = Some(longest);
        }
        Ok(())
    }
}

fn networks(texts: &[String]) -> Result<Vec<Network>, String> {
    let read = |text: &String| {
        text.trim().parse().map_err(|error| format!("server.trusted_proxies: `{text}` is {error}"))
    };
    texts.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str, said: Overrides) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("headwater.toml"), text).unwrap();
        Config::load(folder.path(), None, said)
    }

    #[test]
    fn flags_override_the_file_and_the_file_overrides_the_defaults() {
        let file =
            "pool = 3\n[server]\nlisten = \"127.0.0.1:9000\"\nmax_body = \"1Mi\"\nheartbeat = \"3s\"\n";
        let config = load(file, Overrides::default()).unwrap();
        assert_eq!((config.listen.port(), config.max_body_bytes), (9000, 1 << 20));
        assert_eq!((config.heartbeat, config.max_connections), (Duration::from_secs(3), 16_384));
        let said = Overrides { listen: "127.0.0.1:0".parse().ok(), ..Overrides::default() };
        assert_eq!(load(file, said).unwrap().listen.port(), 0);
    }

    #[test]
    fn an_address_that_others_can_reach_is_an_explicit_choice() {
        let said = Overrides { listen: "0.0.0.0:80".parse().ok(), ..Overrides::default() };
        assert!(load("", said.clone()).unwrap_err().to_string().contains("--allow-remote"));
        let said = Overrides { allow_remote: Some(true), ..said };
        assert!(load("", said).is_ok());
    }

    #[test]
    fn an_error_in_the_file_is_named() {
        for (text, says) in [
            ("[server]\nlistn = \"x\"", "listn"),
            ("[server]\nmax_body = \"many\"", "server.max_body"),
            ("[server]\nheartbeat = \"0s\"", "server.heartbeat"),
            ("[server]\nwrite_timeout = \"0s\"", "server.write_timeout"),
            ("[server]\nmax_unread = \"1Ki\"", "server.max_unread"),
            ("[server]\nlisten = \"here\"", "listen"),
            ("[server]\ntrusted_proxies = [\"10.0.0.0/40\"]", "server.trusted_proxies: `10.0.0.0/40`"),
        ] {
            let error = load(text, Overrides::default()).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
