//! What is remembered of a build.

use headwater_protocol::build::BuildResult;
use headwater_protocol::{BuildId, SessionId};
use serde_json::Value;

/// A build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildRow {
    /// Its id; the execution that runs it has the same digits.
    pub id: BuildId,
    /// Whose workspace it is for.
    pub session_id: SessionId,
    /// Whose it is.
    pub owner: String,
    /// `cpp`, `cmake` and so on.
    pub kind: String,
    /// What was asked for.
    pub request: Value,
    /// Whether an execution ran it.
    pub executed: bool,
    /// What became of it, once it has ended.
    pub result: Option<BuildResult>,
    /// In milliseconds since 1970.
    pub created_at_ms: u64,
}
