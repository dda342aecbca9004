//! The command-line arguments.

mod limits;
mod run;
mod serve;
mod user;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use headwater_protocol::units::{parse_bytes, parse_duration};
use headwater_protocol::{SandboxKind, Stream};

pub use self::limits::{LimitArgs, millis};
pub use self::run::{RunArgs, StdinArg, Variable};
pub use self::serve::{ConfigArgs, ServeArgs, ShowConfigArgs, TokenAction, TokenArgs};
pub use self::user::{UserAction, UserArgs};
use crate::error::CommandError;
use crate::signals;

/// Runs code in isolated sessions and streams its output
#[derive(Debug, Parser)]
#[command(name = "headwater", version, max_term_width = 110)]
pub struct Cli {
    /// Data folder [default: `$HEADWATER_DATA`, or `headwater` in `$XDG_DATA_HOME` or `~/.local/share`]
    #[arg(long, global = true, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The server to use, if any.
    #[command(flatten)]
    pub server: ServerArgs,
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// The server to use instead of the worker on this machine.
#[derive(Debug, Clone, Default, Args)]
pub struct ServerArgs {
    /// Use the server at this URL (`http://127.0.0.1:8080`) instead of the worker on this machine
    #[arg(long, global = true, value_name = "URL", env = "HEADWATER_URL", hide_env_values = true)]
    pub server: Option<String>,
    /// API token for the server [default: for a server on this machine, the token in its data folder]
    #[arg(long, global = true, value_name = "TOKEN", env = "HEADWATER_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program, a shell command or source code, and stream its output
    Run(Box<RunArgs>),
    /// List, show, create and end sessions
    Sessions(SessionsArgs),
    /// List executions
    Ps(PsArgs),
    /// Show the output of an execution, from any position
    Logs(LogsArgs),
    /// Follow an execution and type into it; Ctrl+P Ctrl+Q detaches and leaves it running
    Attach(AttachArgs),
    /// End executions, or send them a signal
    Kill(KillArgs),
    /// Delete the logs of ended executions
    Forget(ForgetArgs),
    /// Delete logs of ended executions by the `[retention]` rules, by age or by number
    Prune(PruneArgs),
    /// Serve the HTTP API, by default on 127.0.0.1:8080
    Serve(ServeArgs),
    /// Create, list and revoke API tokens
    Token(TokenArgs),
    /// Create, list, enable and disable users, and set their passwords
    User(UserArgs),
    /// Show every setting with its value, its default and where the value comes from
    Config(ShowConfigArgs),
    /// Run the worker in the foreground (other commands start it in the background when they need it)
    Worker(WorkerArgs),
    /// Stop the server and the worker; sessions are hibernated and keep their workspaces
    Stop(StopArgs),
    /// Check what this host can isolate, and how to fix what it cannot
    Doctor(DoctorArgs),
}

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
    /// Require this sandbox; refused if the running worker uses the other one
    #[arg(long, value_name = "KIND")]
    pub sandbox: Option<SandboxArg>,
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
}

/// `headwater ps`.
#[derive(Debug, Args)]
pub struct PsArgs {
    /// Include those that have ended
    #[arg(long, short)]
    pub all: bool,
    /// Only executions of this session
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// List the processes of each execution as well
    #[arg(long)]
    pub processes: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}

/// `headwater logs`.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// Execution id, or a unique id prefix
    pub execution: String,
    /// Follow the output until the last writer has closed it
    #[arg(long, short)]
    pub follow: bool,
    /// Only events after this sequence number
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    pub after: u64,
    /// Only this stream; may be repeated
    #[arg(long, value_name = "STREAM")]
    pub stream: Vec<StreamArg>,
    /// Only about the last SIZE bytes, such as `4Ki`
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub tail: Option<u64>,
    /// Print each event as a JSON object on one line
    #[arg(long)]
    pub json: bool,
}

/// `headwater attach`.
#[derive(Debug, Args)]
pub struct AttachArgs {
    /// Execution id, or a unique id prefix
    pub execution: String,
    /// Start after this sequence number, instead of 16 KiB before the end
    #[arg(long, value_name = "SEQ")]
    pub after: Option<u64>,
    /// Follow the output without passing on input
    #[arg(long)]
    pub no_stdin: bool,
    /// Print each event as a JSON object on one line
    #[arg(long)]
    pub json: bool,
}

/// `headwater kill`.
#[derive(Debug, Args)]
pub struct KillArgs {
    /// Execution ids, or unique id prefixes
    #[arg(required = true)]
    pub executions: Vec<String>,
    /// Send this signal (`TERM`, `9`, ...) instead of ending the whole process tree
    #[arg(long, short, value_parser = signals::parse, allow_hyphen_values = true)]
    pub signal: Option<i32>,
    /// Send the signal to every process of the execution, not only to its process group
    #[arg(long, requires = "signal")]
    pub tree: bool,
    /// Send SIGKILL at once, without a grace period
    #[arg(long, conflicts_with = "signal")]
    pub now: bool,
}

/// `headwater forget`.
#[derive(Debug, Args)]
pub struct ForgetArgs {
    /// Execution ids, or unique id prefixes
    #[arg(required = true)]
    pub executions: Vec<String>,
}

/// `headwater prune`.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // each is a flag
pub struct PruneArgs {
    /// Delete logs of executions that ended longer ago than this (`7d`, `12h`)
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub older_than: Option<Duration>,
    /// Keep only the newest N logs
    #[arg(long, value_name = "N")]
    pub keep: Option<u64>,
    /// Delete the logs of all ended executions
    #[arg(long, conflicts_with_all = ["older_than", "keep"])]
    pub all_logs: bool,
    /// Only executions of this session
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// Only executions of this owner
    #[arg(long, value_name = "OWNER")]
    pub owner: Option<String>,
    /// Show what would be deleted, and delete nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long, short)]
    pub yes: bool,
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
}

/// `headwater worker`.
#[derive(Debug, Args)]
pub struct WorkerArgs {
    /// Run programs with a sandbox, or without any isolation
    #[arg(long, value_name = "KIND")]
    pub sandbox: Option<SandboxArg>,
    /// Number of sessions to prepare in advance
    #[arg(long, value_name = "N")]
    pub pool: Option<usize>,
    /// Configuration file [default: `headwater.toml` in the data folder, if it exists]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// How long programs keep running without a worker before their session is hibernated
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub orphan_timeout: Option<Duration>,
    /// Detach from the terminal; used by commands that start a worker
    #[arg(long, hide = true)]
    pub detached: bool,
}

/// `headwater stop`.
#[derive(Debug, Args)]
pub struct StopArgs {
    /// Stop only the server and the worker; programs keep running, and the next worker takes them over
    #[arg(long)]
    pub keep_sessions: bool,
    /// End all sessions of all users and delete their workspaces and snapshots; logs are kept
    #[arg(long, conflicts_with = "keep_sessions")]
    pub end_sessions: bool,
    /// With `--end-sessions`: do not ask for confirmation
    #[arg(long, short, requires = "end_sessions")]
    pub yes: bool,
}

/// `headwater doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
    /// Configuration file [default: `headwater.toml` in the data folder, if it exists]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// Whether programs are isolated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SandboxArg {
    /// Full isolation
    Full,
    /// No isolation: programs can do whatever the user who runs them can
    None,
}

impl From<SandboxArg> for SandboxKind {
    fn from(arg: SandboxArg) -> Self {
        match arg {
            SandboxArg::Full => Self::Full,
            SandboxArg::None => Self::None,
        }
    }
}

/// An output stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StreamArg {
    /// Standard output
    Stdout,
    /// Standard error
    Stderr,
    /// Both in one stream: a terminal, or `--merge`
    Output,
}

impl From<StreamArg> for Stream {
    fn from(arg: StreamArg) -> Self {
        match arg {
            StreamArg::Stdout => Self::Stdout,
            StreamArg::Stderr => Self::Stderr,
            StreamArg::Output => Self::Output,
        }
    }
}

/// The data folder: from `--data`, `HEADWATER_DATA` or the user's data directory. An empty value counts as not set.
pub fn data_folder(given: Option<PathBuf>) -> Result<PathBuf, CommandError> {
    let home = |name: &str, below: &str| {
        let folder = std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        folder.map(|path| path.join(below))
    };
    let folder = given
        .or_else(|| std::env::var_os("HEADWATER_DATA").map(PathBuf::from))
        .filter(|path| !path.as_os_str().is_empty())
        .or_else(|| home("XDG_DATA_HOME", "headwater"))
        .or_else(|| home("HOME", ".local/share/headwater"))
        .ok_or_else(|| {
            CommandError::usage("no data folder: `HOME` is not set").hint("name one with `--data DIR`")
        })?;
    std::path::absolute(&folder).map_err(|error| {
        CommandError::usage(format!("`{}` cannot be the data folder: {error}", folder.display()))
    })
}

#[cfg(test)]
mod tests;
