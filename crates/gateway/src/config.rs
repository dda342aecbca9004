//! The gateway's configuration: defaults, then `[server]` of the file, then `HEADWATER_*`, then flags.

mod auth;
mod ip_range;
mod machine;
mod models;
mod preview;
mod quotas;
mod rows;
mod templates;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use headwater_agent::McpServer;
use headwater_agent::model::ModelConfigs;
use headwater_protocol::settings;
use headwater_protocol::units::{format_bytes, format_duration, parse_bytes, parse_duration};
use serde::{Deserialize, Serialize};

use self::auth::FileAuth;
pub use self::auth::{AuthConfig, JwtConfig, KeySource};
pub use self::ip_range::{Network, NotANetwork};
pub(crate) use self::models::check_mcp_server;
pub use self::preview::PreviewUrl;
pub use self::quotas::{Action, Quota, Quotas, Watchdog};
use self::quotas::{FileQuotas, FileWatchdog};
use self::rows::FileRetention;
pub use self::rows::Rows;
use self::templates::FileTemplates;
use crate::templates::Template;

/// The settings of the gateway.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The data folder of the server.
    pub data: PathBuf,
    /// The address to listen on.
    pub listen: SocketAddr,
    /// Whether `listen` may be an address other than loopback.
    pub allow_remote: bool,
    /// Names that are accepted in `Host` besides the address: `example.org` or `example.org:8443`.
    pub hosts: Vec<String>,
    /// The names under which ports of sessions are shown; without one, only at `localhost`.
    pub preview_url: Option<PreviewUrl>,
    /// Origins whose pages may call the server, besides its own.
    pub origins: Vec<String>,
    /// Proxies in front of the server. Only they may state the client's address.
    pub trusted_proxies: Vec<Network>,
    /// The format of the server's log.
    pub log_format: LogFormat,
    /// The maximum number of open connections, including `WebSocket` connections; others wait.
    pub max_connections: usize,
    /// The same for one address; three quarters of all if absent. It does not apply to trusted proxies.
    pub max_connections_of_address: Option<usize>,
    /// The maximum size of a JSON body, in bytes.
    pub max_body_bytes: usize,
    /// The maximum size of one `POST .../stdin`, in bytes.
    pub max_stdin_bytes: usize,
    /// The timeout for the headers of a request, and for each part of its body.
    pub header_timeout: Duration,
    /// How long a client may stop reading a response that is not a live stream.
    pub write_timeout: Duration,
    /// The maximum number of bytes in responses that are not read yet, over all clients; an owner may use a
    /// quarter.
    pub max_unread_bytes: usize,
    /// Requests per second of one token; 0 means no limit.
    pub requests_per_second: u32,
    /// Requests per second of one user, over all of its tokens; 0 means no limit.
    pub requests_per_second_of_user: u32,
    /// Requests per second from one address; 0 means no limit.
    pub requests_per_second_of_address: u32,
    /// Requests per second from one address that fail to authenticate.
    pub failures_per_second: u32,
    /// The interval of heartbeats on a stream without events.
    pub heartbeat: Duration,
    /// How long requests in flight may take after a shutdown has begun.
    pub shutdown_grace: Duration,
    /// How long an idempotency key is kept.
    pub key_lifetime: Duration,
    /// The quotas of owners.
    pub quotas: Quotas,
    /// The detection of abuse.
    pub watchdog: Watchdog,
    /// The default build folder of `CMake`, in the workspace.
    pub build_path: String,
    /// The maximum run time of programs that the editor's `execute/binary` starts; absent: the limit of the
    /// session.
    pub binary_max_runtime: Option<Duration>,
    /// How users sign in.
    pub auth: AuthConfig,
    /// How long the store keeps rows.
    pub rows: Rows,
    /// Templates of sessions, besides the built-in ones.
    pub templates: BTreeMap<String, Template>,
    /// The models of the chat.
    pub models: ModelConfigs,
    /// The MCP servers whose tools every agent of the chat gets.
    pub mcp_servers: BTreeMap<String, McpServer>,
}

/// The format of the server's log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Readable text.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

impl LogFormat {
    /// The name in the configuration.
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
        /// The path of the file.
        path: String,
        /// The error of the operating system.
        cause: String,
    },
    /// A setting is not valid.
    #[error("`{path}`: {cause}")]
    Nonsense {
        /// The path of the file.
        path: String,
        /// A description of the error that names the setting.
        cause: String,
    },
    /// An environment variable is not valid.
    #[error("the environment variable `{name}` is not valid: {cause}")]
    Variable {
        /// The name of the variable.
        name: &'static str,
        /// A description of the error that names the setting.
        cause: String,
    },
    /// The address is not loopback, and `allow_remote` is not set.
    #[error(
        "`{0}` can be reached from other machines: set `--allow-remote` (or `allow_remote = true`) to allow \
         this, and put TLS in front of it"
    )]
    NotLoopback(SocketAddr),
}

/// Settings from flags and the environment. They override the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--listen`.
    pub listen: Option<SocketAddr>,
    /// `--allow-remote`.
    pub allow_remote: Option<bool>,
    /// All `--host` flags.
    pub hosts: Vec<String>,
    /// All `--origin` flags.
    pub origins: Vec<String>,
    /// `--log-format`.
    pub log_format: Option<LogFormat>,
    /// `--requests-per-second`.
    pub requests_per_second: Option<u32>,
}

const DEFAULT_PORT: u16 = 8080;
/// The minimum of `max_unread`, in bytes: with less, ordinary responses would be refused.
const MIN_UNREAD: usize = 1 << 20;

impl Config {
    /// The defaults for this data folder.
    pub fn new(data: impl Into<PathBuf>) -> Self {
        Self {
            data: data.into(),
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), DEFAULT_PORT),
            allow_remote: false,
            hosts: Vec::new(),
            preview_url: None,
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
            templates: BTreeMap::new(),
            models: ModelConfigs::new(),
            mcp_servers: BTreeMap::new(),
        }
    }

    /// Loads the configuration: the defaults, overridden by a file, then by `overrides`. A named file must
    /// exist; the default, `headwater.toml` in the data folder, may be missing.
    pub fn load(data: &Path, file: Option<&Path>, overrides: Overrides) -> Result<Self, ConfigError> {
        let mut config = Self::new(data);
        let path = file.map_or_else(|| data.join("headwater.toml"), Path::to_owned);
        match std::fs::read_to_string(&path) {
            Ok(text) => config.apply_file(&path, &text)?,
            Err(error) if file.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
                config.apply_file(&path, "")?; // still reads the environment
            }
            Err(error) => {
                let (path, cause) = (path.display().to_string(), error.to_string());
                return Err(ConfigError::Unreadable { path, cause });
            }
        }
        config.apply(overrides);
        config.check()?;
        Ok(config)
    }

    /// The format of the log in the file, for the worker, which has the same. A file that is not valid is reported by
    /// [`Self::load`].
    #[must_use]
    pub fn log_format_of_file(data: &Path, file: Option<&Path>) -> LogFormat {
        let path = file.map_or_else(|| data.join("headwater.toml"), Path::to_owned);
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let file = settings::read::<File>(&text, |_| None);
        file.ok().and_then(|file| file.server.log_format).unwrap_or_default()
    }

    fn apply(&mut self, overrides: Overrides) {
        self.listen = overrides.listen.unwrap_or(self.listen);
        self.allow_remote = overrides.allow_remote.unwrap_or(self.allow_remote);
        self.hosts.extend(overrides.hosts);
        self.origins.extend(overrides.origins);
        self.log_format = overrides.log_format.unwrap_or(self.log_format);
        self.requests_per_second = overrides.requests_per_second.unwrap_or(self.requests_per_second);
    }

    fn apply_file(&mut self, path: &Path, text: &str) -> Result<(), ConfigError> {
        let env = |name: &str| std::env::var(name).ok();
        let before = self.clone();
        self.read(text, env).map_err(|cause| {
            match settings::culprit(env, |env| before.clone().read(text, env)) {
                Some(name) => ConfigError::Variable { name, cause },
                None => ConfigError::Nonsense { path: path.display().to_string(), cause },
            }
        })
    }

    fn read(&mut self, text: &str, env: impl Fn(&str) -> Option<String>) -> Result<(), String> {
        let file: File = settings::read(text, env)?;
        file.auth.apply(&mut self.auth)?;
        file.server.apply(self)?;
        self.quotas = file.quotas.parse()?;
        self.quotas.everybody = self.quotas.everybody.or(&machine::quota(&self.data));
        self.watchdog = file.watchdog.parse()?;
        self.rows = file.retention.parse()?;
        self.templates = templates::parse(file.templates, &self.data)?;
        models::check(&file.models, &file.mcp_servers)?;
        (self.models, self.mcp_servers) = (file.models, file.mcp_servers);
        Ok(())
    }

    /// The defaults for this data folder on this machine, without a file and the environment.
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
            templates: templates::written(&self.templates),
            models: self.models.clone(),
            mcp_servers: self.mcp_servers.clone(),
        }
    }

    /// The gateway's keys in the file.
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

    /// The maximum number of connections of one address.
    pub fn connections_of_address(&self) -> usize {
        self.max_connections_of_address.unwrap_or_else(|| self.connections_of_owner())
    }

    /// The maximum number of connections of one owner: three quarters of all, so that others can always
    /// connect.
    pub fn connections_of_owner(&self) -> usize {
        (self.max_connections - self.max_connections / 4).max(1)
    }

    /// The path of the store.
    pub fn store_path(&self) -> PathBuf {
        self.data.join("store.db")
    }

    /// The size of the store in bytes, including its write-ahead log.
    pub fn store_bytes(&self) -> u64 {
        let path = self.store_path();
        let files = [path.clone(), path.with_extension("db-wal")];
        files.iter().filter_map(|path| Some(path.metadata().ok()?.len())).sum()
    }

    /// The path of the first token.
    pub fn token_path(&self) -> PathBuf {
        self.data.join("token")
    }

    /// The path of the secret that signs access tokens.
    pub fn jwt_key_path(&self) -> PathBuf {
        self.data.join("jwt.key")
    }

    /// The path of the file with the address and process of the running server.
    pub fn address_path(&self) -> PathBuf {
        self.data.join("server.json")
    }
}

/// The gateway's part of the file. The worker checks the rest.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct File {
    auth: FileAuth,
    server: FileServer,
    quotas: FileQuotas,
    watchdog: FileWatchdog,
    retention: FileRetention,
    templates: FileTemplates,
    models: ModelConfigs,
    mcp_servers: BTreeMap<String, McpServer>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct FileServer {
    listen: Option<SocketAddr>,
    allow_remote: Option<bool>,
    hosts: Vec<String>,
    preview_url: Option<String>,
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

/// Lists every field of the table: a missing field does not compile.
impl From<&Config> for FileServer {
    fn from(config: &Config) -> Self {
        let bytes = |bytes: usize| Some(format_bytes(bytes as u64));
        let time = |time: Duration| Some(format_duration(time));
        Self {
            listen: Some(config.listen),
            allow_remote: Some(config.allow_remote),
            hosts: config.hosts.clone(),
            preview_url: config.preview_url.as_ref().map(ToString::to_string),
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
        let preview_url = self.preview_url.map(|text| text.parse()).transpose();
        config.preview_url = preview_url.map_err(|error: String| format!("server.preview_url: {error}"))?;
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

    fn load(text: &str, overrides: Overrides) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("headwater.toml"), text).unwrap();
        Config::load(folder.path(), None, overrides)
    }

    #[test]
    fn flags_override_the_file_and_the_file_overrides_the_defaults() {
        let file =
            "pool = 3\n[server]\nlisten = \"127.0.0.1:9000\"\nmax_body = \"1Mi\"\nheartbeat = \"3s\"\n";
        let config = load(file, Overrides::default()).unwrap();
        assert_eq!((config.listen.port(), config.max_body_bytes), (9000, 1 << 20));
        assert_eq!((config.heartbeat, config.max_connections), (Duration::from_secs(3), 16_384));
        let overrides = Overrides { listen: "127.0.0.1:0".parse().ok(), ..Overrides::default() };
        assert_eq!(load(file, overrides).unwrap().listen.port(), 0);
    }

    #[test]
    fn an_address_that_others_can_reach_is_an_explicit_choice() {
        let overrides = Overrides { listen: "0.0.0.0:80".parse().ok(), ..Overrides::default() };
        assert!(load("", overrides.clone()).unwrap_err().to_string().contains("--allow-remote"));
        let overrides = Overrides { allow_remote: Some(true), ..overrides };
        assert!(load("", overrides).is_ok());
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
