//! What the server tells of itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Timestamp;
use crate::SandboxKind;

/// The answer to `GET /v1/info`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InfoBody {
    /// Of the gateway.
    pub version: String,
    /// Of the worker.
    pub worker_version: String,
    /// When the gateway started.
    pub started_at: Timestamp,
    /// Which walls new sessions get.
    pub sandbox: SandboxKind,
    /// Sessions that are ready.
    pub sessions: u32,
    /// Executions that have not ended.
    pub running: u32,
    /// Sessions waiting in the pool.
    pub prepared: u32,
    /// How each limit is enforced on this host, in words.
    pub enforcement: BTreeMap<String, String>,
}

/// The answer to `GET /v1/languages`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LanguagesBody {
    /// Those that the server knows, by name.
    pub languages: Vec<LanguageBody>,
}

/// A language, whether or not it can be run here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LanguageBody {
    /// As a start names it.
    pub name: String,
    /// Other names that do.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// How names of its files end, without the dot; the first is the usual one.
    #[serde(default)]
    pub suffixes: Vec<String>,
    /// The name of its icon.
    #[serde(default)]
    pub icon: String,
    /// What its tool calls itself; absent while it has not told, or if it is missing.
    pub version: Option<String>,
    /// Whether it can be run here.
    pub available: bool,
    /// The Debian package that brings its tool, if that is known.
    pub package: Option<String>,
    /// The interpreter or compiler as seen inside a session; absent if it is missing.
    pub interpreter: Option<String>,
    /// Whether it is compiled before it runs.
    #[serde(default)]
    pub can_build: bool,
    /// The longest that its code may run here, if the operator set that.
    pub max_runtime_ms: Option<u64>,
}
