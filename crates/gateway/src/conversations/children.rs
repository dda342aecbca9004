//! The conversations of sub-agents.

use std::sync::Arc;

use headwater_agent::{ChildSpec, Journal, first_title};
use headwater_protocol::conversation::{ConversationEvent, ConversationId, TitleSource};
use headwater_store::ConversationRow;

use super::create::{new_row, unwritten};
use super::limits::FIRST_TITLE_CHARS;
use super::place::ConversationPlace;
use super::{Live, Settings};
use crate::auth::Identity;
use crate::error::ApiError;

impl ConversationPlace {
    /// Creates the conversation of a sub-agent: of the same owner, in the same session, with the same settings.
    pub(super) async fn begin_child(
        &self,
        who: &Identity,
        child: ChildSpec,
    ) -> Result<Arc<dyn Journal>, ApiError> {
        let gateway = &self.gateway;
        let session = gateway.ensured_session(who, &self.row.id).await?;
        let mut settings = Settings::of(&self.row);
        if let Some(model) = &child.model {
            settings.model = Some(gateway.conversations.models.known(model)?);
        }
        let row = ConversationRow {
            session_id: Some(session.id),
            parent_id: Some(self.row.id.clone()),
            root_id: self.row.root_id.clone(),
            ..new_row(ConversationId::random(), self.row.owner.clone(), &settings)
        };
        gateway.store.put_conversation(&row).await?;
        let detail = format!("parent={} call={:?}", self.row.id, child.tool_call_id);
        gateway.audit.record(who, "conversation.create", row.id.to_string(), detail);
        let live = gateway.conversations.open(&row.id).await?;
        if let Some(title) = first_title(&child.nickname, FIRST_TITLE_CHARS) {
            // The parent's model has chosen the name.
            let named = ConversationEvent::TitleChanged { title, source: TitleSource::Model };
            let titled = live.append(vec![named]).await;
            titled.map_err(|error| unwritten(&error))?;
        }
        Ok(live)
    }

    /// The conversation of a sub-agent of this one.
    pub(super) async fn live_child(&self, id: &ConversationId) -> Result<Option<Arc<Live>>, ApiError> {
        match self.gateway.store.conversation(id).await? {
            Some(row) if row.parent_id.as_ref() == Some(&self.row.id) => {
                self.gateway.conversations.open(id).await.map(Some)
            }
            _ => Ok(None),
        }
    }
}
