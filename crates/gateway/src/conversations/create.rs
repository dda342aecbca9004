//! Creating, reading and changing conversations.

use std::sync::Arc;

use headwater_agent::Journal;
use headwater_protocol::api::{
    ConversationBody, ConversationDetail, ConversationPatch, ConversationRequest, Timestamp,
};
use headwater_protocol::conversation::{ConversationEvent, ConversationId, TitleSource};
use headwater_store::{ConversationChange, ConversationRow, ConversationState, Role};

use super::limits::MAX_CONVERSATIONS;
use super::live::is_waiting;
use super::settings::{Bounds, checked_title};
use super::{Live, Settings, mcp_servers};
use crate::auth::conversations::no_conversation;
use crate::auth::{Identity, Need, authorise};
use crate::error::ApiError;
use crate::now_ms;
use crate::quota::exceeded;
use crate::state::Gateway;

impl Gateway {
    /// Creates a conversation of `who`.
    pub(crate) async fn create_conversation(
        self: &Arc<Self>,
        who: &Identity,
        request: ConversationRequest,
    ) -> Result<ConversationRow, ApiError> {
        authorise(who, Need::Write)?;
        let settings = Settings::requested(&request, self.setting_bounds(who))?;
        let title = request.title.as_deref().map(checked_title).transpose()?;
        let session_id = match &request.session_id {
            Some(session) => Some(self.session_named(who, Need::Write, session).await?),
            None => None,
        };
        if self.store.count_conversations(&who.owner).await? >= MAX_CONVERSATIONS {
            let message = format!("`{}` has {MAX_CONVERSATIONS} conversations, which is the most", who.owner);
            return Err(exceeded(message, "delete some that are not needed any more", None));
        }
        let id = request.id.unwrap_or_else(ConversationId::random);
        let row = new_row(id.clone(), who.owner.clone(), &settings);
        let row = ConversationRow { session_id, ..row };
        let (gateway, who) = (Arc::clone(self), who.clone());
        let created = async move {
            if gateway.store.put_conversation(&row).await?.is_none() {
                // Whose it is, is not said.
                return Err(ApiError::conflict(
                    format!("the id `{}` is taken", row.id),
                    "choose another id, or leave it out",
                ));
            }
            gateway.audit.record(&who, "conversation.create", row.id.to_string(), String::new());
            if let Some(title) = title {
                gateway.conversations.open(&row.id).await?.append_title(title).await?;
            }
            gateway.conversation_row(&row.id).await
        };
        self.background.detached(created).await
    }

    fn setting_bounds(&self, who: &Identity) -> Bounds<'_> {
        Bounds {
            models: &self.conversations.models,
            mcp_servers: &self.config.mcp_servers,
            is_operator: who.role == Role::Admin,
        }
    }

    /// The row of a conversation. The caller has checked who may use it.
    pub(crate) async fn conversation_row(&self, id: &ConversationId) -> Result<ConversationRow, ApiError> {
        self.store.conversation(id).await?.ok_or_else(|| no_conversation(id))
    }

    /// A conversation with its messages.
    pub(crate) async fn conversation_detail(
        &self,
        who: &Identity,
        id: &ConversationId,
    ) -> Result<ConversationDetail, ApiError> {
        self.auth.may_use_conversation(who, Need::Read, id).await?;
        let live = self.conversations.open(id).await?;
        let row = self.conversation_row(id).await?;
        let now = live.fold();
        // The row was read before, and may say less than the log.
        let conversation = ConversationBody {
            is_running: now.running().is_some(),
            is_waiting: is_waiting(&now),
            title: now.title.clone(),
            ..conversation_body(row)
        };
        Ok(ConversationDetail {
            conversation,
            last_seq: now.last_seq,
            leaf_id: now.leaf.clone(),
            messages: now.messages.clone(),
            turn: now.turn.clone(),
            plan: now.plan.clone(),
            queue: now.queue.clone(),
        })
    }

    /// Changes a conversation: absent fields keep their values.
    pub(crate) async fn patch_conversation(
        self: &Arc<Self>,
        who: &Identity,
        id: &ConversationId,
        patch: ConversationPatch,
    ) -> Result<ConversationRow, ApiError> {
        let row = self.auth.may_use_conversation(who, Need::Write, id).await?;
        // What decides about the agent's rights is the owner's, as the limits of a session are.
        let reaches_out = patch.web_search.is_some() || !patch.mcp_servers.is_empty();
        if patch.approval_policy.is_some() || patch.session_id.is_some() || reaches_out {
            self.auth.may_use_conversation(who, Need::Own, id).await?;
        }
        let mut settings = Settings::of(&row);
        settings.change(&patch, self.setting_bounds(who))?;
        let title = patch.title.as_deref().map(checked_title).transpose()?;
        let session_id = match &patch.session_id {
            Some(session) => Some(self.session_named(who, Need::Write, session).await?),
            None => None,
        };
        let (gateway, who, id) = (Arc::clone(self), who.clone(), id.clone());
        let changed = async move {
            let settings = (settings != Settings::of(&row)).then(|| settings.to_json());
            let change = ConversationChange { session_id, settings, is_archived: patch.is_archived };
            if change != ConversationChange::default() {
                gateway.store.update_conversation(&id, &change).await?;
            }
            if let Some(title) = title.filter(|title| row.title.as_ref() != Some(title)) {
                gateway.conversations.open(&id).await?.append_title(title).await?;
            }
            gateway.audit.record(&who, "conversation.patch", id.to_string(), String::new());
            gateway.conversation_row(&id).await
        };
        self.background.detached(changed).await
    }
}

impl Live {
    async fn append_title(&self, title: String) -> Result<(), ApiError> {
        let appended =
            self.append(vec![ConversationEvent::TitleChanged { title, source: TitleSource::Person }]).await;
        appended.map(drop).map_err(|error| unwritten(&error))
    }
}

/// The log cannot be written (503).
pub(super) fn unwritten(error: &headwater_agent::JournalError) -> ApiError {
    ApiError::unavailable(error.to_string(), "try again in a moment")
}

/// A new conversation of this owner.
pub(super) fn new_row(id: ConversationId, owner: String, settings: &Settings) -> ConversationRow {
    let now = now_ms();
    ConversationRow {
        number: 0,
        root_id: id.clone(),
        id,
        owner,
        title: None,
        session_id: None,
        parent_id: None,
        settings: settings.to_json(),
        is_archived: false,
        state: ConversationState::default(),
        excerpt: None,
        log_bytes: 0,
        created_at_ms: now,
        last_activity_at_ms: now,
    }
}

/// A row as the body of a response.
pub(crate) fn conversation_body(row: ConversationRow) -> ConversationBody {
    let settings = Settings::of(&row);
    ConversationBody {
        id: row.id,
        title: row.title,
        owner: row.owner,
        session_id: row.session_id,
        model: settings.model,
        approval_policy: settings.approval_policy,
        mode: settings.mode,
        instructions: settings.instructions,
        parent_id: row.parent_id,
        is_archived: row.is_archived,
        wakes: settings.wakes,
        web_search: settings.web_search,
        mcp_servers: mcp_servers::bodies(settings.mcp_servers),
        is_running: row.state.is_running,
        is_waiting: row.state.is_waiting,
        created_at: Timestamp(row.created_at_ms),
        last_activity_at: Timestamp(row.last_activity_at_ms),
        excerpt: row.excerpt,
    }
}
