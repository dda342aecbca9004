//! The arguments of `headwater chat`.

use std::path::PathBuf;

use clap::Args;

use super::{ApprovalsArg, NetworkArg, SandboxModeArg};

/// `headwater chat`.
#[allow(clippy::struct_excessive_bools)] // each is a flag
#[derive(Debug, Clone, Default, Args)]
#[command(after_help = "\
Without a PROMPT, at a terminal, it is a conversation: `/help` lists its commands. Without a server the agent works in the \
current folder, in place, with the models of the configuration file. docs/cli.md describes it.")]
pub struct ChatArgs {
    /// What the agent is asked; `-` reads it from standard input, which is the default if that is no terminal
    #[arg(value_name = "PROMPT")]
    pub prompt: Option<String>,
    /// Go on with this conversation (id or unique id prefix); without ID with the newest one
    #[arg(long, short, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    pub resume: Option<String>,
    /// Go on with the newest conversation: on this machine, of the current folder
    #[arg(long = "continue", short = 'c', conflicts_with = "resume")]
    pub goes_on: bool,
    /// List the conversations, newest first
    #[arg(long, conflicts_with_all = ["prompt", "resume", "goes_on", "export"])]
    pub list: bool,
    /// Write a conversation into a file: `.md`, `.json` or `.ipynb`
    #[arg(long, value_name = "FILE", conflicts_with = "prompt")]
    pub export: Option<PathBuf>,
    /// Print events as JSON, one per line
    #[arg(long)]
    pub json: bool,
    /// The model, by its name in the configuration
    #[arg(long, short, value_name = "NAME")]
    pub model: Option<String>,
    /// Only plan: the agent reads, and changes nothing
    #[arg(long)]
    pub plan: bool,
    /// A file for the agent (repeatable); on this machine it must be in the folder
    #[arg(long, short, value_name = "FILE")]
    pub attach: Vec<PathBuf>,
    /// Allow what the agent asks for, without asking
    #[arg(long, short)]
    pub yes: bool,
    /// When a person is asked before a command runs [default: on-request]
    #[arg(long, value_name = "POLICY")]
    pub approvals: Option<ApprovalsArg>,
    /// Work in this session (id, unique id prefix, or name), and leave it running
    #[arg(long, value_name = "SESSION", conflicts_with_all = ["folder", "sandbox", "network", "writable"])]
    pub session: Option<String>,
    /// Where the agent works without a server.
    #[command(flatten)]
    pub here: HereArgs,
}

/// Where the agent works on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Without a server")]
pub struct HereArgs {
    /// Folder to work in, in place [default: the current folder]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// What programs may change [default: workspace-write]
    #[arg(long, value_name = "MODE")]
    pub sandbox: Option<SandboxModeArg>,
    /// Network access of programs [default: none]
    #[arg(long, value_name = "ACCESS")]
    pub network: Option<NetworkArg>,
    /// Another path that programs may change (repeatable)
    #[arg(long, value_name = "PATH")]
    pub writable: Vec<PathBuf>,
    /// Configuration file with the models [default: `headwater.toml` in the data folder, if it exists]
    #[arg(long, value_name = "FILE", env = "HEADWATER_CONFIG")]
    pub config: Option<PathBuf>,
}
