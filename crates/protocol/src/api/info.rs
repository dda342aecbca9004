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
    /// Those that can be run.
    pub languages: Vec<LanguageBody>,
}

/// A language that can be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LanguageBody {
    /// As a start names it.
    pub name: String,
    /// As seen inside a session.
    pub interpreter: String,
}
