//! Removing logs of ended executions.

use serde::{Deserialize, Serialize};

/// Which logs of ended executions to remove. Without `older_than`, `keep` and `all` the rules of the configuration apply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PruneRequest {
    /// Only logs of this owner; for the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Only logs of this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Logs of executions that ended at least so long ago: `7d`, `12h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub older_than: Option<String>,
    /// All but the newest so many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<u64>,
    /// All logs of ended executions.
    #[serde(default)]
    pub all: bool,
    /// Report what would be removed, and remove nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// What was removed, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PruneBody {
    /// Whether nothing was removed.
    pub dry_run: bool,
    /// How many logs.
    pub logs: u64,
    /// Their bytes on the disk.
    pub bytes: u64,
    /// The first 1,000 of their executions, oldest first.
    pub executions: Vec<String>,
}
