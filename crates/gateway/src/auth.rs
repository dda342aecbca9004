//! Who asks, and whether they may.
//!
//! [`guard`] stands before every door: it names the request, checks `Host` and `Origin`, finds the token and counts
//! requests. [`authorise`] is the one place that says who may do what to whose things.

mod good;
mod guard;
mod origin;
mod tickets;
mod token;

use std::net::IpAddr;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use headwater_store::Role;

pub(crate) use self::good::OpenTokens;
pub(crate) use self::guard::{COOKIE as TOKEN_COOKIE, guard, too_many};
pub(crate) use self::origin::Origins;
pub(crate) use self::tickets::{LIFETIME as TICKET_LIFETIME, Tickets};
pub(crate) use self::token::hash;
pub use self::token::{FirstTokenError, NewToken, first_token, make_token};
use crate::error::ApiError;

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Whom the token speaks for.
    pub owner: String,
    /// What it may do.
    pub role: Role,
    /// Which token.
    pub token_id: String,
    /// ... by its hash: what a ticket is looked up by again.
    pub token_hash: [u8; 32],
    /// From where.
    pub address: IpAddr,
}

/// What somebody wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Look.
    Read,
    /// Start, change, end.
    Write,
    /// See the server itself.
    Admin,
}

/// The one authorisation: whether this one may do this to what belongs to `owner`. `None`: it belongs to nobody yet.
/// Another's thing looks like one that is not there, so the caller's `missing` is the answer.
pub(crate) fn authorise(
    who: &Identity,
    need: Need,
    owner: Option<&str>,
    missing: impl FnOnce() -> ApiError,
) -> Result<(), ApiError> {
    if owner.is_some_and(|owner| owner != who.owner) && who.role != Role::Admin {
        return Err(missing());
    }
    match (need, who.role) {
        (_, Role::Admin) | (Need::Read, _) | (Need::Write, Role::Member) => Ok(()),
        (Need::Write, Role::Reader) => Err(ApiError::forbidden(
            "this token may look and not touch",
            "use a token of the role `member`: `headwater token create --role member`",
        )),
        (Need::Admin, _) => Err(ApiError::forbidden(
            "this is for the operator",
            "use a token of the role `admin`: `headwater token create --role admin`",
        )),
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
        "send `Authorization: Bearer <token>`; the first token is in the file `token` of the server's data folder",
    )
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn who(owner: &str, role: Role) -> Identity {
        let address = Ipv4Addr::LOCALHOST.into();
        Identity { owner: owner.into(), role, token_id: "tok_x".into(), token_hash: [0; 32], address }
    }

    fn status(who: &Identity, need: Need, owner: Option<&str>) -> u16 {
        let missing = || ApiError::not_found("session", "ses_x");
        authorise(who, need, owner, missing).map_or_else(|error| error.status.as_u16(), |()| 200)
    }

    #[test]
    fn who_may_do_what_to_whose_things() {
        let table = [
            (Role::Admin, "ann", [200, 200, 200]),
            (Role::Admin, "bob", [200, 200, 200]),
            (Role::Member, "ann", [200, 200, 403]),
            (Role::Member, "bob", [404, 404, 404]),
            (Role::Reader, "ann", [200, 403, 403]),
            (Role::Reader, "bob", [404, 404, 404]),
        ];
        for (role, owner, expected) in table {
            let ann = who("ann", role);
            let got = [Need::Read, Need::Write, Need::Admin].map(|need| status(&ann, need, Some(owner)));
            assert_eq!(got, expected, "{role} of ann, thing of {owner}");
        }
        assert_eq!(status(&who("ann", Role::Reader), Need::Write, None), 403);
        assert_eq!(status(&who("ann", Role::Member), Need::Write, None), 200);
    }
}
