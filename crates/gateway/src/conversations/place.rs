//! Where the agent of a conversation works: the session of the conversation, with the rights of its owner.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use headwater_agent::{ChildSpec, Journal, McpServer, Place, PlaceError, RecordedCall};
use headwater_protocol::conversation::ConversationId;
use headwater_protocol::{ExecutionId, Session, SessionId, SessionState};
use headwater_store::{
    ConversationChange, ConversationRow, ExecutionFilter, PageRequest, StoreError, ToolCallRow,
};
use headwater_tools::Agent;
use headwater_tools::output::Secrets;

use super::Settings;
use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::now_ms;
use crate::routes::tools::interactive;
use crate::state::Gateway;
use crate::tools::{Caller, tool_error};

/// The name under which the agent's calls are recorded.
const AGENT: &str = "chat";
/// Executions of one tool call.
const MAX_EXECUTIONS: u32 = 64;

/// The place of the agent of one conversation.
pub(super) struct ConversationPlace {
    pub(super) gateway: Arc<Gateway>,
    /// The conversation as it was when the turn began.
    pub(super) row: ConversationRow,
    /// The owner, for whom the agent works.
    who: Identity,
    /// What the newest session keeps secret.
    secrets: Mutex<Arc<Secrets>>,
}

impl fmt::Debug for ConversationPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConversationPlace").field("conversation", &self.row.id).finish_non_exhaustive()
    }
}

impl ConversationPlace {
    /// The place of the agent that acts as `who` in this conversation.
    pub(super) fn new(gateway: &Arc<Gateway>, row: ConversationRow, who: Identity) -> Self {
        Self { gateway: Arc::clone(gateway), row, who, secrets: Mutex::default() }
    }

    /// The agent in a session.
    fn agent(&self, session: Session) -> Agent {
        let caller = Caller {
            agent: AGENT.to_owned(),
            conversation_id: Some(self.row.id.to_string()),
            approvals: Settings::of(&self.row).approval(),
        };
        let agent = self.gateway.tools.agent(&self.who, "", session, &caller);
        *self.secrets.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(agent.secrets());
        self.gateway.watch_endings(&self.row.id, &agent);
        agent
    }

    /// The executions that a call started, newest first.
    async fn executions(&self, tool_call_id: &str) -> Result<Vec<ExecutionId>, StoreError> {
        let filter = ExecutionFilter {
            conversation_id: Some(self.row.id.to_string()),
            tool_call_id: Some(tool_call_id.to_owned()),
            ..ExecutionFilter::default()
        };
        let rows = self.gateway.store.executions(&filter, PageRequest::first(MAX_EXECUTIONS)).await?.items;
        let session = self.gateway.conversation_row(&self.row.id).await.ok().and_then(|row| row.session_id);
        let is_own = |row: &headwater_store::ExecutionRow| {
            row.owner == self.row.owner || Some(row.session_id) == session
        };
        Ok(rows.into_iter().filter(is_own).map(|row| row.id).collect())
    }
}

impl Gateway {
    /// The session of a conversation, which the agent may use, unless it has ended or there is none.
    pub(super) async fn conversation_session(
        &self,
        who: &Identity,
        row: &ConversationRow,
    ) -> Result<Option<Session>, ApiError> {
        let Some(id) = row.session_id else { return Ok(None) };
        let Some(session) = self.store.session(id).await? else { return Ok(None) };
        let session = self.current_session(session).await?;
        if matches!(session.state, SessionState::Ended { .. }) {
            return Ok(None);
        }
        self.auth.may_use_session(who, Need::Write, id).await?;
        Ok(Some(session))
    }

    /// The session of a conversation. If it has none, or it has ended, one is created.
    pub(super) async fn ensured_session(
        self: &Arc<Self>,
        who: &Identity,
        id: &ConversationId,
    ) -> Result<Session, ApiError> {
        let row = self.conversation_row(id).await?;
        if let Some(session) = self.conversation_session(who, &row).await? {
            return Ok(session);
        }
        // The same as that of calls of single tools for this conversation. A sub-agent works in that of its parent.
        let name = format!("conversation:{}", row.root_id);
        let session_id = interactive::named(self, who, name, || Ok(())).await?;
        self.keep_session(id, session_id).await?;
        let missing = || ApiError::not_found("session", &session_id.to_string());
        self.current_session(self.store.session(session_id).await?.ok_or_else(missing)?).await
    }

    async fn keep_session(&self, id: &ConversationId, session_id: SessionId) -> Result<(), ApiError> {
        let change = ConversationChange { session_id: Some(session_id), ..ConversationChange::default() };
        self.store.update_conversation(id, &change).await?;
        Ok(())
    }
}

/// The error for a model.
pub(super) fn place_error(error: impl Into<ApiError>) -> PlaceError {
    PlaceError(tool_error(&error.into()).to_string())
}

#[async_trait]
impl Place for ConversationPlace {
    async fn tools(&self) -> Result<Agent, PlaceError> {
        let session = self.gateway.ensured_session(&self.who, &self.row.id).await.map_err(place_error)?;
        Ok(self.agent(session))
    }

    async fn existing_tools(&self) -> Result<Option<Agent>, PlaceError> {
        let row = self.gateway.conversation_row(&self.row.id).await.map_err(place_error)?;
        let session = self.gateway.conversation_session(&self.who, &row).await.map_err(place_error)?;
        Ok(session.map(|session| self.agent(session)))
    }

    async fn record(&self, call: RecordedCall) {
        let Some(session_id) = call.session else { return };
        let owner = self.gateway.auth.owner_of(session_id).await.ok().flatten();
        let secrets = Arc::clone(&self.secrets.lock().unwrap_or_else(PoisonError::into_inner));
        let row = ToolCallRow {
            session_id,
            owner: owner.unwrap_or_else(|| self.row.owner.clone()),
            caller: self.row.owner.clone(),
            agent: AGENT.to_owned(),
            conversation_id: Some(self.row.id.to_string()),
            tool_call_id: Some(call.tool_call_id),
            tool: call.tool,
            arguments: None,
            result: Some(call.output.text),
            is_error: call.output.is_error,
            executions: call.executions,
            called_at_ms: now_ms().saturating_sub(call.duration_ms),
            duration_ms: call.duration_ms,
        };
        self.gateway.tools.history.record(&self.who, &call.input, &secrets, row);
    }

    async fn executions_of(&self, tool_call_id: &str) -> Result<Vec<ExecutionId>, PlaceError> {
        self.executions(tool_call_id).await.map_err(place_error)
    }

    async fn create_child(&self, child: ChildSpec) -> Result<Arc<dyn Journal>, PlaceError> {
        self.begin_child(&self.who, child).await.map_err(place_error)
    }

    async fn child(&self, id: &ConversationId) -> Result<Option<Arc<dyn Journal>>, PlaceError> {
        let child = self.live_child(id).await.map_err(place_error)?;
        Ok(child.map(|live| live as _))
    }

    async fn start_child(&self, id: &ConversationId) -> Result<(), PlaceError> {
        let child = self.live_child(id).await.map_err(place_error)?.ok_or_else(|| no_child(id))?;
        self.gateway.run_turns(&child);
        Ok(())
    }

    async fn stop_child(&self, id: &ConversationId) -> Result<(), PlaceError> {
        let child = self.live_child(id).await.map_err(place_error)?.ok_or_else(|| no_child(id))?;
        self.gateway.interrupt(&child, None).await;
        Ok(())
    }

    fn mcp_servers(&self) -> BTreeMap<String, McpServer> {
        let mut servers = Settings::of(&self.row).mcp_servers;
        // A name that the operator took later is theirs.
        servers.extend(self.gateway.config.mcp_servers.clone());
        servers
    }
}

fn no_child(id: &ConversationId) -> PlaceError {
    PlaceError(format!(
        "there is no sub-agent `{id}` of this conversation: use the id that spawn_agent has returned"
    ))
}
