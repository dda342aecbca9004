//! Who else may use a session, as the gateway sees it.

use std::fmt::{self, Debug};
use std::str::FromStr;

use async_trait::async_trait;
use headwater_protocol::SessionId;
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// What somebody who is not its owner may do with a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionRole {
    /// Look.
    Viewer,
    /// Look and change, start and end what runs in it.
    Editor,
}

/// Why a text is not a role in a session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a role in a session: choose `viewer` or `editor`")]
pub struct UnknownSessionRole(String);

impl SessionRole {
    /// The name on the wire and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Editor => "editor",
        }
    }
}

impl fmt::Display for SessionRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SessionRole {
    type Err = UnknownSessionRole;

    fn from_str(text: &str) -> Result<Self, UnknownSessionRole> {
        let found = [Self::Viewer, Self::Editor].into_iter().find(|role| role.name() == text);
        found.ok_or_else(|| UnknownSessionRole(text.chars().take(64).collect()))
    }
}

/// A member of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberRow {
    /// Of which session.
    pub session_id: SessionId,
    /// Who, as in `owner`.
    pub member: String,
    /// What they may do.
    pub role: SessionRole,
    /// Since when.
    pub added_at_ms: u64,
}

/// A link to a session, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareRow {
    /// `shr_` and 32 hexadecimal digits.
    pub id: String,
    /// To which session.
    pub session_id: SessionId,
    /// What whoever has it may do.
    pub role: SessionRole,
    /// SHA-256 of the secret; unique.
    pub hash: [u8; 32],
    /// Who made it.
    pub made_by: String,
    /// When.
    pub created_at_ms: u64,
    /// From when on it is refused.
    pub expires_at_ms: u64,
    /// When it was taken back, if it was.
    pub revoked_at_ms: Option<u64>,
}

/// What is remembered of members and links. All of a session's go with it.
#[async_trait]
pub trait Shares: Send + Sync + Debug {
    /// Adds a member, or gives it another role. Its session must be there: else [`StoreError::Conflict`].
    async fn put_member(&self, row: &MemberRow) -> Result<(), StoreError>;

    /// This member of a session.
    async fn member(&self, session: SessionId, member: &str) -> Result<Option<MemberRow>, StoreError>;

    /// All members of a session, by name.
    async fn members(&self, session: SessionId) -> Result<Vec<MemberRow>, StoreError>;

    /// Removes a member. Answers false if there is none.
    async fn remove_member(&self, session: SessionId, member: &str) -> Result<bool, StoreError>;

    /// Adds a link. Its session must be there, and its hash not: else [`StoreError::Conflict`].
    async fn put_share(&self, row: &ShareRow) -> Result<(), StoreError>;

    /// The link of this hash, also if it has expired or was revoked: the caller judges.
    async fn share_by_hash(&self, hash: &[u8; 32]) -> Result<Option<ShareRow>, StoreError>;

    /// All links of a session, the oldest first.
    async fn shares(&self, session: SessionId) -> Result<Vec<ShareRow>, StoreError>;

    /// Takes a link back. Answers false, and changes nothing, if that was done before or if there is no such link.
    async fn revoke_share(&self, session: SessionId, id: &str, at_ms: u64) -> Result<bool, StoreError>;
}
