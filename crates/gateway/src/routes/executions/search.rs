//! Parameters that select executions by what was run and how it ended.

use headwater_store::ExecutionKind;
use serde::Deserialize;
use utoipa::ToSchema;

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// It exited with code 0.
    Succeeded,
    /// It ended in any other way.
    Failed,
}

impl Outcome {
    pub(super) fn is_success(self) -> bool {
        self == Self::Succeeded
    }
}

/// How an execution was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// A shell command line.
    Shell,
    /// A program with its arguments.
    Program,
    /// Source code.
    Code,
    /// A shell command line or a program in a terminal.
    Terminal,
}

impl From<Kind> for ExecutionKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Shell => Self::Shell,
            Kind::Program => Self::Program,
            Kind::Code => Self::Code,
            Kind::Terminal => Self::Terminal,
        }
    }
}
