//! Members and links of sessions: rows and the interface for the gateway.

use std::fmt::{self, Debug};
use std::str::FromStr;

use async_trait::async_trait;
use headwater_protocol::SessionId;
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// The role of another user in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionRole {
    /// May read the session and everything in it.
    Viewer,
    /// May also change the session, and start and end executions in it.
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
    /// The session that it is a member of.
    pub session_id: SessionId,
    /// The member's name, as in `owner`.
    pub member: String,
    /// What the member may do.
    pub role: SessionRole,
    /// When it was added.
    pub added_at_ms: u64,
}

/// A link to a session, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareRow {
    /// The id: `shr_` and 32 hexadecimal digits.
    pub id: String,
    /// The session that it gives access to.
    pub session_id: SessionId,
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

/// Storage of members and links. They are removed with their session.
#[async_trait]
pub trait Shares: Send + Sync + Debug {
    /// Adds a member, or changes its role. [`StoreError::Conflict`] if the session does not exist.
    async fn put_member(&self, row: &MemberRow) -> Result<(), StoreError>;

    /// A member of a session.
    async fn member(&self, session: SessionId, member: &str) -> Result<Option<MemberRow>, StoreError>;

    /// All members of a session, by name.
    async fn members(&self, session: SessionId) -> Result<Vec<MemberRow>, StoreError>;

    /// Removes a member. Returns false if there is none.
    async fn remove_member(&self, session: SessionId, member: &str) -> Result<bool, StoreError>;

    /// Adds a link. [`StoreError::Conflict`] if the session does not exist, or if the hash does.
    async fn put_share(&self, row: &ShareRow) -> Result<(), StoreError>;

    /// The link with this hash, even if it has expired or was revoked: the caller checks that.
    async fn share_by_hash(&self, hash: &[u8; 32]) -> Result<Option<ShareRow>, StoreError>;

    /// All links of a session, oldest first.
    async fn shares(&self, session: SessionId) -> Result<Vec<ShareRow>, StoreError>;

    /// Revokes a link. Returns false and changes nothing if it is revoked already or does not exist.
    async fn revoke_share(&self, session: SessionId, id: &str, at_ms: u64) -> Result<bool, StoreError>;
}
