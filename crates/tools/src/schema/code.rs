//! The arguments of `code_execution` and `runCommand`. The comments of fields are what a model reads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The arguments of `code_execution`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeExecution {
    /// terminal (bash), python or nodejs.
    #[schemars(extend("enum" = ["terminal", "python", "nodejs"]))]
    pub runtime: String,
    /// Source code.
    pub code: String,
    /// Working directory; default: the workspace.
    #[serde(default, alias = "working_dir")]
    pub cwd: Option<String>,
    /// Time limit in seconds; default: 60.
    #[serde(default)]
    pub timeout: Option<f64>,
    /// Path in the workspace where the code is saved before it runs, and kept.
    #[serde(default)]
    pub save_to_file: Option<String>,
    /// Text that the program reads.
    #[serde(default)]
    pub stdin: Option<String>,
}

/// The arguments of `runCommand`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RunCommand {
    /// Shell command.
    pub command: String,
    /// Working directory; default: the workspace.
    #[serde(default, alias = "cwd")]
    pub working_directory: Option<String>,
    /// Time limit in seconds; default: 60.
    #[serde(default)]
    pub timeout: Option<f64>,
}
