//! Which agent a request is for.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use headwater_protocol::{Network, PlaceMode, Session};
use headwater_tools::policy::SharedPolicy;
use headwater_tools::schema::Tool;
use headwater_tools::{Agent, AgentInfo, Host, Outcome, ToolError};
use rmcp::model::Extensions;
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;

/// The path of the workspace inside an ordinary session.
const WORKSPACE: &str = "/workspace";

/// Who sends a request.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The name of the client, for example `claude-code`, if it says one.
    pub client: Option<String>,
    /// What the transport knows: over HTTP the head of the request (`http::request::Parts`), with its
    /// headers and with what the server added to it, for example the identity of the user.
    pub extensions: Extensions,
    /// The session that the arguments of the call name.
    pub session: Option<String>,
}

impl Caller {
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Self {
        Self {
            client: context.client_info().map(|client| client.name),
            extensions: context.extensions.clone(),
            session: None,
        }
    }
}

/// What a request that is not a call of a tool uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads the output of executions.
    Output,
    /// Reads files.
    Files,
    /// Reads both.
    Both,
    /// Ends executions.
    Cancel,
}

/// A call of a tool that is about to begin.
#[derive(Debug, Clone, Copy)]
pub struct NewCall<'a> {
    /// The tool.
    pub tool: &'static Tool,
    /// The arguments, as the client sent them.
    pub arguments: &'a Value,
    /// The id that the model gave the call.
    pub id: Option<&'a str>,
}

/// The record of a call. If it is dropped before its end, the caller has left.
pub trait Record: fmt::Debug + Send {
    /// The call has returned.
    fn finish(self: Box<Self>, outcome: &Outcome);
}

/// Finds the agent for each request.
#[async_trait]
pub trait Agents: fmt::Debug + Send + Sync + 'static {
    /// The agent of this caller, who has the rights for `access`. A model reads the error.
    async fn agent(&self, caller: &Caller, access: Access) -> Result<Agent, ToolError>;

    /// The agent of this caller, who has the rights for the call, and the record of the call if one is kept.
    async fn begin(
        &self,
        caller: &Caller,
        call: NewCall<'_>,
    ) -> Result<(Agent, Option<Box<dyn Record>>), ToolError>;

    /// Whether arguments can name another session than that of the connection.
    fn takes_session(&self) -> bool {
        false
    }

    /// The path of the workspace as programs of the session see it, for `file://` resources.
    fn workspace(&self) -> Cow<'_, str> {
        WORKSPACE.into()
    }

    /// Sentences for a model, each with a space before it: how far commands can go. Empty if sessions differ.
    fn walls(&self) -> String {
        String::new()
    }
}

/// The longest path of a workspace that the instructions name, in bytes.
const MAX_SHOWN_PATH: usize = 100;

/// The same agent for every request. It has the name of the client that sends the first one.
#[derive(Debug)]
pub struct OneAgent {
    host: Arc<dyn Host>,
    session: Session,
    metadata: BTreeMap<String, String>,
    workspace: String,
    policy: SharedPolicy,
    agent: OnceLock<Agent>,
}

impl OneAgent {
    /// An agent in this session. What it starts has this metadata.
    pub fn new(host: Arc<dyn Host>, session: Session, metadata: BTreeMap<String, String>) -> Self {
        let (workspace, policy) = (WORKSPACE.to_owned(), SharedPolicy::default());
        Self { host, session, metadata, workspace, policy, agent: OnceLock::new() }
    }

    /// The same with this policy of approvals.
    #[must_use]
    pub fn with_policy(mut self, policy: SharedPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// The same with another path of the workspace than `/workspace`.
    #[must_use]
    pub fn with_workspace(mut self, path: impl Into<String>) -> Self {
        self.workspace = path.into();
        self
    }
}

#[async_trait]
impl Agents for OneAgent {
    async fn agent(&self, caller: &Caller, _: Access) -> Result<Agent, ToolError> {
        let create = || {
            let name = caller.client.clone().unwrap_or_else(|| "mcp".to_owned());
            let info = AgentInfo { name, metadata: self.metadata.clone(), policy: self.policy.clone() };
            Agent::new(Arc::clone(&self.host), self.session.clone(), info)
        };
        Ok(self.agent.get_or_init(create).clone())
    }

    async fn begin(
        &self,
        caller: &Caller,
        _: NewCall<'_>,
    ) -> Result<(Agent, Option<Box<dyn Record>>), ToolError> {
        Ok((self.agent(caller, Access::Both).await?, None))
    }

    fn workspace(&self) -> Cow<'_, str> {
        self.workspace.as_str().into()
    }

    fn walls(&self) -> String {
        let spec = &self.session.spec;
        let mode = spec.place.as_ref().map(|in_place| in_place.mode);
        let files = match mode {
            None => "change the workspace and /tmp",
            Some(PlaceMode::ReadOnly) => "read the workspace and change only /tmp",
            Some(PlaceMode::WorkspaceWrite) => "change the workspace (not .git) and /tmp",
            Some(PlaceMode::DangerFullAccess) => return " Commands are not isolated.".to_owned(),
        };
        let network = match spec.network {
            Network::None => "no network",
            Network::Packages => "a network of package registries only",
            Network::Full => "the network",
        };
        let asks = if mode.is_some() { "; `sandbox_permissions` asks for more" } else { "" };
        let place = match self.workspace.as_str() {
            path if path.len() <= MAX_SHOWN_PATH => format!(" ({path})"),
            _ => String::new(),
        };
        format!(" Commands can {files}{place} and have {network}{asks}.")
    }
}
