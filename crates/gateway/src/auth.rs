//! Who asks, and whether they may.
//!
//! [`guard`] stands before every door: it names the request, checks `Host` and `Origin`, finds the credential and counts
//! requests. [`recall`] says whom a credential speaks for. [`authorise`] is the one place that says who may do what to
//! whose things.

pub(crate) mod access;
mod authorise;
mod backoff;
mod cookie;
mod cors;
mod credential;
mod guard;
mod identity_cache;
mod jwks;
mod jwt;
mod origin;
mod password;
mod proxies;
mod revocation;
mod scope;
mod tickets;
mod token;

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use headwater_protocol::SessionId;
use headwater_store::{Role, SessionRole};

pub(crate) use self::authorise::{Need, Whose, authorise, authorise_on};
pub(crate) use self::cookie::{cleared, set as set_cookie};
pub(crate) use self::credential::{Credential, Foreign};
pub(crate) use self::guard::{guard, too_many};
pub use self::jwt::JwtError;
pub(crate) use self::jwt::Jwts;
pub(crate) use self::origin::Origins;
pub(crate) use self::password::Passwords;
pub use self::password::{PasswordError, check_password, hash_password};
pub(crate) use self::scope::{Area, Scope};
pub(crate) use self::tickets::{AT_START, LIFETIME as TICKET_LIFETIME, is_ticket};
pub(crate) use self::token::{FIRST_OWNER, LINK_PREFIX, hash, random_hex, secret};
pub use self::token::{FirstTokenError, NewToken, first_token, make_token};
pub(crate) use crate::auth::backoff::Slow;
pub(crate) use crate::auth::identity_cache::Recalled;
pub(crate) use crate::auth::revocation::OpenStreams;
use crate::error::ApiError;

/// Who asks.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Whom the credential speaks for.
    pub owner: String,
    /// What it may do.
    pub role: Role,
    /// Which credential.
    pub token_id: String,
    /// From where.
    pub address: IpAddr,
    /// ... and how it is looked up again: what ended since then ends what it has open.
    pub(crate) credential: Credential,
    /// Within which bounds.
    pub(crate) bounds: Bounds,
    /// What it was let into as a member.
    pub(crate) grants: Grants,
}

/// What narrows a credential down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// The only sessions that it may use.
    pub(crate) sessions: Option<Arc<[SessionId]>>,
    /// The only things that it may do.
    pub(crate) scopes: Option<Arc<[Scope]>>,
    /// It is a link: what it may do with its one session.
    pub(crate) link: Option<SessionRole>,
    /// The user, if a user signed in.
    pub(crate) user_id: Option<String>,
    /// When a token ends, if it does: what it makes ends no later.
    pub(crate) expires_at_ms: Option<u64>,
    /// What this request is about.
    pub(crate) area: Area,
}

/// What a request was let into because somebody is a member, and not the owner: its streams end with the membership.
#[derive(Debug, Clone, Default)]
pub(crate) struct Grants(Arc<Mutex<Vec<(SessionId, Need)>>>);

impl Grants {
    /// Notes one.
    pub(crate) fn add(&self, session: SessionId, need: Need) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.contains(&(session, need)) {
            all.push((session, need));
        }
    }

    /// All so far.
    pub(crate) fn all(&self) -> Vec<(SessionId, Need)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Identity {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        // The guard put it there; a route that it does not stand before has no business with identities.
        parts.extensions.get::<Self>().cloned().ok_or_else(unauthenticated)
    }
}

/// Nobody that we know asks (401).
pub(crate) fn unauthenticated() -> ApiError {
    ApiError::new(
        StatusCode::UNAUTHORIZED,
        "unauthenticated",
        "no valid token came with this request",
        "send `Authorization: Bearer <token>`: an API token, or what `POST /v1/login` gives; the first token is in the \
         file `token` of the server's data folder",
    )
}
