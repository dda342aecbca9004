//! Users and their sign-ins: rows and the interface for the gateway.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::{Page, PageRequest, Role, StoreError};

/// A row of the table `users`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRow {
    /// The id: `usr_` and 32 hexadecimal digits.
    pub id: String,
    /// The name, in lower case; unique. It is the owner of the user's objects.
    pub name: String,
    /// The password's hash, as a PHC string; `None`: the user cannot sign in with a password.
    pub password: Option<String>,
    /// The highest role of the user and its tokens.
    pub role: Role,
    /// Whether the user is refused, with all tokens.
    pub disabled: bool,
    /// When it was created.
    pub created_at_ms: u64,
}

/// A change of a user; `None` leaves a field as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserChange {
    /// The new password hash.
    pub password: Option<String>,
    /// The new role.
    pub role: Option<Role>,
    /// Whether to disable or enable the user.
    pub disabled: Option<bool>,
    /// Whether to end all sign-ins, too.
    pub end_sign_ins: bool,
}

/// The kinds of sign-ins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SignInKind {
    /// A refresh token, with the JWTs issued for it.
    Refresh,
    /// A browser's cookie.
    Cookie,
    /// A JWT of another issuer that was signed out: refused until it would have expired.
    Refused,
}

impl SignInKind {
    const ALL: [Self; 3] = [Self::Refresh, Self::Cookie, Self::Refused];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Refresh => "refresh",
            Self::Cookie => "cookie",
            Self::Refused => "refused",
        }
    }

    pub(crate) fn from_name(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == text)
    }
}

/// A sign-in, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInRow {
    /// The id: `sgn_` and 32 hexadecimal digits.
    pub id: String,
    /// What the secret is: a refresh token, a cookie or a refused JWT.
    pub kind: SignInKind,
    /// SHA-256 of the secret; unique.
    pub hash: [u8; 32],
    /// The user, if it belongs to one.
    pub user_id: Option<String>,
    /// The hash of the token or link that a cookie was issued for, if it does not belong to a user.
    pub stands_for: Option<[u8; 32]>,
    /// When it was created.
    pub created_at_ms: u64,
    /// From when on it is refused.
    pub expires_at_ms: u64,
}

/// Storage of users and sign-ins.
#[async_trait]
pub trait Users: Send + Sync + Debug {
    /// Adds a user. Returns false and changes nothing if the id or the name exists.
    async fn put_user(&self, row: &UserRow) -> Result<bool, StoreError>;

    /// The user with this id.
    async fn user(&self, id: &str) -> Result<Option<UserRow>, StoreError>;

    /// The user with this name, which is in lower case.
    async fn user_by_name(&self, name: &str) -> Result<Option<UserRow>, StoreError>;

    /// Users, newest first.
    async fn users(&self, page: PageRequest) -> Result<Page<UserRow>, StoreError>;

    /// Changes a user. Returns false if it does not exist.
    async fn update_user(&self, id: &str, change: &UserChange) -> Result<bool, StoreError>;

    /// Removes a user with its sign-ins and memberships, and revokes its tokens and links. Returns false if
    /// it does not exist.
    async fn remove_user(&self, row: &UserRow, at_ms: u64) -> Result<bool, StoreError>;

    /// Adds a sign-in. [`StoreError::Conflict`] if the hash exists, or if the user does not.
    async fn put_sign_in(&self, row: &SignInRow) -> Result<(), StoreError>;

    /// The sign-in with this id, even if it has expired.
    async fn sign_in(&self, id: &str) -> Result<Option<SignInRow>, StoreError>;

    /// The sign-in with this hash, even if it has expired.
    async fn sign_in_by_hash(&self, hash: &[u8; 32]) -> Result<Option<SignInRow>, StoreError>;

    /// The sign-in whose previous secret has this hash.
    async fn sign_in_by_previous(&self, hash: &[u8; 32]) -> Result<Option<SignInRow>, StoreError>;

    /// Replaces the secret of a sign-in. Of any number of parallel calls with one `from`, exactly one returns
    /// true.
    async fn rotate_sign_in(
        &self,
        id: &str,
        from: &[u8; 32],
        to: &[u8; 32],
        expires_at_ms: u64,
    ) -> Result<bool, StoreError>;

    /// Ends a sign-in. Returns false if it does not exist.
    async fn remove_sign_in(&self, id: &str) -> Result<bool, StoreError>;

    /// Ends all sign-ins of a user. Returns how many.
    async fn remove_sign_ins_of(&self, user_id: &str) -> Result<u64, StoreError>;

    /// Removes the sign-ins that expired before this time. Returns how many.
    async fn forget_sign_ins(&self, before_ms: u64) -> Result<u64, StoreError>;

    /// Records when a token was last used.
    async fn touch_token(&self, id: &str, at_ms: u64) -> Result<(), StoreError>;
}
