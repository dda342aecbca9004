//! The arguments of commands on sessions and their files.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use headwater_protocol::units::parse_duration;

/// `headwater shell`.
#[derive(Debug, Args)]
#[command(
    after_help = "Ctrl+P Ctrl+Q leaves the shell running; `exit` ends it. The next `headwater shell` rejoins it."
)]
pub struct ShellArgs {
    /// Session id, unique id prefix, or name
    pub session: String,
    /// Name of the terminal: each name has its own shell
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub name: String,
}

/// `headwater wait`.
#[derive(Debug, Args)]
pub struct WaitArgs {
    /// Execution ids, or unique id prefixes
    #[arg(required = true)]
    pub executions: Vec<String>,
    /// Give up after this long, with exit code 124
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub timeout: Option<Duration>,
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}

/// `headwater stats`.
#[derive(Debug, Args)]
pub struct StatsArgs {
    /// Session ids, unique id prefixes, or names [default: all sessions that are running]
    pub sessions: Vec<String>,
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}

/// `headwater cp`.
#[derive(Debug, Args)]
#[command(after_help = "\
A path in a session is written SESSION:PATH, relative to its workspace. A folder is copied with everything in it. If the \
target is a folder that exists, the source is copied into it; FOLDER/. copies the contents of a folder.

  headwater cp main.py dev:            headwater cp dev:build/out.txt .
  headwater cp src dev:project         headwater cp dev:. backup")]
pub struct CopyArgs {
    /// File or folder, here or SESSION:PATH
    pub from: String,
    /// Target, here or SESSION:PATH
    pub to: String,
    /// Do not show progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// `headwater snapshot`.
#[derive(Debug, Args)]
pub struct SnapshotArgs {
    /// The action.
    #[command(subcommand)]
    pub action: SnapshotAction,
}

/// Actions on snapshots.
#[derive(Debug, Subcommand)]
pub enum SnapshotAction {
    /// Create a snapshot of a workspace and print its id
    Create {
        /// Session id, unique id prefix, or name
        session: String,
        /// Description
        #[arg(long)]
        name: Option<String>,
        /// Print a JSON object
        #[arg(long)]
        json: bool,
    },
    /// List the snapshots of a session, oldest first
    List {
        /// Session id, unique id prefix, or name
        session: String,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Replace the workspace with a snapshot
    Restore {
        /// Session id, unique id prefix, or name
        session: String,
        /// Snapshot id, unique id prefix, or name
        snapshot: String,
        /// Do not ask for confirmation
        #[arg(long, short)]
        yes: bool,
    },
    /// Delete snapshots
    Remove {
        /// Session id, unique id prefix, or name
        session: String,
        /// Snapshot ids, unique id prefixes, or names
        #[arg(required = true)]
        snapshots: Vec<String>,
    },
}

/// `headwater fork`.
#[derive(Debug, Args)]
pub struct ForkArgs {
    /// Session id, unique id prefix, or name
    pub session: String,
    /// Name of the new session
    #[arg(long)]
    pub name: Option<String>,
    /// Begin with this snapshot (id, unique id prefix, or name) instead of the current workspace
    #[arg(long, value_name = "SNAPSHOT")]
    pub snapshot: Option<String>,
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
}

/// `headwater hibernate`.
#[derive(Debug, Args)]
pub struct HibernateArgs {
    /// Session ids, unique id prefixes, or names
    #[arg(required = true)]
    pub sessions: Vec<String>,
}

/// `headwater share`.
#[derive(Debug, Args)]
pub struct ShareArgs {
    /// The action.
    #[command(subcommand)]
    pub action: ShareAction,
}

/// Actions on links to a session.
#[derive(Debug, Subcommand)]
pub enum ShareAction {
    /// Create a link to a session and print its token, which is not shown again
    Create {
        /// Session id, unique id prefix, or name
        session: String,
        /// What the holder of the link may do
        #[arg(long, default_value = "read")]
        access: AccessArg,
        /// Lifetime, such as `12h` [default: 7d]
        #[arg(long, value_name = "TIME", value_parser = parse_duration)]
        expires: Option<Duration>,
        /// Print a JSON object
        #[arg(long)]
        json: bool,
    },
    /// List the links to a session
    List {
        /// Session id, unique id prefix, or name
        session: String,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Revoke links to a session
    Revoke {
        /// Session id, unique id prefix, or name
        session: String,
        /// Ids of links, as shown by `list`
        #[arg(required = true)]
        ids: Vec<String>,
    },
}

/// What the holder of a link may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AccessArg {
    /// Read the session
    Read,
    /// Read, start, change and end
    Write,
}

/// `headwater packages`.
#[derive(Debug, Args)]
pub struct PackagesArgs {
    /// Session id, unique id prefix, or name
    pub session: String,
    /// List the modules of Node.js instead of the packages of Python
    #[arg(long)]
    pub node: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}
