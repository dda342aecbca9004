//! Information about the server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Timestamp;
use crate::SandboxKind;

/// The answer to `GET /v1/info`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = ServerInfo))]
pub struct InfoBody {
    /// The version of the gateway.
    pub version: String,
    /// The version of the worker.
    pub worker_version: String,
    /// When the gateway started.
    pub started_at: Timestamp,
    /// The isolation of new sessions.
    pub sandbox: SandboxKind,
    /// The number of sessions that are ready.
    pub sessions: u32,
    /// The number of executions that have not ended.
    pub running: u32,
    /// The number of prepared sessions in the pool.
    pub prepared: u32,
    /// How each limit is enforced on this host, for people.
    pub enforcement: BTreeMap<String, String>,
}

/// The answer to `GET /v1/languages`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = LanguageList))]
pub struct LanguagesBody {
    /// All languages in the registry, by name.
    pub languages: Vec<LanguageBody>,
}

/// A language, installed on this host or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LanguageBody {
    /// The name, as used in a start request.
    pub name: String,
    /// Other names of the language.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// File name extensions without the dot; the first is the usual one.
    #[serde(default)]
    pub suffixes: Vec<String>,
    /// The name of its icon.
    #[serde(default)]
    pub icon: String,
    /// The version of its tool; absent until it is known, or if the tool is missing.
    pub version: Option<String>,
    /// Whether it can be run on this host.
    pub available: bool,
    /// The Debian package that provides its tool, if known.
    pub package: Option<String>,
    /// The path of the interpreter or compiler inside a session; absent if it is missing.
    pub interpreter: Option<String>,
    /// Whether code is compiled before it runs.
    #[serde(default)]
    pub can_build: bool,
    /// The longest time that its code may run here, if the operator has set one.
    pub max_runtime_ms: Option<u64>,
}
