//! MCP servers of a conversation.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// An MCP server whose tools an agent gets: `command`, and perhaps `env`.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(examples(json!({
    "command": ["issues-mcp", "--stdio"], "env": {"ISSUES_TOKEN": "..."}
}))))]
#[serde(default, deny_unknown_fields)]
pub struct McpServerRequest {
    /// A program and its arguments. It runs in the session of the conversation, and speaks the protocol on stdio.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Its environment. No response and no export contains the values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The address of a server on the network instead, which is called from the server's host. For operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The headers of each request to it. No response and no export contains the values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// Without values, which may be secrets.
impl fmt::Debug for McpServerRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        McpServerBody::from(self).fmt(f)
    }
}

/// An MCP server of a conversation, without what may be secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct McpServerBody {
    /// The program and its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The names of the variables in its environment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// The address of a server on the network, without its query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The names of the headers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
}

impl From<&McpServerRequest> for McpServerBody {
    fn from(server: &McpServerRequest) -> Self {
        Self {
            command: server.command.clone(),
            env: server.env.keys().cloned().collect(),
            url: server.url.as_ref().map(|url| url.split(['?', '#']).next().unwrap_or_default().to_owned()),
            headers: server.headers.keys().cloned().collect(),
        }
    }
}
