//! The arguments of `headwater sessions`.

use std::time::Duration;

use clap::{Args, Subcommand};
use headwater_protocol::units::parse_duration;

use super::{LimitArgs, NetworkArg, SandboxArg, Variable};

/// `headwater sessions`.
#[derive(Debug, Args)]
pub struct SessionsArgs {
    /// The action; `list` if absent.
    #[command(subcommand)]
    pub action: Option<SessionsAction>,
    /// The flags of `list`.
    #[command(flatten)]
    pub list: ListArgs,
}

/// `headwater sessions list`, and `headwater sessions` alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct ListArgs {
    /// Include those that have ended
    #[arg(long, short)]
    pub all: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}

/// Actions on sessions.
#[derive(Debug, Subcommand)]
pub enum SessionsAction {
    /// List sessions (the default)
    List(ListArgs),
    /// Create a session and print its id
    Create(Box<CreateArgs>),
    /// Show one session
    Show {
        /// Session id, unique id prefix, or name
        session: String,
        /// Print a JSON object
        #[arg(long)]
        json: bool,
    },
    /// End sessions and delete their workspaces, snapshots, executions and logs
    End(EndArgs),
}

/// `headwater sessions end`.
#[derive(Debug, Args)]
pub struct EndArgs {
    /// Session ids, unique id prefixes, or names
    #[arg(required = true)]
    pub sessions: Vec<String>,
    /// Keep the executions and their logs; workspaces and snapshots are still deleted
    #[arg(long)]
    pub keep_logs: bool,
    /// Do not ask for confirmation
    #[arg(long, short)]
    pub yes: bool,
    /// The flag of earlier versions for deleting the logs: implies `--yes`
    #[arg(long, hide = true, conflicts_with = "keep_logs")]
    pub forget: bool,
}

/// `headwater sessions create`.
#[derive(Debug, Args)]
pub struct CreateArgs {
    /// A name, which other commands accept in place of the id; unique among sessions that have not ended
    #[arg(long)]
    pub name: Option<String>,
    /// Environment variable for every execution in the session; without `=VALUE`, its current value here
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<Variable>,
    /// End the session and delete its workspace after this long without an execution
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub idle_timeout: Option<Duration>,
    /// Wall-clock limit of each execution in the session
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub timeout: Option<Duration>,
    /// The limits of the session.
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Network of the session: `none`, `packages` or `full`, as far as the server allows it
    #[arg(long, value_name = "ACCESS")]
    pub network: Option<NetworkArg>,
    /// Require this sandbox; refused if the running worker uses the other one
    #[arg(long, value_name = "KIND")]
    pub sandbox: Option<SandboxArg>,
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
}
