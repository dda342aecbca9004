//! OAuth grants: rows and the interface for the gateway.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::{Role, StoreError};

/// What a person allowed a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantRow {
    /// The id of the grant; unique.
    pub id: String,
    /// The person.
    pub owner: String,
    /// The role of the client's token.
    pub role: Role,
    /// SHA-256 of the client's id.
    pub client_id_hash: [u8; 32],
    /// What the client calls itself.
    pub client_name: String,
    /// The scopes of the client's token.
    pub scopes: Vec<String>,
    /// Where the code was sent.
    pub redirect_uri: String,
    /// The challenge of PKCE, by S256.
    pub challenge: String,
    /// SHA-256 of the code.
    pub code_hash: [u8; 32],
    /// When the code expires.
    pub code_expires_at_ms: u64,
    /// The API token of the client; `None` until the code is redeemed.
    pub token_id: Option<String>,
    /// SHA-256 of the valid refresh token.
    pub refresh_hash: Option<[u8; 32]>,
    /// SHA-256 of the refresh token before it. If it is used again, one of its two users has stolen it.
    pub used_refresh_hash: Option<[u8; 32]>,
    /// When the person gave it.
    pub created_at_ms: u64,
    /// When it ends, unless it is renewed before.
    pub expires_at_ms: u64,
}

/// The next refresh token of a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrantRenewal {
    /// SHA-256 of the new refresh token.
    pub refresh_hash: [u8; 32],
    /// The time of the request.
    pub at_ms: u64,
    /// When the grant ends, unless it is renewed before.
    pub expires_at_ms: u64,
}

/// Storage of OAuth grants.
#[async_trait]
pub trait Grants: Send + Sync + Debug {
    /// Adds a grant. Removes all expired ones, and the oldest ones of its owner beyond `keep`.
    async fn put_grant(&self, row: &GrantRow, keep: u32) -> Result<(), StoreError>;

    /// The grant with this code, even if the code was redeemed or has expired.
    async fn grant_by_code(&self, code_hash: &[u8; 32]) -> Result<Option<GrantRow>, StoreError>;

    /// The grant whose valid refresh token this is, or was before the last renewal.
    async fn grant_by_refresh(&self, refresh_hash: &[u8; 32]) -> Result<Option<GrantRow>, StoreError>;

    /// Redeems the code of a grant. Of any number of parallel calls at most one returns true.
    async fn redeem_grant(&self, id: &str, token_id: &str, first: &GrantRenewal) -> Result<bool, StoreError>;

    /// Replaces a refresh token. Of any number of parallel calls with one token at most one returns true.
    async fn renew_grant(&self, id: &str, used: &[u8; 32], next: &GrantRenewal) -> Result<bool, StoreError>;

    /// Removes a grant. Returns false if it does not exist.
    async fn remove_grant(&self, id: &str) -> Result<bool, StoreError>;
}
