//! The arguments of commands on servers and accounts, and of those about the command line itself.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use headwater_protocol::units::parse_duration;

/// `headwater languages`.
#[derive(Debug, Args)]
pub struct LanguagesArgs {
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}

/// `headwater usage`.
#[derive(Debug, Args)]
pub struct UsageArgs {
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
}

/// `headwater audit`.
#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Only actions of this user; for the operator
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// Only this action, such as `session.create`
    #[arg(long)]
    pub action: Option<String>,
    /// Only actions on this object
    #[arg(long, value_name = "ID")]
    pub object: Option<String>,
    /// Only refused actions
    #[arg(long)]
    pub denied: bool,
    /// Only actions of the last TIME, such as `1h`
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub since: Option<Duration>,
    /// At most this many, newest first
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
    pub limit: usize,
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}

/// `headwater open`.
#[derive(Debug, Args)]
pub struct OpenArgs {
    /// Print the URL instead of opening a browser
    #[arg(long)]
    pub print: bool,
}

/// `headwater login`.
#[derive(Debug, Args)]
pub struct LoginArgs {
    /// URL of the server, or the sign-in URL that `headwater serve` prints
    pub url: String,
    /// Name of the context [default: the host of the URL]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Sign in as this user with a password instead of a token
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
}

/// `headwater logout`.
#[derive(Debug, Args)]
pub struct LogoutArgs {
    /// Name of the context [default: the current one]
    pub name: Option<String>,
}

/// `headwater context`.
#[derive(Debug, Args)]
pub struct ContextArgs {
    /// The action; `list` if absent.
    #[command(subcommand)]
    pub action: Option<ContextAction>,
}

/// Actions on contexts.
#[derive(Debug, Subcommand)]
pub enum ContextAction {
    /// List the stored contexts (the default)
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Make a context the current one
    Use {
        /// Name of the context; `local` is the worker on this machine
        name: String,
    },
}

/// `headwater completion`.
#[derive(Debug, Args)]
pub struct CompletionArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// `headwater man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write one page for each command into this folder, instead of the page of `headwater` to standard output
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

/// `headwater version`.
#[derive(Debug, Args)]
pub struct VersionArgs {
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
}
