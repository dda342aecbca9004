//! The arguments of `headwater mcp`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::NetworkArg;

/// `headwater mcp`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
An agent starts this command itself. `headwater mcp install CLIENT` adds it to the configuration of a client; docs/mcp.md \
has the lines for each."
)]
pub struct McpArgs {
    /// What to do instead of serving.
    #[command(subcommand)]
    pub action: Option<McpAction>,
    /// How to serve.
    #[command(flatten)]
    pub serve: McpServeArgs,
}

/// The session that the tools work in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct McpServeArgs {
    /// Folder to work in, which the tools edit in place [default: the current folder]
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
    /// When a person is asked before a command runs [default: on-request]
    #[arg(long, value_name = "POLICY")]
    pub approvals: Option<ApprovalsArg>,
    /// Variable of this command's environment that programs get, and that no result shows (repeatable)
    #[arg(long, value_name = "NAME")]
    pub secret: Vec<String>,
    /// Work in this session (id, unique id prefix, or name) instead of a new one, and leave it running
    #[arg(long, value_name = "SESSION", conflicts_with_all = ["folder", "sandbox", "network", "writable", "secret"])]
    pub session: Option<String>,
}

/// What programs may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SandboxModeArg {
    /// Nothing but temporary files
    ReadOnly,
    /// The folder, the paths of `--writable` and temporary files
    WorkspaceWrite,
    /// Everything that the user can: no isolation
    DangerFullAccess,
}

/// When a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ApprovalsArg {
    /// Never: what needs consent is refused
    Never,
    /// Only for a command that has failed in its sandbox
    OnFailure,
    /// When a command asks for more than its sandbox
    OnRequest,
    /// For every command that is not known to only read
    UnlessTrusted,
}

/// Actions of `headwater mcp`.
#[derive(Debug, Subcommand)]
pub enum McpAction {
    /// Add Headwater to the configuration of a client, after showing the change
    Install(McpInstallArgs),
    /// Show the rules of a project: which commands run, are asked for, or are refused
    Rules(McpRulesArgs),
}

/// `headwater mcp rules`.
#[derive(Debug, Clone, Args)]
pub struct McpRulesArgs {
    /// Folder of the project [default: the current folder]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

/// `headwater mcp install`.
#[derive(Debug, Clone, Args)]
pub struct McpInstallArgs {
    /// The client
    #[arg(value_name = "CLIENT")]
    pub client: McpClient,
    /// Write the configuration of the project in the current folder instead of the user's
    #[arg(long)]
    pub project: bool,
    /// Name of the entry
    #[arg(long, value_name = "NAME", default_value = "headwater")]
    pub name: String,
    /// Only print the lines to add
    #[arg(long, conflicts_with = "yes")]
    pub print: bool,
    /// Do not ask for confirmation
    #[arg(long, short)]
    pub yes: bool,
    /// The arguments for the command that the client starts.
    #[command(flatten)]
    pub serve: McpServeArgs,
}

/// A client whose configuration is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum McpClient {
    /// Claude Code
    ClaudeCode,
    /// Codex
    Codex,
    /// Cursor
    Cursor,
    /// Visual Studio Code
    Vscode,
    /// Zed
    Zed,
    /// Gemini CLI
    GeminiCli,
}
