//! The rows: one type for each table, with the protocol's own types inside.

use std::fmt;
use std::str::FromStr;

use headwater_protocol::{
    ExecutionId, LogRemoved, SandboxKind, Seq, SessionId, SessionSpec, StartSpec, Verdict,
};
use serde::{Deserialize, Serialize};

/// A session.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRow {
    /// Its name for programs.
    pub id: SessionId,
    /// Who may see it.
    pub owner: String,
    /// What was asked for, defaults filled in.
    pub spec: SessionSpec,
    /// Which walls stand around it.
    pub sandbox: SandboxKind,
    /// When it was handed out.
    pub created_at_ms: u64,
    /// When it ended, if it has.
    pub ended_at_ms: Option<u64>,
}

/// An execution.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecutionRow {
    /// Its name for programs.
    pub id: ExecutionId,
    /// Where it runs.
    pub session_id: SessionId,
    /// Who may see it.
    pub owner: String,
    /// The conversation it belongs to, if it was started for one.
    pub conversation_id: Option<String>,
    /// The call of a tool that it answers, if it does.
    pub tool_call_id: Option<String>,
    /// The language's name, if it runs source text.
    pub language: Option<String>,
    /// What was asked for. The store leaves out the bytes of a given stdin.
    pub spec: StartSpec,
    /// Its place in the order of insertion, and so the cursor of lists and feeds. Given by the store.
    pub number: i64,
    /// When it was accepted.
    pub queued_at_ms: u64,
    /// How it ended, if it has.
    pub end: Option<ExecutionEnd>,
    /// When and why its log was removed, if it was.
    pub log_removed: Option<LogRemoved>,
}

/// How an execution ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionEnd {
    /// The verdict. The first one wins.
    pub verdict: Verdict,
    /// When the program started; goes with the verdict.
    pub started_at_ms: u64,
    /// When the program ended; goes with the verdict.
    pub exited_at_ms: u64,
    /// The newest event of its log; never moves back.
    pub last_seq: Seq,
    /// No writer is left; never becomes false again.
    pub closed: bool,
}

/// An idempotency key and what was made under it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRow {
    /// Whose key; two owners may use the same.
    pub owner: String,
    /// As the caller chose it.
    pub key: String,
    /// SHA-256 of method, path and body: the same key with another request is the caller's mistake.
    pub request_hash: [u8; 32],
    /// The id that was chosen for what the request makes: `ses_…` or `exe_…`.
    pub object: String,
    /// The session that a one-shot execution was given.
    pub session: Option<SessionId>,
    /// When it was claimed.
    pub created_at_ms: u64,
}

/// Whether a key was free.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// It was, and now it is the claimer's.
    New,
    /// It was not: this is what the first claimer wrote.
    Known(KeyRow),
}

/// What a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// All, also what belongs to others.
    Admin,
    /// All with what is its owner's.
    Member,
    /// Look at what is its owner's.
    Reader,
}

/// Why a text is not a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a role: choose `admin`, `member` or `reader`")]
pub struct UnknownRole(String);

impl Role {
    /// All roles, the mightiest first.
    pub const ALL: [Self; 3] = [Self::Admin, Self::Member, Self::Reader];

    /// The less mighty of two.
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
    /// `tok_` and 32 hexadecimal digits.
    pub id: String,
    /// For people.
    pub name: String,
    /// Whom it speaks for.
    pub owner: String,
    /// What it may do.
    pub role: Role,
    /// SHA-256 of the secret; unique.
    pub hash: [u8; 32],
    /// When it was made.
    pub created_at_ms: u64,
    /// From when on it is refused, if ever.
    pub expires_at_ms: Option<u64>,
    /// When it was taken back, if it was.
    pub revoked_at_ms: Option<u64>,
    /// The only sessions that it may use, if it may not use all.
    pub sessions: Option<Vec<SessionId>>,
    /// What it may do, as in `files:read`, if it may not do all that its role may.
    pub scopes: Option<Vec<String>>,
    /// When it was used last, to within a minute.
    pub last_used_at_ms: Option<u64>,
}

/// One thing that somebody did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// When.
    pub at_ms: u64,
    /// Who.
    pub owner: String,
    /// With which token.
    pub token_id: String,
    /// What, as in `execution.start`.
    pub action: String,
    /// To which object.
    pub object: String,
    /// From where.
    pub address: String,
    /// More for people; never content.
    pub detail: String,
    /// How it ended: `ok`, `denied`, or the code of an error.
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
