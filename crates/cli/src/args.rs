//! The command-line arguments.

mod account;
mod chat;
mod executions;
mod limits;
mod mcp;
mod run;
mod serve;
mod sessions;
mod user;
mod work;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use headwater_protocol::units::parse_duration;
use headwater_protocol::{Network, SandboxKind, Stream};

pub use self::account::{
    AuditArgs, CompletionArgs, ContextAction, ContextArgs, LanguagesArgs, LoginArgs, LogoutArgs, ManArgs,
    OpenArgs, UsageArgs, VersionArgs,
};
pub use self::chat::{ChatArgs, HereArgs};
pub use self::executions::{AttachArgs, ForgetArgs, KillArgs, LogsArgs, PruneArgs, PsArgs};
pub use self::limits::{LimitArgs, millis};
pub use self::mcp::{
    ApprovalsArg, McpAction, McpArgs, McpClient, McpInstallArgs, McpRulesArgs, McpServeArgs, SandboxModeArg,
};
pub use self::run::{ExecArgs, ProgramArgs, ProgramSandboxArg, RunArgs, StdinArg, Variable};
pub use self::serve::{ConfigArgs, LogFormatArg, RoleArg, ServeArgs, ShowConfigArgs, TokenAction, TokenArgs};
pub use self::sessions::{CreateArgs, EndArgs, ListArgs, SessionsAction, SessionsArgs};
pub use self::user::{UserAction, UserArgs};
pub use self::work::{
    AccessArg, CopyArgs, ForkArgs, HibernateArgs, PackagesArgs, ShareAction, ShareArgs, ShellArgs,
    SnapshotAction, SnapshotArgs, StatsArgs, WaitArgs,
};
use crate::error::CommandError;

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
    /// Use the server of this stored context (`headwater login`); `local` is the worker on this machine
    #[arg(long, global = true, value_name = "NAME", env = "HEADWATER_CONTEXT")]
    pub context: Option<String>,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program, a shell command or source code, and stream its output
    Run(Box<RunArgs>),
    /// Run something in a session: short for `run --session SESSION`
    Exec(Box<ExecArgs>),
    /// Open a shell in a session, or rejoin it; Ctrl+P Ctrl+Q leaves it running
    Shell(ShellArgs),
    /// List, show, create and end sessions
    Sessions(SessionsArgs),
    /// List executions
    Ps(PsArgs),
    /// Show the output of an execution, from any position
    Logs(LogsArgs),
    /// Follow an execution and type into it; Ctrl+P Ctrl+Q leaves it running
    Attach(AttachArgs),
    /// Wait until executions have ended, and print their exit codes
    Wait(WaitArgs),
    /// End executions, or send them a signal
    Kill(KillArgs),
    /// Delete the logs of ended executions
    Forget(ForgetArgs),
    /// Delete logs of ended executions by the `[retention]` rules, by age or by number
    Prune(PruneArgs),
    /// Copy files and folders to and from a session
    Cp(CopyArgs),
    /// Show the CPU time, memory, processes and disk space of sessions
    Stats(StatsArgs),
    /// Create, list, restore and remove snapshots of a workspace
    Snapshot(SnapshotArgs),
    /// Create a session with a copy of the workspace of another
    Fork(ForkArgs),
    /// End the programs of sessions and keep their workspaces; the next use resumes them
    Hibernate(HibernateArgs),
    /// Create, list and revoke links to a session, for people without an account
    Share(ShareArgs),
    /// List the languages, and which package provides those that are missing
    Languages(LanguagesArgs),
    /// List the packages that are installed in a session
    Packages(PackagesArgs),
    /// Show your quota and what you use of it
    Usage(UsageArgs),
    /// Show recorded actions, newest first
    Audit(AuditArgs),
    /// Open the server in a browser, signed in
    Open(OpenArgs),
    /// Sign in to a server and store it as the current context
    Login(LoginArgs),
    /// Forget a stored context, and revoke the token that `login` created
    Logout(LogoutArgs),
    /// List the stored contexts, and select the one that commands use
    Context(ContextArgs),
    /// Talk to an agent that works in a session, or in the current folder
    Chat(Box<ChatArgs>),
    /// Give an AI agent its tools: serve the Model Context Protocol on standard input and output
    Mcp(McpArgs),
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
    /// Print the completions for a shell: `source <(headwater completion bash)`
    Completion(CompletionArgs),
    /// Print the manual, or write the pages of all commands into a folder
    Man(ManArgs),
    /// Print the version of this program and of the server or worker it uses
    Version(VersionArgs),
}

impl Command {
    /// The name of a command that always acts on this machine, and never on a server.
    pub const fn only_on_this_machine(&self) -> Option<&'static str> {
        match self {
            Self::Serve(_) => Some("serve"),
            Self::Config(_) => Some("config"),
            Self::Worker(_) => Some("worker"),
            Self::Stop(_) => Some("stop"),
            Self::Doctor(_) => Some("doctor"),
            Self::Mcp(McpArgs { action: None, .. }) => Some("mcp"),
            Self::Mcp(McpArgs { action: Some(McpAction::Rules(_)), .. }) => Some("mcp rules"),
            _ => None,
        }
    }

    /// Whether the exit code is that of a program, so that failures of headwater itself need another one.
    pub const fn runs_a_program(&self) -> bool {
        matches!(self, Self::Run(_) | Self::Exec(_) | Self::Attach(_) | Self::Shell(_))
    }
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
    #[arg(long, value_name = "FILE", env = "HEADWATER_CONFIG")]
    pub config: Option<PathBuf>,
    /// How long programs keep running without a worker before their session is hibernated
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub orphan_timeout: Option<Duration>,
    /// Format of the log [default: `log_format` of `[server]` in the configuration file]
    #[arg(long, value_name = "FORMAT", env = "HEADWATER_LOG_FORMAT")]
    pub log_format: Option<LogFormatArg>,
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
    #[arg(long, value_name = "FILE", env = "HEADWATER_CONFIG")]
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

/// The network access of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum NetworkArg {
    /// Loopback only
    None,
    /// The package registries that the operator has configured
    Packages,
    /// Everything that the host can reach, if the operator allows it
    Full,
}

impl From<NetworkArg> for Network {
    fn from(arg: NetworkArg) -> Self {
        match arg {
            NetworkArg::None => Self::None,
            NetworkArg::Packages => Self::Packages,
            NetworkArg::Full => Self::Full,
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
        .or_else(|| home("LOCALAPPDATA", "headwater"))
        .ok_or_else(|| {
            CommandError::usage("no data folder: `HOME` is not set").hint("name one with `--data DIR`")
        })?;
    std::path::absolute(&folder).map_err(|error| {
        CommandError::usage(format!("`{}` cannot be the data folder: {error}", folder.display()))
    })
}

#[cfg(test)]
mod tests;
