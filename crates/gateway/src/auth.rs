//! Authentication and authorisation.
//!
//! [`guard`] runs before every handler: it assigns the request id, checks `Host` and `Origin`, finds the credential and
//! counts requests. [`Auth::identify`] finds the identity of a credential. [`authorise`] is the only place that decides
//! who may do what.

pub(crate) mod access;
mod authorise;
mod backoff;
mod bounded_cache;
pub(crate) mod conversations;
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

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use headwater_protocol::SessionId;
use headwater_protocol::api::ErrorCode;
use headwater_protocol::conversation::ConversationId;
use headwater_store::{Role, SessionRole, Store};

use self::access::AccessCache;
pub(crate) use self::authorise::{Need, Whose, authorise, authorise_metrics, authorise_on};
use self::backoff::LoginBackoff;
pub(crate) use self::cookie::{COOKIE, SECURE_COOKIE, cleared, set as set_cookie};
pub(crate) use self::credential::{Credential, Foreign};
pub(crate) use self::guard::{bearer, guard, too_many};
use self::identity_cache::IdentityCache;
pub use self::jwt::JwtError;
pub(crate) use self::jwt::Jwts;
pub(crate) use self::origin::{Origins, own_origin};
pub(crate) use self::password::Passwords;
pub use self::password::{PasswordError, check_password, hash_password};
pub(crate) use self::proxies::resolve_client;
use self::revocation::OpenStreams;
pub use self::scope::checked_scopes;
pub(crate) use self::scope::{Area, Scope, out_of_scope};
pub(crate) use self::tickets::{AT_START, LAST_EVENT_ID, LIFETIME as TICKET_LIFETIME, is_ticket};
pub(crate) use self::token::{FIRST_OWNER, LINK_PREFIX, PREFIX as TOKEN_PREFIX, hash, random_hex, secret};
pub use self::token::{FirstTokenError, NewToken, first_token, make_token};
use crate::background::Background;
use crate::config::Config;
use crate::error::ApiError;
use crate::executions::reconcile::Reconciler;

/// Failures to sign in with one name from one address before the first wait, and the longest wait.
const NAME_FAILURES: (u32, Duration) = (10, Duration::from_secs(5));
/// Failures from one address, with any names, before the first wait, and the longest wait. Many people may share an
/// address.
const ADDRESS_FAILURES: (u32, Duration) = (100, Duration::from_mins(1));

/// Who sends a request, and what they may do: credentials, identities, access, tickets and revocation.
#[derive(Debug)]
pub(crate) struct Auth {
    store: Arc<dyn Store>,
    /// Adopts sessions and executions that an operator asks for and the store does not know.
    reconciler: Arc<Reconciler>,
    background: Background,
    /// Identifies this process among all that have served this store.
    process: String,
    open_streams: OpenStreams,
    pub(crate) origins: Origins,
    pub(crate) jwts: Jwts,
    pub(crate) passwords: Passwords,
    /// Credentials that were looked up within the last second.
    pub(crate) identities: IdentityCache,
    /// Owners and members that were looked up.
    pub(crate) access: AccessCache,
    /// Failures to sign in from each address.
    pub(crate) address_backoff: LoginBackoff<IpAddr>,
    /// Failures to sign in with each name from each address.
    pub(crate) name_backoff: LoginBackoff<(String, IpAddr)>,
}

impl Auth {
    /// Authentication for a server that listens on `listens`.
    pub(crate) fn new(
        config: &Config,
        listens: SocketAddr,
        jwts: Jwts,
        store: Arc<dyn Store>,
        reconciler: Arc<Reconciler>,
        background: Background,
    ) -> Self {
        Self {
            store,
            reconciler,
            background,
            process: random_hex(),
            open_streams: OpenStreams::default(),
            origins: Origins::new(config, listens),
            jwts,
            passwords: Passwords::default(),
            identities: IdentityCache::default(),
            access: AccessCache::default(),
            address_backoff: LoginBackoff::new(ADDRESS_FAILURES.0, ADDRESS_FAILURES.1),
            name_backoff: LoginBackoff::new(NAME_FAILURES.0, NAME_FAILURES.1),
        }
    }
}

/// The sender of a request.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The owner that the credential acts for.
    pub owner: String,
    /// The role of the credential.
    pub role: Role,
    /// The id of the token, link or sign-in.
    pub token_id: String,
    /// The address of the client.
    pub address: IpAddr,
    /// The credential, which is looked up again while it has streams open.
    pub(crate) credential: Credential,
    /// What narrows the role down.
    pub(crate) bounds: Bounds,
    /// What this request uses as a member.
    pub(crate) grants: Grants,
}

impl Identity {
    /// The owner and the sessions whose objects lists show; `None` means all.
    pub(crate) fn list_filter(&self) -> (Option<String>, Option<Vec<SessionId>>) {
        let sees_all = self.role == Role::Admin || self.bounds.link.is_some();
        let owner = (!sees_all).then(|| self.owner.clone());
        (owner, self.bounds.sessions.as_deref().map(<[SessionId]>::to_vec))
    }
}

/// What narrows a credential down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// The only sessions that it may use.
    pub(crate) sessions: Option<Arc<[SessionId]>>,
    /// The only scopes that it has.
    pub(crate) scopes: Option<Arc<[Scope]>>,
    /// The only conversation that a link to a conversation is for. It is for no session.
    pub(crate) conversation: Option<ConversationId>,
    /// The role of a link in its one session or conversation; `None` if the credential is not a link.
    pub(crate) link: Option<SessionRole>,
    /// The id of the user, if a user signed in.
    pub(crate) user_id: Option<String>,
    /// When a token expires, if it does: what it creates expires no later.
    pub(crate) expires_at_ms: Option<u64>,
    /// The area of the API that this request uses.
    pub(crate) area: Area,
}

/// What a request uses as a member and not as the owner: its streams end with the membership.
#[derive(Debug, Clone, Default)]
pub(crate) struct Grants(Arc<Mutex<Vec<(Shared, Need)>>>);

/// Something that has members.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Shared {
    Session(SessionId),
    Conversation(ConversationId),
}

impl Grants {
    /// Adds a session with the right that was needed.
    pub(crate) fn add_session(&self, session: SessionId, need: Need) {
        self.add((Shared::Session(session), need));
    }

    /// Adds a conversation with the right that was needed.
    pub(crate) fn add_conversation(&self, conversation: ConversationId, need: Need) {
        self.add((Shared::Conversation(conversation), need));
    }

    fn add(&self, grant: (Shared, Need)) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.contains(&grant) {
            all.push(grant);
        }
    }

    /// Everything that was added.
    pub(crate) fn all(&self) -> Vec<(Shared, Need)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Identity {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        // The guard inserts it. Routes without the guard have no identity.
        parts.extensions.get::<Self>().cloned().ok_or_else(unauthenticated)
    }
}

/// No valid credential came with the request (401).
pub(crate) fn unauthenticated() -> ApiError {
    ApiError::new(
        ErrorCode::Unauthenticated,
        "no valid token came with this request",
        "send `Authorization: Bearer <token>`: an API token, or what `POST /v1/login` gives; the first token is in the \
         file `token` of the server's data folder",
    )
}
