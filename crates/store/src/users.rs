//! Users and their sign-ins, as the gateway sees them.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::{Page, PageRequest, Role, StoreError};

/// A user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRow {
    /// `usr_` and 32 hexadecimal digits.
    pub id: String,
    /// In lower case; unique. What belongs to the user has it as its owner.
    pub name: String,
    /// The password's hash, as a PHC string; none: no password signs in.
    pub password: Option<String>,
    /// The most that the user and its tokens may do.
    pub role: Role,
    /// Refused, with all tokens.
    pub disabled: bool,
    /// When it was made.
    pub created_at_ms: u64,
}

/// What is to change of a user: what is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserChange {
    /// Another hash.
    pub password: Option<String>,
    /// Another role.
    pub role: Option<Role>,
    /// Refused from now on, or taken again.
    pub disabled: Option<bool>,
    /// Ends all sign-ins besides.
    pub end_sign_ins: bool,
}

/// What a sign-in is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SignInKind {
    /// A refresh token, with the JWTs that were given for it.
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
    /// `sgn_` and 32 hexadecimal digits.
    pub id: String,
    /// What it is.
    pub kind: SignInKind,
    /// SHA-256 of the secret; unique.
    pub hash: [u8; 32],
    /// Whose, if it is a user's.
    pub user_id: Option<String>,
    /// The hash of the token or link that a cookie was given for, if it is not a user's.
    pub stands_for: Option<[u8; 32]>,
    /// When.
    pub created_at_ms: u64,
    /// From when on it is refused.
    pub expires_at_ms: u64,
}

/// What is remembered of users.
#[async_trait]
pub trait Users: Send + Sync + Debug {
    /// Adds a user. Answers false, and changes nothing, if its id or its name is there.
    async fn put_user(&self, row: &UserRow) -> Result<bool, StoreError>;

    /// The user of this id.
    async fn user(&self, id: &str) -> Result<Option<UserRow>, StoreError>;

    /// The user of this name, which is in lower case.
    async fn user_by_name(&self, name: &str) -> Result<Option<UserRow>, StoreError>;

    /// Users, the newest first.
    async fn users(&self, page: PageRequest) -> Result<Page<UserRow>, StoreError>;

    /// Changes a user. Answers false if there is none.
    async fn update_user(&self, id: &str, change: &UserChange) -> Result<bool, StoreError>;

    /// Removes a user with its sign-ins and memberships, and revokes its tokens and the links it made. Answers false if there is none.
    async fn remove_user(&self, row: &UserRow, at_ms: u64) -> Result<bool, StoreError>;

    /// Adds a sign-in. Two of one hash are a [`StoreError::Conflict`], and so is one of a user that is not there.
    async fn put_sign_in(&self, row: &SignInRow) -> Result<(), StoreError>;

    /// The sign-in of this id, also if it has expired.
    async fn sign_in(&self, id: &str) -> Result<Option<SignInRow>, StoreError>;

    /// The sign-in of this hash, also if it has expired.
    async fn sign_in_by_hash(&self, hash: &[u8; 32]) -> Result<Option<SignInRow>, StoreError>;

    /// The sign-in whose secret before the one it has now was of this hash.
    async fn sign_in_by_previous(&self, hash: &[u8; 32]) -> Result<Option<SignInRow>, StoreError>;

    /// Gives a sign-in another secret. Of many with one `from`, however parallel, exactly one is answered true.
    async fn rotate_sign_in(
        &self,
        id: &str,
        from: &[u8; 32],
        to: &[u8; 32],
        expires_at_ms: u64,
    ) -> Result<bool, StoreError>;

    /// Ends a sign-in. Answers false if there is none.
    async fn remove_sign_in(&self, id: &str) -> Result<bool, StoreError>;

    /// Ends all sign-ins of a user. Answers how many.
    async fn remove_sign_ins_of(&self, user_id: &str) -> Result<u64, StoreError>;

    /// Removes the sign-ins that expired before this time. Answers how many.
    async fn forget_sign_ins(&self, before_ms: u64) -> Result<u64, StoreError>;

    /// Notes when a token was used last.
    async fn touch_token(&self, id: &str, at_ms: u64) -> Result<(), StoreError>;
}
