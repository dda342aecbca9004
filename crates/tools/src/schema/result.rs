//! The results of tools that run commands, as text and as JSON.
#![allow(
    clippy::doc_markdown,
    clippy::doc_link_with_quotes,
    reason = "a model reads these comments, and pays for backticks"
)]

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a command printed until it ended or the time to wait was over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecResult {
    /// Six hexadecimal digits that identify this result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_id: Option<String>,
    /// Seconds that the call waited.
    pub wall_time_seconds: f64,
    /// Exit code, if the command has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Session ID for write_stdin, wait and read_output, if the command still runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<u64>,
    /// Tokens of the output before it was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_token_count: Option<u64>,
    /// The output.
    pub output: String,
}

/// The text that models know.
impl fmt::Display for ExecResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(id) = &self.chunk_id {
            writeln!(f, "Chunk ID: {id}")?;
        }
        writeln!(f, "Wall time: {:.4} seconds", self.wall_time_seconds)?;
        if let Some(code) = self.exit_code {
            writeln!(f, "Process exited with code {code}")?;
        }
        if let Some(id) = self.session_id {
            writeln!(f, "Process running with session ID {id}")?;
        }
        if let Some(tokens) = self.original_token_count {
            writeln!(f, "Original token count: {tokens}")?;
        }
        write!(f, "Output:\n{}", self.output)
    }
}

/// The result of `shell` and `shell_command`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellResult {
    /// The directory that the command ran in.
    pub workdir: String,
    /// How it ended.
    pub end: ShellEnd,
    /// Its standard output, within the budget.
    pub stdout: String,
    /// Its standard error, within the budget.
    pub stderr: String,
}

/// How a command of `shell` ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShellEnd {
    /// It exited with this code.
    ExitCode(i32),
    /// It was ended at its time limit, in milliseconds. What it had printed is kept.
    TimeoutMs(u64),
}

/// The text that models know.
impl fmt::Display for ShellResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Working directory: {}", self.workdir)?;
        match self.end {
            ShellEnd::ExitCode(code) => write!(f, "\nExit code: {code}")?,
            ShellEnd::TimeoutMs(limit) => write!(f, "\nTimeout: exceeded {limit} ms")?,
        }
        for (name, text) in [("Stdout", &self.stdout), ("Stderr", &self.stderr)] {
            if !text.is_empty() {
                write!(f, "\n{name}:\n{text}")?;
            }
        }
        Ok(())
    }
}
