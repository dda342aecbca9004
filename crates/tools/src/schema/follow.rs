//! The arguments of tools that follow and control executions.
#![allow(
    clippy::doc_markdown,
    clippy::doc_link_with_quotes,
    reason = "a model reads these comments, and pays for backticks"
)]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ExecutionRef;
use super::bounds;

/// What a wait ends with: the first of these that happens. The end of an execution always ends it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// The end of the command. It always ends a wait, because nothing can happen after it; the field exists
    /// because models name it.
    #[serde(default)]
    #[schemars(description = "The end (always included).")]
    pub exit: bool,
    /// A regex for output after the last result.
    #[serde(default, rename = "match")]
    pub pattern: Option<String>,
    /// No output for this many milliseconds.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub idle_ms: Option<u64>,
    /// A TCP port that the command listens on.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub port: Option<u16>,
}

/// The arguments of `wait`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// Session IDs to wait for.
    #[schemars(length(min = 1, max = 64))]
    pub session_ids: Vec<ExecutionRef>,
    /// Default: the end.
    #[serde(default)]
    pub until: Until,
    /// Return when one of the executions is ready instead of all.
    #[serde(default)]
    pub any: bool,
    /// Milliseconds; the commands run on after it.
    #[serde(default = "bounds::wait_ms")]
    pub timeout_ms: u64,
    /// Size of the result.
    #[serde(default = "bounds::output_tokens")]
    pub max_output_tokens: u64,
}

impl Wait {
    /// The time to wait, within its bounds.
    pub fn wait_ms(&self) -> u64 {
        self.timeout_ms.min(bounds::MAX_WAIT_MS)
    }
}

/// A stream of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// The arguments of `read_output`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadOutput {
    /// Session ID.
    pub session_id: ExecutionRef,
    /// Position to read from, as a result named it; 0: the beginning.
    #[serde(default)]
    pub after_seq: u64,
    /// Bytes to skip after that, as a result named it.
    #[serde(default)]
    pub skip_bytes: u64,
    /// Only this stream.
    #[serde(default)]
    pub stream: Option<OutputStream>,
    /// Only lines that match this regex.
    #[serde(default)]
    pub grep: Option<String>,
    /// Size of the result.
    #[serde(default = "bounds::read_bytes")]
    pub max_bytes: u64,
    /// Keep colours and control sequences.
    #[serde(default)]
    pub ansi: bool,
}

/// The arguments of `list_executions`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListExecutions {
    /// Only those that still run.
    #[serde(default)]
    pub running: bool,
}

/// A signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Signal {
    /// Asks the program to end.
    #[serde(alias = "SIGTERM")]
    Term,
    /// Ends the program at once.
    #[serde(alias = "SIGKILL")]
    Kill,
    /// Interrupts it, as Ctrl-C does.
    #[serde(alias = "SIGINT")]
    Int,
    /// Reports that the terminal is gone.
    #[serde(alias = "SIGHUP")]
    Hup,
    /// Ends it with a core dump, as Ctrl-\ does.
    #[serde(alias = "SIGQUIT")]
    Quit,
    /// For the program to define.
    #[serde(alias = "SIGUSR1")]
    Usr1,
    /// For the program to define.
    #[serde(alias = "SIGUSR2")]
    Usr2,
}

/// The arguments of `kill`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kill {
    /// Session ID.
    pub session_id: ExecutionRef,
    /// Default: TERM, then KILL after a grace period.
    #[serde(default)]
    pub signal: Option<Signal>,
    /// Signal the children too.
    #[serde(default = "bounds::yes")]
    pub tree: bool,
}

/// The arguments of `resize`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resize {
    /// Session ID.
    pub session_id: ExecutionRef,
    /// Rows.
    #[schemars(range(min = 1))]
    pub rows: u16,
    /// Columns.
    #[schemars(range(min = 1))]
    pub cols: u16,
}
