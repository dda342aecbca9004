//! Where an agent works: its session, and the conversations of its sub-agents.

use std::collections::BTreeMap;
use std::fmt::{self, Debug};
use std::sync::Arc;

use async_trait::async_trait;
use headwater_protocol::conversation::{ConversationId, ToolOutput};
use headwater_protocol::{ExecutionId, SessionId};
use headwater_tools::Agent;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::journal::Journal;

/// Why something cannot be done here. The text is for the model, with what to do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PlaceError(pub String);

/// Where the agent of one conversation works.
#[async_trait]
pub trait Place: Debug + Send + Sync + 'static {
    /// The tools in the session of the conversation. The session is created at the first call, and resumed if it hibernates.
    async fn tools(&self) -> Result<Agent, PlaceError>;

    /// The tools, if the conversation has a session already.
    async fn existing_tools(&self) -> Result<Option<Agent>, PlaceError>;

    /// Records a call that has ended in the history of the session and in the audit log.
    async fn record(&self, call: RecordedCall);

    /// The executions of this conversation that a tool call started and that may still run: a turn that continues after a
    /// restart finds them by the call's id.
    async fn executions_of(&self, tool_call_id: &str) -> Result<Vec<ExecutionId>, PlaceError>;

    /// Creates the conversation of a sub-agent, linked to this one, and returns its log. It works in the same session.
    async fn create_child(&self, child: ChildSpec) -> Result<Arc<dyn Journal>, PlaceError>;

    /// The log of a sub-agent of this conversation.
    async fn child(&self, id: &ConversationId) -> Result<Option<Arc<dyn Journal>>, PlaceError>;

    /// Starts a turn in the conversation of a sub-agent, if none runs.
    async fn start_child(&self, id: &ConversationId) -> Result<(), PlaceError>;

    /// Interrupts the turn of a sub-agent and waits for its end.
    async fn stop_child(&self, id: &ConversationId) -> Result<(), PlaceError>;

    /// The MCP servers whose tools the agent gets, by name.
    fn mcp_servers(&self) -> BTreeMap<String, McpServer>;
}

/// A call of a tool, for the records.
#[derive(Debug, Clone)]
pub struct RecordedCall {
    /// The session, if there is one.
    pub session: Option<SessionId>,
    /// The call.
    pub tool_call_id: String,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub input: Value,
    /// The result.
    pub output: ToolOutput,
    /// The executions that it is about.
    pub executions: Vec<ExecutionId>,
    /// How long it took.
    pub duration_ms: u64,
}

/// A sub-agent to create.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChildSpec {
    /// The call that creates it.
    pub tool_call_id: String,
    /// A short name.
    pub nickname: String,
    /// The model, by its name in the configuration; that of the parent if it is missing.
    pub model: Option<String>,
    /// Whether it continues after its parent's turn has ended.
    pub is_detached: bool,
}

/// An MCP server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "expected `command` and perhaps `env`, or `url` and perhaps `headers`"
)]
pub enum McpServer {
    /// A program that is started in the session.
    Stdio {
        /// The program and its arguments.
        command: Vec<String>,
        /// Its environment.
        #[serde(default)]
        env: BTreeMap<String, String>,
    },
    /// A server on the network.
    Http {
        /// Its address.
        url: String,
        /// Headers, for example with a token.
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
}

/// Without the values of variables and headers and the query of the address, which may be secrets.
impl Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, env } => {
                f.debug_struct("Stdio").field("command", &command.first()).field("env", &env.keys()).finish()
            }
            Self::Http { url, headers } => f
                .debug_struct("Http")
                .field("url", &url.split('?').next())
                .field("headers", &headers.keys())
                .finish(),
        }
    }
}
