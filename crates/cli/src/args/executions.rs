//! The arguments of commands on executions and their logs.

use std::time::Duration;

use clap::Args;
use headwater_protocol::units::{parse_bytes, parse_duration};

use super::StreamArg;
use crate::signals;

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

/// The end of `headwater attach --help`.
const ATTACH_AFTER_HELP: &str = "\
How to leave: Ctrl+P Ctrl+Q leaves and the execution continues, with or without a terminal. Ctrl+C leaves an execution \
without a terminal; with a terminal it is a key for the program. If standard input is not a terminal, SIGINT and \
SIGTERM leave. The exit code is 0 after leaving, otherwise as for `headwater run`.";

/// `headwater attach`.
#[derive(Debug, Args)]
#[command(after_help = ATTACH_AFTER_HELP)]
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
