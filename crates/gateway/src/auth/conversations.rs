//! Who may use which conversation, and the executions of a conversation that is shared.
//!
//! Members and links belong to the conversation of a person, and include those of its sub-agents. They may read the
//! executions of these conversations, and nothing else of the session.

use std::net::Ipv4Addr;

use headwater_protocol::conversation::ConversationId;
use headwater_store::{ConversationRow, ConversationShareRow, Role, SessionRole};

use super::access::ExecutionInfo;
use super::authorise::is_owner;
use super::{Auth, Bounds, Credential, Grants, Identity, Need, Whose, authorise_on};
use crate::error::ApiError;

impl Auth {
    /// Lets `who` use a conversation, or fails as if it did not exist; returns its row.
    pub(crate) async fn may_use_conversation(
        &self,
        who: &Identity,
        need: Need,
        id: &ConversationId,
    ) -> Result<ConversationRow, ApiError> {
        let row = self.store.conversation(id).await?.ok_or_else(|| no_conversation(id))?;
        let whose = Whose { conversation: Some(&row.root_id), ..Whose::of(&row.owner) };
        let shared = match who.bounds.link {
            // `authorise_on` checks that the conversation is the one the link is bound to.
            Some(role) => Some(role),
            None if is_owner(who, whose) => None,
            None => self.conversation_role(&who.owner, &row.root_id).await?,
        };
        authorise_on(who, need, Whose { shared, ..whose }, || no_conversation(id))?;
        if shared.is_some() && who.bounds.link.is_none() {
            who.grants.add_conversation(row.root_id.clone(), need);
        }
        Ok(row)
    }

    /// The role of a member of somebody else's conversation; `None` if they are not a member.
    pub(crate) async fn conversation_role(
        &self,
        who: &str,
        root: &ConversationId,
    ) -> Result<Option<SessionRole>, ApiError> {
        Ok(self.store.conversation_member(root, who).await?.map(|row| row.role))
    }

    /// Whether `who` may read an execution because it belongs to a conversation that they may read.
    pub(super) async fn may_read_in_conversation(
        &self,
        who: &Identity,
        info: &ExecutionInfo,
    ) -> Result<bool, ApiError> {
        // Other ids may be in the metadata of executions: there, any text is one.
        let Some(id) = info.conversation_id.as_ref().and_then(|id| id.parse().ok()) else { return Ok(false) };
        let Some(row) = self.store.conversation(&id).await? else { return Ok(false) };
        // Anybody can put any id into the metadata of their own executions.
        if row.owner != info.owner && row.session_id != Some(info.session_id) {
            return Ok(false);
        }
        Ok(self.may_use_conversation(who, Need::Read, &id).await.is_ok())
    }

    /// The identity that the agent of a conversation acts with: that of the conversation's owner, without the rights of an
    /// operator. `None` if the owner may not use the server any more.
    pub(crate) async fn agent_of(&self, row: &ConversationRow) -> Result<Option<Identity>, ApiError> {
        let role = self.role_of(&row.owner, Role::Member).await?;
        Ok(role.map(|role| Identity {
            owner: row.owner.clone(),
            role,
            token_id: format!("conversation:{}", row.id),
            address: Ipv4Addr::LOCALHOST.into(),
            credential: Credential::Agent,
            bounds: Bounds::default(),
            grants: Grants::default(),
        }))
    }

    /// The bounds and the role of a link to a conversation: no more than its creator has now. A creator that is not a user
    /// has only the roles of its tokens, and its links stay.
    pub(super) async fn conversation_link_role(
        &self,
        row: &ConversationShareRow,
    ) -> Result<Option<Role>, ApiError> {
        let granted = match row.role {
            SessionRole::Viewer => Role::Reader,
            SessionRole::Editor => Role::Member,
        };
        let Some(role) = self.role_of(&row.made_by, granted).await? else { return Ok(None) };
        let owner = self.store.conversation(&row.conversation_id).await?.map(|row| row.owner);
        let creator = self.store.user_by_name(&row.made_by.to_lowercase()).await?;
        // An operator created it for somebody else's conversation, and is no longer an operator.
        let is_still = creator.is_none_or(|user| user.role == Role::Admin)
            || owner.is_some_and(|owner| owner == row.made_by);
        Ok(is_still.then_some(role))
    }
}

/// The conversation does not exist or belongs to somebody else (404).
pub(crate) fn no_conversation(id: &ConversationId) -> ApiError {
    ApiError::not_found("conversation", id.as_str())
}
