//! Rows of builds.

use headwater_protocol::build::BuildResult;
use headwater_protocol::{BuildId, SessionId};
use serde_json::Value;

/// A row of the table `builds`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildRow {
    /// The id of the build; its execution has the same digits.
    pub id: BuildId,
    /// The session whose workspace it is for.
    pub session_id: SessionId,
    /// The owner of the session.
    pub owner: String,
    /// The kind of build: `cpp`, `cmake` and so on.
    pub kind: String,
    /// The request, as the gateway received it.
    pub request: Value,
    /// Whether an execution ran it.
    pub executed: bool,
    /// The result, once it has ended.
    pub result: Option<BuildResult>,
    /// When it was requested, in milliseconds since 1970.
    pub created_at_ms: u64,
}
