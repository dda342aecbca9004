//! Removing logs of ended executions.

use serde::{Deserialize, Serialize};

/// Which logs of ended executions to remove. Without `older_than`, `keep` and `all` the rules of the
/// configuration apply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(examples(json!({"older_than": "7d", "dry_run": true}))))]
#[serde(deny_unknown_fields)]
pub struct PruneRequest {
    /// Only logs of this owner; for the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Only logs of this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Logs of executions that ended at least this long ago: `7d`, `12h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub older_than: Option<String>,
    /// All logs except this many of the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<u64>,
    /// All logs of ended executions.
    #[serde(default)]
    pub all: bool,
    /// Report what would be removed, and remove nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// The logs that were removed, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = PrunedLogs))]
pub struct PruneBody {
    /// Whether this was a dry run, which removes nothing.
    pub dry_run: bool,
    /// The number of logs.
    pub logs: u64,
    /// Their size on disk.
    pub bytes: u64,
    /// The first 1,000 of their executions, oldest first.
    pub executions: Vec<String>,
}
