//! The arguments of tools that change files.
#![allow(
    clippy::doc_markdown,
    clippy::doc_link_with_quotes,
    reason = "a model reads these comments, and pays for backticks"
)]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The arguments of `apply_patch`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplyPatch {
    /// The whole patch, from "*** Begin Patch" to "*** End Patch".
    #[serde(alias = "patch")]
    pub input: String,
}

/// The arguments of `write_file`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteFile {
    /// Path of the file; parents are created.
    #[serde(alias = "path")]
    pub file_path: String,
    /// Whole new content.
    pub content: String,
}

/// The arguments of `edit_file`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditFile {
    /// Path of the file.
    #[serde(alias = "path")]
    pub file_path: String,
    /// Exact text to replace, with its white space; it must occur once.
    pub old_string: String,
    /// Text to put in its place.
    pub new_string: String,
    /// Replace every occurrence.
    #[serde(default, alias = "replace_all")]
    pub all: bool,
}
