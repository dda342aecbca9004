//! Kinds of credentials, recognised by their form, and what identifies each in the store.

use std::sync::Arc;

use headwater_store::Role;

use super::token::{hex, unhex};
use super::{Auth, LINK_PREFIX, hash, is_ticket};
use crate::error::ApiError;

/// A credential without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Credential {
    /// An API token, by its hash.
    Token([u8; 32]),
    /// A browser's cookie, by its hash.
    Cookie([u8; 32]),
    /// A link to a session, by its hash.
    Link([u8; 32]),
    /// A JWT of this server.
    SignIn {
        /// The sign-in that it was issued for.
        id: String,
        expires_at_ms: u64,
    },
    /// A JWT of another issuer.
    Foreign(Arc<Foreign>),
    /// None: the agent of a conversation acts for its owner. No request can show it.
    Agent,
}

/// The claims of a JWT of another issuer.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Foreign {
    /// SHA-256 of the whole text: signing out stores it to refuse the JWT.
    pub(crate) hash: [u8; 32],
    pub(crate) owner: String,
    pub(crate) role: Role,
    pub(crate) expires_at_ms: u64,
}

impl Credential {
    /// When it expires, if the credential itself says so.
    pub(super) fn expires_at_ms(&self) -> Option<u64> {
        match self {
            Self::SignIn { expires_at_ms, .. } => Some(*expires_at_ms),
            Self::Foreign(foreign) => Some(foreign.expires_at_ms),
            Self::Token(_) | Self::Cookie(_) | Self::Link(_) | Self::Agent => None,
        }
    }

    /// The text that is stored with a ticket.
    pub(super) fn to_text(&self) -> String {
        match self {
            Self::Token(hash) => format!("token:{}", hex(hash)),
            Self::Cookie(hash) => format!("cookie:{}", hex(hash)),
            Self::Link(hash) => format!("link:{}", hex(hash)),
            Self::SignIn { id, expires_at_ms } => format!("sign_in:{expires_at_ms}:{id}"),
            Self::Agent => "agent".to_owned(),
            Self::Foreign(foreign) => {
                let Foreign { hash, owner, role, expires_at_ms } = foreign.as_ref();
                format!("jwt:{expires_at_ms}:{}:{}:{owner}", role.name(), hex(hash))
            }
        }
    }

    /// Parses the text that is stored with a ticket.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        match kind {
            "token" => unhex(rest).map(Self::Token),
            "cookie" => unhex(rest).map(Self::Cookie),
            "link" => unhex(rest).map(Self::Link),
            "sign_in" => {
                let (expires_at_ms, id) = rest.split_once(':')?;
                Some(Self::SignIn { id: id.to_owned(), expires_at_ms: expires_at_ms.parse().ok()? })
            }
            "jwt" => {
                let mut parts = rest.splitn(4, ':');
                let expires_at_ms = parts.next()?.parse().ok()?;
                let role = parts.next()?.parse().ok()?;
                let hash = unhex(parts.next()?)?;
                let owner = parts.next()?.to_owned();
                Some(Self::Foreign(Arc::new(Foreign { hash, owner, role, expires_at_ms })))
            }
            _ => None,
        }
    }
}

impl Auth {
    /// The credential that a text is, by its form; whether it is valid is not checked. A ticket is not a credential: it
    /// stands for one on its stream only.
    pub(crate) async fn credential(&self, shown: &str) -> Result<Option<Credential>, ApiError> {
        if is_ticket(shown) {
            return Ok(None);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_that_was_stored_with_a_ticket_is_the_same_again() {
        let foreign = Foreign { hash: [5; 32], owner: "a:b c".into(), role: Role::Reader, expires_at_ms: 7 };
        for credential in [
            Credential::Token([1; 32]),
            Credential::Cookie([0xfe; 32]),
            Credential::Link([3; 32]),
            Credential::SignIn { id: "sgn_1".into(), expires_at_ms: 9 },
            Credential::Foreign(Arc::new(foreign)),
        ] {
            assert_eq!(Credential::from_text(&credential.to_text()), Some(credential));
        }
        for bad in [
            "",
            "token",
            "token:12",
            "token:zz",
            "sign_in:x:y",
            "jwt:1:reader:00",
            "other:1",
            "agent",
            "agent:",
        ] {
            assert_eq!(Credential::from_text(bad), None, "{bad}");
        }
    }
}
