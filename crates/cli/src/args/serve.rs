//! The words of `serve`, `token` and `config`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use headwater_gateway::config::{LogFormat, Overrides};
use headwater_protocol::units::parse_duration;
use headwater_store::Role;

use super::SandboxArg;

/// What `serve` and `config` take.
#[derive(Debug, Args)]
pub struct ConfigArgs {
    /// Where to listen [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", env = "HEADWATER_LISTEN")]
    pub listen: Option<SocketAddr>,
    /// Other machines may reach it: an explicit choice
    #[arg(long, env = "HEADWATER_ALLOW_REMOTE")]
    pub allow_remote: bool,
    /// A name by which it may be called, besides its address
    #[arg(long, value_name = "NAME", env = "HEADWATER_HOSTS", value_delimiter = ',')]
    pub host: Vec<String>,
    /// Pages of this origin may call it, besides its own
    #[arg(long, value_name = "ORIGIN", env = "HEADWATER_ORIGINS", value_delimiter = ',')]
    pub origin: Vec<String>,
    /// How the log is written
    #[arg(long, value_name = "FORMAT", env = "HEADWATER_LOG_FORMAT")]
    pub log_format: Option<LogFormatArg>,
    /// Requests a second of one token; 0 means any number
    #[arg(long, value_name = "N", env = "HEADWATER_REQUESTS_PER_SECOND")]
    pub requests_per_second: Option<u32>,
    /// The configuration [default: `headwater.toml` in the data folder, if it is there]
    #[arg(long, value_name = "FILE", env = "HEADWATER_CONFIG")]
    pub config: Option<PathBuf>,
}

impl ConfigArgs {
    /// What was said, to win over the file.
    pub fn overrides(&self) -> Overrides {
        Overrides {
            listen: self.listen,
            allow_remote: self.allow_remote.then_some(true),
            hosts: self.host.clone(),
            origins: self.origin.clone(),
            log_format: self.log_format.map(Into::into),
            requests_per_second: self.requests_per_second,
        }
    }
}

/// `headwater serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The server's own settings.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// With walls, or (an explicit choice) without; refused if the running worker does otherwise
    #[arg(long, value_name = "KIND", env = "HEADWATER_SANDBOX")]
    pub sandbox: Option<SandboxArg>,
    /// The process that supervises this one and holds its listening socket, which is standard input here
    #[arg(long, value_name = "PID", hide = true)]
    pub supervisor: Option<i32>,
}

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormatArg {
    /// For people
    Text,
    /// One object a line
    Json,
}

impl From<LogFormatArg> for LogFormat {
    fn from(arg: LogFormatArg) -> Self {
        match arg {
            LogFormatArg::Text => Self::Text,
            LogFormatArg::Json => Self::Json,
        }
    }
}

/// `headwater token`.
#[derive(Debug, Args)]
pub struct TokenArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: TokenAction,
}

/// What to do with tokens.
#[derive(Debug, Subcommand)]
pub enum TokenAction {
    /// Make a token and print it: the only time that it is shown
    Create {
        /// What it is for
        #[arg(long, default_value = "")]
        name: String,
        /// Whom it speaks for: sessions and executions belong to a user
        #[arg(long, default_value = "admin")]
        user: String,
        /// What it may do
        #[arg(long, default_value = "member")]
        role: RoleArg,
        /// For how long it is good (`30d`, `12h`); for ever unless told
        #[arg(long, value_name = "TIME", value_parser = parse_duration)]
        expires: Option<Duration>,
        /// As a JSON object
        #[arg(long)]
        json: bool,
    },
    /// List tokens, without their secrets
    List {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Revoke tokens: they are refused within a second
    Revoke {
        /// Their ids, as `list` shows them
        #[arg(required = true)]
        ids: Vec<String>,
    },
}

/// What a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RoleArg {
    /// All, also with what belongs to others
    Admin,
    /// All with what belongs to its user
    Member,
    /// Look at what belongs to its user
    Reader,
}

impl From<RoleArg> for Role {
    fn from(arg: RoleArg) -> Self {
        match arg {
            RoleArg::Admin => Self::Admin,
            RoleArg::Member => Self::Member,
            RoleArg::Reader => Self::Reader,
        }
    }
}
