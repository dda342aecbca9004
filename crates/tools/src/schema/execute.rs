//! The arguments of tools that start commands and write to them. The comments of fields are what a model
//! reads.
#![allow(
    clippy::doc_markdown,
    clippy::doc_link_with_quotes,
    reason = "a model reads these comments, and pays for backticks"
)]

use headwater_protocol::Limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds::{self, POLL_YIELD_MS, WRITE_YIELD_MS, YIELD_MS};
use super::{ExecutionRef, Permissions, SandboxPermissions, Until};

/// The arguments of `exec_command`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecCommand {
    /// Shell command to run.
    pub cmd: String,
    /// Working directory; default: the workspace.
    #[serde(default)]
    pub workdir: Option<String>,
    /// Shell to use; default: the user's.
    #[serde(default)]
    pub shell: Option<String>,
    /// Start it as a login shell.
    #[serde(default = "bounds::yes")]
    pub login: bool,
    /// Allocate a terminal (for prompts, REPLs, Ctrl-C).
    #[serde(default)]
    pub tty: bool,
    /// Milliseconds to wait for the end before returning what was printed so far.
    #[serde(default = "bounds::exec_yield_ms")]
    #[schemars(range(min = 250, max = 30000))]
    pub yield_time_ms: u64,
    /// Size of the result.
    #[serde(default = "bounds::output_tokens")]
    pub max_output_tokens: u64,
    /// Sandbox for this command.
    #[serde(default)]
    pub sandbox_permissions: SandboxPermissions,
    /// Question for the user, one sentence.
    #[serde(default)]
    pub justification: Option<String>,
    /// Command prefix to allow from now on, e.g. ["git","pull"].
    #[serde(default)]
    pub prefix_rule: Option<Vec<String>>,
    /// For with_additional_permissions.
    #[serde(default)]
    pub additional_permissions: Option<Permissions>,
    /// The environment of the command, for clients with several.
    #[serde(default)]
    #[schemars(skip)]
    pub environment_id: Option<String>,
    /// End the command after this time; default: no limit.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    /// Return early when one of these happens.
    #[serde(default)]
    pub wait_for: Option<Until>,
    /// Whether the command outlives a cancelled call.
    #[serde(default)]
    pub on_disconnect: OnDisconnect,
    /// "null": the command reads an empty input.
    #[serde(default)]
    pub stdin: InitialStdin,
    /// Terminal size, with tty.
    #[serde(default)]
    pub size: Option<Size>,
    /// Limits of this command, as in the API.
    #[serde(default)]
    #[schemars(skip)]
    pub limits: Option<Limits>,
    /// Keep colours and control sequences.
    #[serde(default)]
    pub ansi: bool,
}

impl ExecCommand {
    /// The time to wait, within its bounds.
    pub fn yield_ms(&self) -> u64 {
        bounds::clamp(self.yield_time_ms, &YIELD_MS)
    }
}

/// What happens to a command when its call is cancelled or its client goes away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnDisconnect {
    /// It runs on, and the next call finds it.
    #[default]
    Keep,
    /// It ends.
    Kill,
}

/// The input of a new command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InitialStdin {
    /// `write_stdin` can write to it.
    #[default]
    Open,
    /// It is empty.
    Null,
}

/// The size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// Rows.
    #[schemars(range(min = 1))]
    pub rows: u16,
    /// Columns.
    #[schemars(range(min = 1))]
    pub cols: u16,
}

/// The arguments of `write_stdin`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteStdin {
    /// Session ID that exec_command returned.
    pub session_id: ExecutionRef,
    /// Text to write; empty: only poll. "\u0003" interrupts, "\u0004" ends the input.
    #[serde(default)]
    pub chars: String,
    /// Milliseconds to wait for output: default 250, at most 30000; a poll 5000 to 300000.
    #[serde(default)]
    pub yield_time_ms: Option<u64>,
    /// Size of the result.
    #[serde(default = "bounds::output_tokens")]
    pub max_output_tokens: u64,
}

impl WriteStdin {
    /// The time to wait, within its bounds. A call without text is a poll, which waits longer.
    pub fn yield_ms(&self) -> u64 {
        let asked = self.yield_time_ms.unwrap_or(WRITE_YIELD_MS);
        bounds::clamp(asked, if self.chars.is_empty() { &POLL_YIELD_MS } else { &YIELD_MS })
    }
}

/// The arguments of `shell`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shell {
    /// Program and arguments, e.g. ["bash","-lc","ls"].
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// Working directory.
    #[serde(default)]
    pub workdir: Option<String>,
    /// Time limit.
    #[serde(default = "bounds::shell_timeout_ms", alias = "timeout")]
    pub timeout_ms: u64,
    /// The sandbox that the command asks for.
    #[serde(default)]
    #[schemars(skip)]
    pub sandbox_permissions: SandboxPermissions,
    /// Why it needs that sandbox.
    #[serde(default)]
    #[schemars(skip)]
    pub justification: Option<String>,
    /// The prefix to allow from now on.
    #[serde(default)]
    #[schemars(skip)]
    pub prefix_rule: Option<Vec<String>>,
}

/// The arguments of `shell_command`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShellCommand {
    /// Shell script to run.
    pub command: String,
    /// Working directory.
    #[serde(default)]
    pub workdir: Option<String>,
    /// Time limit.
    #[serde(default = "bounds::shell_timeout_ms", alias = "timeout")]
    pub timeout_ms: u64,
    /// Use a login shell.
    #[serde(default = "bounds::yes")]
    pub login: bool,
    /// The sandbox that the command asks for.
    #[serde(default)]
    #[schemars(skip)]
    pub sandbox_permissions: SandboxPermissions,
    /// Why it needs that sandbox.
    #[serde(default)]
    #[schemars(skip)]
    pub justification: Option<String>,
    /// The prefix to allow from now on.
    #[serde(default)]
    #[schemars(skip)]
    pub prefix_rule: Option<Vec<String>>,
}

/// The arguments of `run_code`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunCode {
    /// Language: python, javascript, typescript, bash, c, cpp, rust, go, ...
    pub language: String,
    /// Source code of the whole program.
    pub code: String,
    /// Text that the program reads.
    #[serde(default)]
    pub stdin: Option<String>,
    /// Working directory.
    #[serde(default)]
    pub workdir: Option<String>,
    /// Time limit.
    #[serde(default = "bounds::run_timeout_ms")]
    pub timeout_ms: u64,
    /// Size of the result.
    #[serde(default = "bounds::output_tokens")]
    pub max_output_tokens: u64,
}
