//! The arguments of `serve`, `token` and `config`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use headwater_protocol::units::parse_duration;

use super::SandboxArg;

/// The arguments that `serve` and `config` share.
#[derive(Debug, Args)]
pub struct ConfigArgs {
    /// Address to listen on [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", env = "HEADWATER_LISTEN")]
    pub listen: Option<SocketAddr>,
    /// Allow connections from other machines
    #[arg(long, env = "HEADWATER_ALLOW_REMOTE")]
    pub allow_remote: bool,
    /// Host name that requests may use besides the address; may be repeated
    #[arg(long, value_name = "NAME", env = "HEADWATER_HOSTS", value_delimiter = ',')]
    pub host: Vec<String>,
    /// Origin whose pages may call the API besides its own; may be repeated
    #[arg(long, value_name = "ORIGIN", env = "HEADWATER_ORIGINS", value_delimiter = ',')]
    pub origin: Vec<String>,
    /// Format of the log
    #[arg(long, value_name = "FORMAT", env = "HEADWATER_LOG_FORMAT")]
    pub log_format: Option<LogFormatArg>,
    /// Requests per second of one token; 0 means no limit
    #[arg(long, value_name = "N", env = "HEADWATER_REQUESTS_PER_SECOND")]
    pub requests_per_second: Option<u32>,
    /// Run programs with a sandbox, or without any isolation; `serve` refuses if the running worker uses the other one
    #[arg(long, value_name = "KIND", env = "HEADWATER_SANDBOX")]
    pub sandbox: Option<SandboxArg>,
    /// Configuration file [default: `headwater.toml` in the data folder, if it exists]
    #[arg(long, value_name = "FILE", env = "HEADWATER_CONFIG")]
    pub config: Option<PathBuf>,
}

/// `headwater config`.
#[derive(Debug, Args)]
pub struct ShowConfigArgs {
    /// The arguments of `serve`.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Print one JSON object per setting and line
    #[arg(long)]
    pub json: bool,
}

/// `headwater serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The settings of the server.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Process id of the supervisor, which passes the listening socket as standard input
    #[arg(long, value_name = "PID", hide = true)]
    pub supervisor: Option<i32>,
}

/// Format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormatArg {
    /// Plain text
    Text,
    /// One JSON object per line
    Json,
}

/// `headwater token`.
#[derive(Debug, Args)]
pub struct TokenArgs {
    /// The action.
    #[command(subcommand)]
    pub action: TokenAction,
}

/// Actions on tokens.
#[derive(Debug, Subcommand)]
pub enum TokenAction {
    /// Create a token and print its secret, which is not shown again
    Create {
        /// Description
        #[arg(long, default_value = "")]
        name: String,
        /// User that the token authenticates, and that owns the sessions and executions it creates
        /// [default: `admin`; through a server, yourself]
        #[arg(long)]
        user: Option<String>,
        /// Role, which limits what the token may do [default: `member`, or less if you have less]
        #[arg(long)]
        role: Option<RoleArg>,
        /// Area that the token is restricted to, such as `files:read` or `metrics:read`; may be repeated
        /// [default: everything that its role allows]
        #[arg(long, value_name = "SCOPE")]
        scope: Vec<String>,
        /// Lifetime, such as `30d` or `12h` [default: unlimited]
        #[arg(long, value_name = "TIME", value_parser = parse_duration)]
        expires: Option<Duration>,
        /// Print a JSON object
        #[arg(long)]
        json: bool,
    },
    /// List tokens, without their secrets
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Revoke tokens; they are rejected within a second
    Revoke {
        /// Token ids, as shown by `list`
        #[arg(required = true)]
        ids: Vec<String>,
    },
}

/// A role of a user or a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RoleArg {
    /// Full access, including sessions of other users
    Admin,
    /// Full access to what the user owns
    Member,
    /// Read-only access to what the user owns
    Reader,
}

impl RoleArg {
    /// The name in requests to a server.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Member => "member",
            Self::Reader => "reader",
        }
    }
}
