//! Where a call of a tool works, for whom, and its record: the same for `POST /v1/tools/{tool}` and `/mcp`.

use std::sync::Arc;

use headwater_protocol::{Session, SessionState};
use headwater_store::ToolCallRow;
use headwater_tools::schema::Tool;
use headwater_tools::secrets_of;
use serde_json::Value;

use super::interactive;
use crate::auth::{Identity, Need, authorise};
use crate::error::ApiError;
use crate::now_ms;
use crate::state::Gateway;
use crate::tools::{Caller, FILE_TOOLS, Recording};

/// Where a call works.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    /// The session that the call names: its id, its name or a unique prefix of its id. If absent: the session of the
    /// conversation, or else of the agent, which is created by the first call.
    pub(crate) session: Option<&'a str>,
    /// For whom.
    pub(crate) caller: &'a Caller,
}

impl Place<'_> {
    /// The session, which `who` may use for the tool, and the beginning of the call's record.
    pub(crate) async fn begin(
        self,
        gateway: &Arc<Gateway>,
        who: &Identity,
        tool: &Tool,
        tool_call_id: Option<&str>,
        arguments: &Value,
    ) -> Result<(Session, Recording), ApiError> {
        let need = if tool.hints.read_only { Need::Read } else { Need::Write };
        let session = self.session(gateway, who, need).await?;
        // The output of an ended session can still be read.
        let needs_no_session = tool.hints.read_only && !FILE_TOOLS.contains(&tool.name);
        if matches!(session.state, SessionState::Ended { .. }) && !needs_no_session {
            let message = format!("the session `{}` has ended", session.id);
            return Err(ApiError::conflict(message, "create another session"));
        }
        let row = ToolCallRow {
            session_id: session.id,
            owner: session.spec.owner().to_owned(),
            caller: who.owner.clone(),
            agent: self.caller.agent.clone(),
            conversation_id: self.caller.conversation_id.clone(),
            tool_call_id: tool_call_id.map(str::to_owned),
            tool: tool.name.to_owned(),
            arguments: None,
            result: None,
            is_error: false,
            executions: Vec::new(),
            called_at_ms: now_ms(),
            duration_ms: 0,
        };
        let recording = gateway.tools.history.begin(who, arguments, secrets_of(&session), row);
        Ok((session, recording))
    }

    /// The session, which `who` may use.
    pub(crate) async fn session(
        self,
        gateway: &Arc<Gateway>,
        who: &Identity,
        need: Need,
    ) -> Result<Session, ApiError> {
        let id = if let Some(text) = self.session {
            gateway.session_named(who, need, text).await?
        } else {
            let name = match &self.caller.conversation_id {
                Some(id) => format!("conversation:{id}"),
                None => format!("agent:{}", self.caller.agent),
            };
            authorise(who, need)?;
            let id = interactive::named(gateway, who, name, || authorise(who, Need::Write)).await?;
            gateway.auth.may_use_session(who, need, id).await?;
            id
        };
        let missing = || ApiError::not_found("session", &id.to_string());
        let row = gateway.store.session(id).await?.ok_or_else(missing)?;
        gateway.current_session(row).await
    }
}
