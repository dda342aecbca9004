//! Rows: one type for each table, with the protocol's types inside.

use std::fmt;
use std::str::FromStr;

use headwater_protocol::{
    ExecutionId, LogRemoved, SandboxKind, Seq, SessionId, SessionSpec, StartSpec, Verdict,
};
use serde::{Deserialize, Serialize};

/// A row of the table `sessions`.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRow {
    /// The id of the session.
    pub id: SessionId,
    /// The owner, who may see it.
    pub owner: String,
    /// The spec that it was created with, including defaults.
    pub spec: SessionSpec,
    /// The isolation of the session.
    pub sandbox: SandboxKind,
    /// When it was handed out from the pool.
    pub created_at_ms: u64,
    /// When it ended, if it has.
    pub ended_at_ms: Option<u64>,
}

/// A row of the table `executions`.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecutionRow {
    /// The id of the execution.
    pub id: ExecutionId,
    /// The session that it runs in.
    pub session_id: SessionId,
    /// The owner, who may see it.
    pub owner: String,
    /// The conversation it belongs to, if it was started for one.
    pub conversation_id: Option<String>,
    /// The tool call that it belongs to, if any.
    pub tool_call_id: Option<String>,
    /// The language, if it runs source code.
    pub language: Option<String>,
    /// The spec that it was started with. The store omits the bytes of given input.
    pub spec: StartSpec,
    /// The position in the order of insertion, and so the cursor of lists and feeds. Assigned by the store.
    pub number: i64,
    /// When it was accepted.
    pub queued_at_ms: u64,
    /// How it ended, if it has.
    pub end: Option<ExecutionEnd>,
    /// When and why its log was removed, if it was.
    pub log_removed: Option<LogRemoved>,
}

/// The end of an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionEnd {
    /// The verdict. The first one wins.
    pub verdict: Verdict,
    /// When the program started; stored with the verdict.
    pub started_at_ms: u64,
    /// When the program exited; stored with the verdict.
    pub exited_at_ms: u64,
    /// The newest event of the log; never decreases.
    pub last_seq: Seq,
    /// Whether no writer is left; never becomes false again.
    pub closed: bool,
}

/// An idempotency key and the object that was created with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRow {
    /// The owner of the key; two owners may use the same key.
    pub owner: String,
    /// The key as the client chose it.
    pub key: String,
    /// SHA-256 of method, path and body: using the key for another request is an error of the client.
    pub request_hash: [u8; 32],
    /// The id that was chosen for the object: `ses_…` or `exe_…`.
    pub object: String,
    /// The session of a one-shot execution.
    pub session: Option<SessionId>,
    /// When it was claimed.
    pub created_at_ms: u64,
}

/// The result of claiming a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The key was free and is claimed now.
    New,
    /// The key was claimed before, with this row.
    Known(KeyRow),
}

/// The permissions of a token or a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Everything, including objects of others.
    Admin,
    /// Everything with the owner's objects.
    Member,
    /// Read-only access to the owner's objects.
    Reader,
}

/// Why a text is not a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a role: choose `admin`, `member` or `reader`")]
pub struct UnknownRole(String);

impl Role {
    /// All roles, most powerful first.
    pub const ALL: [Self; 3] = [Self::Admin, Self::Member, Self::Reader];

    /// The less powerful of two roles.
    #[must_use]
    pub const fn at_most(self, other: Self) -> Self {
        match (self, other) {
            (Self::Reader, _) | (_, Self::Reader) => Self::Reader,
            (Self::Member, _) | (_, Self::Member) => Self::Member,
            (Self::Admin, Self::Admin) => Self::Admin,
        }
    }

    /// The name on the wire and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Member => "member",
            Self::Reader => "reader",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        let found = Self::ALL.into_iter().find(|role| role.name() == text);
        found.ok_or_else(|| UnknownRole(text.chars().take(64).collect()))
    }
}

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// The id: `tok_` and 32 hexadecimal digits.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// The owner on whose behalf it acts.
    pub owner: String,
    /// What the token may do.
    pub role: Role,
    /// SHA-256 of the secret; unique.
    pub hash: [u8; 32],
    /// When it was created.
    pub created_at_ms: u64,
    /// When it expires, if ever.
    pub expires_at_ms: Option<u64>,
    /// When it was revoked, if it was.
    pub revoked_at_ms: Option<u64>,
    /// The only sessions that it may use; `None` means all.
    pub sessions: Option<Vec<SessionId>>,
    /// The only scopes that it has, such as `files:read`; `None` means all of its role.
    pub scopes: Option<Vec<String>>,
    /// When it was last used, to within a minute.
    pub last_used_at_ms: Option<u64>,
}

/// An entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// When it happened, in milliseconds since 1970.
    pub at_ms: u64,
    /// The user who acted.
    pub owner: String,
    /// The token that was used.
    pub token_id: String,
    /// The action, such as `execution.start`.
    pub action: String,
    /// The object of the action.
    pub object: String,
    /// The client's address.
    pub address: String,
    /// Details for people; never content.
    pub detail: String,
    /// The result: `ok`, `denied`, or an error code.
    pub result: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_has_one_name_everywhere() {
        for role in Role::ALL {
            assert_eq!(role.name().parse(), Ok(role));
            assert_eq!(role.to_string(), role.name());
            assert_eq!(serde_json::to_value(role).unwrap(), role.name());
        }
        let error = "root".parse::<Role>().unwrap_err();
        assert!(error.to_string().contains("choose `admin`"), "{error}");
    }
}
