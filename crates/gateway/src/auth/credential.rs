//! What a request shows, told apart by how it looks, and how each is looked up again.

use std::sync::Arc;
use std::time::Instant;

use headwater_store::Role;

use super::{LINK_PREFIX, Tickets, hash};
use crate::error::ApiError;
use crate::state::Gateway;

/// What speaks for somebody, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Credential {
    /// An API token, by its hash.
    Token([u8; 32]),
    /// A browser's cookie, by its hash.
    Cookie([u8; 32]),
    /// A link to a session, by its hash.
    Link([u8; 32]),
    /// A JWT of ours.
    SignIn {
        /// The sign-in that it was given for.
        id: String,
        /// Until when.
        expires_at_ms: u64,
    },
    /// A JWT of another issuer.
    Foreign(Arc<Foreign>),
}

/// What a JWT of another issuer says.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Foreign {
    /// The whole text, hashed: what signing out refuses.
    pub(crate) hash: [u8; 32],
    pub(crate) owner: String,
    pub(crate) role: Role,
    pub(crate) expires_at_ms: u64,
}

impl Gateway {
    /// What was shown, as far as it can be told without asking whether it is still good. A ticket is used up by this.
    pub(crate) async fn credential(&self, shown: &str) -> Result<Option<Credential>, ApiError> {
        if Tickets::looks_like(shown) {
            return Ok(self.tickets.redeem(shown, Instant::now()));
        }
        if shown.starts_with(LINK_PREFIX) {
            return Ok(Some(Credential::Link(hash(shown))));
        }
        if shown.contains('.') {
            return Ok(self.jwts.verify(shown).await);
        }
        Ok(Some(Credential::Token(hash(shown))))
    }
}
