//! Users, tokens and members in the form of the API, and the rules for their names.

use headwater_protocol::SessionId;
use headwater_protocol::api::Timestamp;
use headwater_store::{PageRequest, Role, SessionFilter, SessionRole, Store, StoreError, TokenRow, UserRow};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::auth::{FIRST_OWNER, Identity};
use crate::error::ApiError;
use crate::state::Gateway;

/// The role of a user or token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RoleName {
    /// May do everything, even with objects of other owners.
    Admin,
    /// May do everything with their own objects.
    Member,
    /// May read their own objects.
    Reader,
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Self {
        match name {
            RoleName::Admin => Self::Admin,
            RoleName::Member => Self::Member,
            RoleName::Reader => Self::Reader,
        }
    }
}

impl From<Role> for RoleName {
    fn from(role: Role) -> Self {
        match role {
            Role::Admin => Self::Admin,
            Role::Member => Self::Member,
            Role::Reader => Self::Reader,
        }
    }
}

/// The role of a member of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MemberRole {
    /// May read the session.
    Viewer,
    /// May read, start, change and end.
    Editor,
}

impl From<MemberRole> for SessionRole {
    fn from(role: MemberRole) -> Self {
        match role {
            MemberRole::Viewer => Self::Viewer,
            MemberRole::Editor => Self::Editor,
        }
    }
}

impl From<SessionRole> for MemberRole {
    fn from(role: SessionRole) -> Self {
        match role {
            SessionRole::Viewer => Self::Viewer,
            SessionRole::Editor => Self::Editor,
        }
    }
}

/// Whether sessions, running or ended, belong to this name: sessions of a deleted user, of tokens, or of an
/// external issuer. A new user of this name would get access to them.
pub async fn owns_sessions(store: &dyn Store, name: &str) -> Result<bool, StoreError> {
    let filter = SessionFilter { owner: Some(name.to_owned()), ..SessionFilter::default() };
    Ok(!store.sessions(&filter, PageRequest::first(1)).await?.items.is_empty())
}

/// A user as the API returns it, without the password.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UserBody {
    /// `usr_` and 32 hexadecimal digits.
    id: String,
    /// The name in lower case. It is the owner of everything that belongs to the user.
    name: String,
    #[schema(inline)]
    role: RoleName,
    /// Whether the user and all of its tokens are refused.
    disabled: bool,
    /// Whether the user can sign in with a password.
    has_password: bool,
    created_at: Timestamp,
}

impl From<UserRow> for UserBody {
    fn from(row: UserRow) -> Self {
        Self {
            id: row.id,
            name: row.name,
            role: row.role.into(),
            disabled: row.disabled,
            has_password: row.password.is_some(),
            created_at: Timestamp(row.created_at_ms),
        }
    }
}

/// A token, without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[schema(examples(json!({"id": "tok_0123456789abcdef", "name": "ci", "owner": "ann", "role": "member",
    "created_at": "2026-01-02T03:04:05.678Z", "token": "hw_..."})))]
pub(crate) struct TokenBody {
    /// `tok_` and 32 hexadecimal digits.
    id: String,
    /// A name for people; it need not be unique.
    name: String,
    /// The owner of everything that is created with the token.
    owner: String,
    #[schema(inline)]
    role: RoleName,
    /// The sessions that the token may use; all if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<Vec<String>>,
    /// The actions that the token may perform; all that its role allows if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    scopes: Option<Vec<String>>,
    created_at: Timestamp,
    /// When the token stops working; absent if it does not expire.
    expires_at: Option<Timestamp>,
    /// When the token was revoked; absent while it works.
    revoked_at: Option<Timestamp>,
    /// The time of the last use, accurate to a minute.
    last_used_at: Option<Timestamp>,
    /// The token that the client sends. It is returned once, when the token is created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
}

impl From<TokenRow> for TokenBody {
    fn from(row: TokenRow) -> Self {
        Self {
            id: row.id,
            name: row.name,
            owner: row.owner,
            role: row.role.into(),
            sessions: row.sessions.map(|list| list.iter().map(SessionId::to_string).collect()),
            scopes: row.scopes,
            created_at: Timestamp(row.created_at_ms),
            expires_at: row.expires_at_ms.map(Timestamp),
            revoked_at: row.revoked_at_ms.map(Timestamp),
            last_used_at: row.last_used_at_ms.map(Timestamp),
            token: None,
        }
    }
}

/// Checks the name of a new user and returns it in lower case.
pub fn user_name(text: &str) -> Result<String, String> {
    let name = text.to_lowercase();
    let can_begin = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let can_follow = |byte: u8| can_begin(&byte) || b"._@+-".contains(&byte);
    if !(1..=64).contains(&name.len())
        || !name.as_bytes().first().is_some_and(can_begin)
        || !name.bytes().all(can_follow)
    {
        let rule = "a user name has 1 to 64 letters, digits and `._@+-`, and begins with a letter or digit";
        return Err(rule.into());
    }
    if name == FIRST_OWNER {
        return Err(format!("`{FIRST_OWNER}` is the owner of the first token: choose another name"));
    }
    Ok(name)
}

/// Whether a text can be the name of an owner.
fn is_owner(text: &str) -> bool {
    !text.is_empty() && text.len() <= 255 && !text.chars().any(char::is_control)
}

impl Gateway {
    /// Finds a user by id or name.
    pub(crate) async fn find_user(&self, text: &str) -> Result<Option<UserRow>, ApiError> {
        Ok(if text.starts_with("usr_") {
            self.store.user(text).await?
        } else {
            self.store.user_by_name(&text.to_lowercase()).await?
        })
    }

    /// The name of the member that this text refers to: a user, by id or name, or any owner of tokens.
    pub(crate) async fn member_name(&self, text: &str) -> Result<String, ApiError> {
        if let Some(user) = self.find_user(text).await? {
            return Ok(user.name);
        }
        if is_owner(text) && !text.starts_with("usr_") && !text.starts_with("link:") {
            return Ok(text.to_owned());
        }
        Err(ApiError::not_found("user", text))
    }

    /// The expiry of a credential that a caller creates: no later than that of the caller's own token.
    pub(crate) fn latest_end(who: &Identity, wanted_ms: Option<u64>) -> Option<u64> {
        match (wanted_ms, who.bounds.expires_at_ms) {
            (Some(wanted), Some(own)) => Some(wanted.min(own)),
            (one, other) => one.or(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_case_does_not_matter() {
        assert_eq!(user_name("Ann.B@example.org").unwrap(), "ann.b@example.org");
        for bad in ["", "-a", "a b", "a/b", "ä", "admin", "ADMIN", "a:b", "a\n", &"a".repeat(65)] {
            assert!(user_name(bad).is_err(), "{bad:?}");
        }
    }
}
