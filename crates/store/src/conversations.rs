//! Conversations and their logs, members and links: rows and the interface for the gateway.

use std::fmt::Debug;

use async_trait::async_trait;
use headwater_protocol::SessionId;
use headwater_protocol::conversation::{ConversationId, LogEntry};
use serde_json::Value;

use crate::{Page, PageRequest, SessionRole, StoreError};

/// A conversation, without its log.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationRow {
    /// Its number, by which its log is found. It is ignored when the row is added.
    pub number: i64,
    /// Its id, which its creator may have chosen.
    pub id: ConversationId,
    /// The owner, who may see it.
    pub owner: String,
    /// The title, if it has one.
    pub title: Option<String>,
    /// The session that the agent works in, once there is one.
    pub session_id: Option<SessionId>,
    /// The conversation whose agent started this one for a sub-agent.
    pub parent_id: Option<ConversationId>,
    /// The conversation of a person at the top: this one, if it has no parent.
    pub root_id: ConversationId,
    /// How the agent works, as the gateway describes it.
    pub settings: Value,
    /// Whether it was put aside.
    pub is_archived: bool,
    /// What its log says.
    pub state: ConversationState,
    /// The beginning of the last message.
    pub excerpt: Option<String>,
    /// Bytes that were appended to its log, without deltas.
    pub log_bytes: u64,
    /// When it was created.
    pub created_at_ms: u64,
    /// When somebody last wrote, or was asked something.
    pub last_activity_at_ms: u64,
}

/// What the log of a conversation says, for lists and for the next start of the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConversationState {
    /// A turn runs.
    pub is_running: bool,
    /// A person is asked.
    pub is_waiting: bool,
}

/// A change of a conversation. `None` leaves a field as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConversationChange {
    /// Another session.
    pub session_id: Option<SessionId>,
    /// Other settings.
    pub settings: Option<Value>,
    /// Whether it is put aside.
    pub is_archived: Option<bool>,
}

/// A filter for conversations. `None` means any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConversationFilter {
    /// Only conversations of this owner.
    pub owner: Option<String>,
    /// A member that is not the owner.
    pub member: Option<String>,
    /// Only this conversation.
    pub id: Option<ConversationId>,
    /// Only conversations of sub-agents of this one. Without it, there are none of sub-agents.
    pub parent_id: Option<ConversationId>,
    /// Whether they were put aside.
    pub is_archived: Option<bool>,
    /// Only conversations with all these words, or words that begin with them, in the title or in one message.
    pub text: Option<String>,
}

/// A member of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationMemberRow {
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The member's name, as in `owner`.
    pub member: String,
    /// What the member may do.
    pub role: SessionRole,
    /// When it was added.
    pub added_at_ms: u64,
}

/// A link to a conversation, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationShareRow {
    /// The id: `shr_` and 32 hexadecimal digits.
    pub id: String,
    /// The conversation that it gives access to.
    pub conversation_id: ConversationId,
    /// The role of everyone who has the link.
    pub role: SessionRole,
    /// SHA-256 of the secret; unique.
    pub hash: [u8; 32],
    /// The user who created it.
    pub made_by: String,
    /// When it was created.
    pub created_at_ms: u64,
    /// From when on the link is refused.
    pub expires_at_ms: u64,
    /// When it was revoked, if it was.
    pub revoked_at_ms: Option<u64>,
}

/// Storage of conversations.
#[async_trait]
pub trait Conversations: Send + Sync + Debug {
    /// Adds a conversation. Returns its number, or `None`, changing nothing, if the id exists.
    /// [`StoreError::Conflict`] if its parent does not exist.
    async fn put_conversation(&self, row: &ConversationRow) -> Result<Option<i64>, StoreError>;

    /// The conversation with this id.
    async fn conversation(&self, id: &ConversationId) -> Result<Option<ConversationRow>, StoreError>;

    /// Conversations, latest activity first.
    async fn conversations(
        &self,
        filter: &ConversationFilter,
        page: PageRequest,
    ) -> Result<Page<ConversationRow>, StoreError>;

    /// The conversations of the sub-agents of a conversation, oldest first.
    async fn child_conversations(&self, parent: &ConversationId) -> Result<Vec<ConversationId>, StoreError>;

    /// All conversations whose turn runs, oldest first.
    async fn running_conversations(&self) -> Result<Vec<ConversationId>, StoreError>;

    /// The number of conversations of an owner, without those of sub-agents.
    async fn count_conversations(&self, owner: &str) -> Result<u64, StoreError>;

    /// Changes a conversation. Returns false if it does not exist.
    async fn update_conversation(
        &self,
        id: &ConversationId,
        change: &ConversationChange,
    ) -> Result<bool, StoreError>;

    /// Removes a conversation with its log, members, links and sub-agents. Returns false if it does not exist.
    async fn remove_conversation(&self, id: &ConversationId) -> Result<bool, StoreError>;

    /// Appends to the log of the conversation with this number, all or nothing, and stores what the log says then.
    /// Title, excerpt and the texts that are searched follow from the entries. Deltas of parts that have ended are
    /// removed. [`StoreError::Conflict`] if the conversation does not exist, or if an entry with such a `seq` does.
    async fn append_conversation(
        &self,
        number: i64,
        entries: &[LogEntry],
        state: ConversationState,
    ) -> Result<(), StoreError>;

    /// The entries after a `seq` of the log of the conversation with this number, in order, at most `limit`.
    async fn conversation_log(
        &self,
        number: i64,
        after: u64,
        limit: u32,
    ) -> Result<Vec<LogEntry>, StoreError>;

    /// Adds a member, or changes its role. [`StoreError::Conflict`] if the conversation does not exist.
    async fn put_conversation_member(&self, row: &ConversationMemberRow) -> Result<(), StoreError>;

    /// All members of a conversation, by name.
    async fn conversation_members(
        &self,
        id: &ConversationId,
    ) -> Result<Vec<ConversationMemberRow>, StoreError>;

    /// A member of a conversation.
    async fn conversation_member(
        &self,
        id: &ConversationId,
        member: &str,
    ) -> Result<Option<ConversationMemberRow>, StoreError>;

    /// Removes a member. Returns false if there is none.
    async fn remove_conversation_member(&self, id: &ConversationId, member: &str)
    -> Result<bool, StoreError>;

    /// Adds a link. [`StoreError::Conflict`] if the conversation does not exist, or if the hash does.
    async fn put_conversation_share(&self, row: &ConversationShareRow) -> Result<(), StoreError>;

    /// The link with this hash, even if it has expired or was revoked: the caller checks that.
    async fn conversation_share_by_hash(
        &self,
        hash: &[u8; 32],
    ) -> Result<Option<ConversationShareRow>, StoreError>;

    /// All links of a conversation, oldest first.
    async fn conversation_shares(&self, id: &ConversationId)
    -> Result<Vec<ConversationShareRow>, StoreError>;

    /// Revokes a link. Returns false and changes nothing if it is revoked already or does not exist.
    async fn revoke_conversation_share(
        &self,
        id: &ConversationId,
        share: &str,
        at_ms: u64,
    ) -> Result<bool, StoreError>;
}
