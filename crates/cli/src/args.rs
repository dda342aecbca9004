//! The command line's words.

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
pub use self::serve::{ConfigArgs, ServeArgs, TokenAction, TokenArgs};
pub use self::user::{UserAction, UserArgs};
use crate::error::CommandError;
use crate::signals;

/// Runs code in isolated sessions and shows its output live.
#[derive(Debug, Parser)]
#[command(name = "headwater", version, max_term_width = 110)]
pub struct Cli {
    /// The folder that holds everything of one worker [default: `HEADWATER_DATA`, or `headwater` in the user's data
    /// home]
    #[arg(long, global = true, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Which server to talk to.
    #[command(flatten)]
    pub server: ServerArgs,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Which server to talk to, instead of the engine on this machine.
#[derive(Debug, Clone, Default, Args)]
pub struct ServerArgs {
    /// Talk to this server (`http://127.0.0.1:8080`) instead of running things on this machine
    #[arg(long, global = true, value_name = "URL", env = "HEADWATER_URL", hide_env_values = true)]
    pub server: Option<String>,
    /// The token to show to the server [default: for a server on this machine, the one in its data folder]
    #[arg(long, global = true, value_name = "TOKEN", env = "HEADWATER_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program, a shell line or code, and show its output live
    Run(Box<RunArgs>),
    /// List, show, create and end sessions
    Sessions(SessionsArgs),
    /// List executions
    Ps(PsArgs),
    /// Show what an execution printed, from any position
    Logs(LogsArgs),
    /// Watch an execution and type into it; Ctrl+P Ctrl+Q leaves, and leaving never ends it
    Attach(AttachArgs),
    /// End executions, or send them a signal
    Kill(KillArgs),
    /// Remove the logs of executions that have ended
    Forget(ForgetArgs),
    /// Remove logs of ended executions by the rules of `[retention]`, by age or by number
    Prune(PruneArgs),
    /// Serve the API on 127.0.0.1:8080, for programs, browsers and other machines' command lines
    Serve(ServeArgs),
    /// Make, list and revoke the tokens that the server takes
    Token(TokenArgs),
    /// Make, list, disable users, and set their passwords
    User(UserArgs),
    /// Show the configuration that `serve` would use, with all defaults
    Config(ConfigArgs),
    /// Run the worker in the foreground (other commands start one when they need it)
    Worker(WorkerArgs),
    /// End the server and the worker; awake sessions are hibernated, and every workspace stays
    Stop(StopArgs),
    /// Tell what this host can and cannot isolate, and how to mend what it cannot
    Doctor(DoctorArgs),
}

/// `headwater sessions`.
#[derive(Debug, Args)]
pub struct SessionsArgs {
    /// What to do; `list` if nothing is said.
    #[command(subcommand)]
    pub action: Option<SessionsAction>,
    /// As for `list`.
    #[command(flatten)]
    pub list: ListArgs,
}

/// `headwater sessions list`, and `headwater sessions` alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct ListArgs {
    /// Those that have ended, too
    #[arg(long, short)]
    pub all: bool,
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// What to do with sessions.
#[derive(Debug, Subcommand)]
pub enum SessionsAction {
    /// List sessions (what `headwater sessions` alone does)
    List(ListArgs),
    /// Make a session and print its id
    Create(Box<CreateArgs>),
    /// Show one session
    Show {
        /// Its id, the beginning of it, or its name
        session: String,
        /// As a JSON object
        #[arg(long)]
        json: bool,
    },
    /// End sessions and delete them: their programs, workspaces, snapshots, executions and logs
    End(EndArgs),
}

/// `headwater sessions end`.
#[derive(Debug, Args)]
pub struct EndArgs {
    /// Their ids, the beginnings of them, or their names
    #[arg(required = true)]
    pub sessions: Vec<String>,
    /// Keep the executions and their logs; the workspace and the snapshots are deleted all the same
    #[arg(long)]
    pub keep_logs: bool,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
    /// What earlier versions called deleting the logs, too: says it, and does not ask
    #[arg(long, hide = true, conflicts_with = "keep_logs")]
    pub forget: bool,
}

/// `headwater sessions create`.
#[derive(Debug, Args)]
pub struct CreateArgs {
    /// A name, which can be given wherever a session is asked for; no other living session may have it
    #[arg(long)]
    pub name: Option<String>,
    /// A variable for every execution in it; without `=VALUE`, the value it has here
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<Variable>,
    /// End it and delete its workspace after so long without an execution
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub idle_timeout: Option<Duration>,
    /// Wall time of each execution in it
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub timeout: Option<Duration>,
    /// What it may use.
    #[command(flatten)]
    pub limits: LimitArgs,
    /// With walls or without; refused if the running worker does otherwise
    #[arg(long, value_name = "KIND")]
    pub sandbox: Option<SandboxArg>,
    /// As a JSON object
    #[arg(long)]
    pub json: bool,
}

/// `headwater ps`.
#[derive(Debug, Args)]
pub struct PsArgs {
    /// Those that have ended, too
    #[arg(long, short)]
    pub all: bool,
    /// Only those of this session
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// The processes of each, too
    #[arg(long)]
    pub processes: bool,
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// `headwater logs`.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// The execution's id, or the beginning of it
    pub execution: String,
    /// Go on live, until no writer is left
    #[arg(long, short)]
    pub follow: bool,
    /// Only events after this one
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    pub after: u64,
    /// Only this stream
    #[arg(long, value_name = "STREAM")]
    pub stream: Vec<StreamArg>,
    /// Only the last so many bytes (`4Ki`)
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub tail: Option<u64>,
    /// One JSON object a line for each event
    #[arg(long)]
    pub json: bool,
}

/// `headwater attach`.
#[derive(Debug, Args)]
pub struct AttachArgs {
    /// The execution's id, or the beginning of it
    pub execution: String,
    /// Show events after this one first, instead of the last 16 KiB
    #[arg(long, value_name = "SEQ")]
    pub after: Option<u64>,
    /// Only watch
    #[arg(long)]
    pub no_stdin: bool,
    /// One JSON object a line for each event
    #[arg(long)]
    pub json: bool,
}

/// `headwater kill`.
#[derive(Debug, Args)]
pub struct KillArgs {
    /// Ids of executions, or the beginnings of them
    #[arg(required = true)]
    pub executions: Vec<String>,
    /// Only send this signal (`TERM`, `9`, ...), instead of ending the whole tree
    #[arg(long, short, value_parser = signals::parse, allow_hyphen_values = true)]
    pub signal: Option<i32>,
    /// Send the signal to every process of the execution, not only to its group
    #[arg(long, requires = "signal")]
    pub tree: bool,
    /// SIGKILL at once, without a grace
    #[arg(long, conflicts_with = "signal")]
    pub now: bool,
}

/// `headwater forget`.
#[derive(Debug, Args)]
pub struct ForgetArgs {
    /// Ids of executions, or the beginnings of them
    #[arg(required = true)]
    pub executions: Vec<String>,
}

/// `headwater prune`.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // each is a flag of the command line
pub struct PruneArgs {
    /// Logs of executions that ended at least so long ago (`7d`, `12h`)
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub older_than: Option<Duration>,
    /// All but the newest N
    #[arg(long, value_name = "N")]
    pub keep: Option<u64>,
    /// All logs of ended executions
    #[arg(long, conflicts_with_all = ["older_than", "keep"])]
    pub all_logs: bool,
    /// Only those of this session
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// Only those of this owner
    #[arg(long, value_name = "OWNER")]
    pub owner: Option<String>,
    /// Report what would be removed, and remove nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
    /// As a JSON object
    #[arg(long)]
    pub json: bool,
}

/// `headwater worker`.
#[derive(Debug, Args)]
pub struct WorkerArgs {
    /// With walls, or (an explicit choice) without
    #[arg(long, value_name = "KIND")]
    pub sandbox: Option<SandboxArg>,
    /// How many prepared sessions wait
    #[arg(long, value_name = "N")]
    pub pool: Option<usize>,
    /// The configuration [default: `headwater.toml` in the data folder, if it is there]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// How long sessions wait for a worker to come back before they end themselves
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub orphan_timeout: Option<Duration>,
    /// Leave the terminal: how other commands start a worker
    #[arg(long, hide = true)]
    pub detached: bool,
}

/// `headwater stop`.
#[derive(Debug, Args)]
pub struct StopArgs {
    /// End only the server and the worker: programs run on, and a new worker finds them
    #[arg(long)]
    pub keep_sessions: bool,
    /// End all sessions of all users and delete their workspaces and snapshots; the logs stay
    #[arg(long, conflicts_with = "keep_sessions")]
    pub end_sessions: bool,
    /// With `--end-sessions`: do not ask
    #[arg(long, short, requires = "end_sessions")]
    pub yes: bool,
}

/// `headwater doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// As a JSON object
    #[arg(long)]
    pub json: bool,
    /// The configuration [default: `headwater.toml` in the data folder, if it is there]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// Walls, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SandboxArg {
    /// All walls
    Full,
    /// No walls: programs can do all that you can
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

/// A stream by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StreamArg {
    /// Standard output
    Stdout,
    /// Standard error
    Stderr,
    /// Both in one: a terminal, or merged output
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

/// The data folder: as told, here or in `HEADWATER_DATA`, or `headwater` in the user's data home. What is set to nothing
/// counts as not set.
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
#[path = "args/tests.rs"]
mod tests;
