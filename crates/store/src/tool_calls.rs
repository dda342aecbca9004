//! Calls of tools by agents: rows and the interface for the gateway.

use std::fmt::Debug;

use async_trait::async_trait;
use headwater_protocol::{ExecutionId, SessionId};
use serde_json::Value;

use crate::{Page, PageRequest, StoreError};

/// A call of a tool in a session.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCallRow {
    /// The session that the tool worked in.
    pub session_id: SessionId,
    /// The owner of the session.
    pub owner: String,
    /// The user that called.
    pub caller: String,
    /// The name of the agent.
    pub agent: String,
    /// The conversation that it belongs to, if any.
    pub conversation_id: Option<String>,
    /// The caller's id of the call, if it has one.
    pub tool_call_id: Option<String>,
    /// The name of the tool.
    pub tool: String,
    /// The arguments, shortened; `None` if they are too long even then.
    pub arguments: Option<Value>,
    /// The text for the model, shortened; `None` if the caller left before it.
    pub result: Option<String>,
    /// Whether the tool failed.
    pub is_error: bool,
    /// The executions that the result is about.
    pub executions: Vec<ExecutionId>,
    /// When it was called.
    pub called_at_ms: u64,
    /// How long it took.
    pub duration_ms: u64,
}

/// Storage of tool calls.
#[async_trait]
pub trait ToolCalls: Send + Sync + Debug {
    /// Adds a call. [`StoreError::Conflict`] if the session does not exist.
    async fn put_tool_call(&self, row: &ToolCallRow) -> Result<(), StoreError>;

    /// Removes the oldest calls in the sessions of an owner beyond `keep`. Returns how many.
    async fn trim_tool_calls(&self, owner: &str, keep: u64) -> Result<u64, StoreError>;

    /// Calls in a session, newest first.
    async fn tool_calls(
        &self,
        session: SessionId,
        page: PageRequest,
    ) -> Result<Page<ToolCallRow>, StoreError>;
}
