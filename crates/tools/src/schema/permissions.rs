//! Requests for more than the sandbox allows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::policy::MoreLimits;

/// Which sandbox a command asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxPermissions {
    /// The sandbox of the session.
    #[default]
    UseDefault,
    /// More than the sandbox allows, after a person has approved it.
    RequireEscalated,
    /// The sandbox of the session with the additional permissions of the call.
    WithAdditionalPermissions,
}

/// What a command may do besides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Permissions {
    /// Network access.
    #[serde(default)]
    pub network: Option<bool>,
    /// Paths outside the workspace.
    #[serde(default)]
    pub file_system: Option<FileSystemAccess>,
    /// Higher limits.
    #[serde(default)]
    pub limits: Option<MoreLimits>,
}

/// Paths outside the workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileSystemAccess {
    /// Paths that may be read. Only clients that know the field send it: walls give paths to write.
    #[serde(default)]
    #[schemars(skip)]
    pub read: Vec<String>,
    /// Paths to write.
    #[serde(default)]
    pub write: Vec<String>,
}
