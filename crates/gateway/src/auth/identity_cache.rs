//! The identity of a credential, looked up in the store and cached for a second: a credential is refused a second after
//! it was revoked, even if another process revoked it.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater_store::{Role, SessionRole, ShareRow, SignInKind, SignInRow, TokenRow, UserRow};

use super::bounded_cache::BoundedCache;
use super::token::hex;
use super::{Auth, Bounds, Credential, FIRST_OWNER, Foreign, Grants, Identity};
use crate::error::ApiError;
use crate::now_ms;

/// How long a look-up is cached, and so how long a revoked credential is still accepted.
const CACHE_TTL: Duration = Duration::from_secs(1);
/// Cached credentials.
const CACHE_CAPACITY: usize = 10_000;
/// The time of a token's last use is written at most this often.
const LAST_USE_INTERVAL_MS: u64 = 60_000;

/// The identity of a credential, without the request that shows it.
#[derive(Debug, Clone)]
struct CachedIdentity {
    owner: String,
    role: Role,
    /// The id of the token, link or sign-in.
    id: String,
    bounds: Bounds,
    /// When the credential expires.
    ends_at_ms: Option<u64>,
}

/// Credentials that were looked up within the last second.
#[derive(Debug)]
pub(crate) struct IdentityCache(BoundedCache<Credential, (CachedIdentity, Instant)>);

impl Default for IdentityCache {
    fn default() -> Self {
        Self(BoundedCache::new(CACHE_CAPACITY))
    }
}

impl IdentityCache {
    fn get(&self, credential: &Credential, now: Instant) -> Option<CachedIdentity> {
        self.0.get(credential).filter(|(_, until)| now < *until).map(|(identity, _)| identity)
    }

    fn put(&self, credential: &Credential, identity: Option<&CachedIdentity>, now: Instant) {
        match identity {
            Some(identity) => self.0.insert(credential.clone(), (identity.clone(), now + CACHE_TTL)),
            None => self.0.remove(credential),
        }
    }

    /// Removes all entries, after a change that may affect any of them.
    pub(crate) fn clear(&self) {
        self.0.clear();
    }
}

impl Auth {
    /// The identity of a credential, if it is valid.
    pub(crate) async fn identify(
        &self,
        credential: &Credential,
        address: IpAddr,
    ) -> Result<Option<Identity>, ApiError> {
        let now = Instant::now();
        let found = if let Some(cached) = self.identities.get(credential, now) {
            Some(cached)
        } else {
            let found = self.look_up(credential).await?;
            self.identities.put(credential, found.as_ref(), now);
            found
        };
        let is_valid = |found: &CachedIdentity| found.ends_at_ms.is_none_or(|at| now_ms() < at);
        Ok(found.filter(is_valid).map(|found| Identity {
            owner: found.owner,
            role: found.role,
            token_id: found.id,
            address,
            credential: credential.clone(),
            bounds: found.bounds,
            grants: Grants::default(),
        }))
    }

    async fn look_up(&self, credential: &Credential) -> Result<Option<CachedIdentity>, ApiError> {
        match credential {
            Credential::Token(hash) => self.look_up_token(hash).await,
            Credential::Link(hash) => self.look_up_link(hash).await,
            Credential::Cookie(hash) => {
                let row = self.store.sign_in_by_hash(hash).await?;
                self.look_up_sign_in(row.filter(|row| row.kind == SignInKind::Cookie)).await
            }
            Credential::SignIn { id, expires_at_ms } => {
                let row = self.store.sign_in(id).await?;
                let found = self.look_up_sign_in(row.filter(|row| row.kind == SignInKind::Refresh)).await?;
                Ok(found.map(|found| CachedIdentity {
                    ends_at_ms: earlier(found.ends_at_ms, *expires_at_ms),
                    ..found
                }))
            }
            Credential::Foreign(foreign) => self.look_up_foreign(foreign).await,
            Credential::Agent => Ok(None),
        }
    }

    async fn look_up_token(&self, hash: &[u8; 32]) -> Result<Option<CachedIdentity>, ApiError> {
        let Some(row) = self.store.token_by_hash(hash).await?.filter(|row| row.revoked_at_ms.is_none())
        else {
            return Ok(None);
        };
        let Some(role) = self.role_of(&row.owner, row.role).await? else {
            return Ok(None);
        };
        self.record_use(&row);
        let scopes = row.scopes.map(|scopes| scopes.iter().filter_map(|text| text.parse().ok()).collect());
        let bounds = Bounds {
            sessions: row.sessions.map(Into::into),
            scopes,
            expires_at_ms: row.expires_at_ms,
            ..Bounds::default()
        };
        Ok(Some(CachedIdentity { owner: row.owner, role, id: row.id, bounds, ends_at_ms: row.expires_at_ms }))
    }

    /// Writes the time of a token's last use, in the background and at most once a minute.
    fn record_use(&self, row: &TokenRow) {
        let now = now_ms();
        if row.expires_at_ms.is_some_and(|at| at <= now)
            || row.last_used_at_ms.is_some_and(|at| now.saturating_sub(at) < LAST_USE_INTERVAL_MS)
        {
            return;
        }
        let (store, id) = (Arc::clone(&self.store), row.id.clone());
        self.background.tasks.spawn(async move {
            if let Err(error) = store.touch_token(&id, now).await {
                tracing::debug!(%error, "the last use of a token was not recorded");
            }
        });
    }

    async fn look_up_link(&self, hash: &[u8; 32]) -> Result<Option<CachedIdentity>, ApiError> {
        let Some(row) = self.store.share_by_hash(hash).await?.filter(|row| row.revoked_at_ms.is_none())
        else {
            return self.look_up_conversation_link(hash).await;
        };
        let Some(role) = self.link_role(&row).await? else {
            return Ok(None);
        };
        let link = if role == Role::Reader { SessionRole::Viewer } else { row.role };
        let bounds = Bounds {
            sessions: Some([row.session_id].into()),
            link: Some(link),
            expires_at_ms: Some(row.expires_at_ms),
            ..Bounds::default()
        };
        // No user can have this name: a link owns nothing.
        let owner = format!("link:{}", row.id);
        Ok(Some(CachedIdentity { owner, role, id: row.id, bounds, ends_at_ms: Some(row.expires_at_ms) }))
    }

    async fn look_up_conversation_link(&self, hash: &[u8; 32]) -> Result<Option<CachedIdentity>, ApiError> {
        let row = self.store.conversation_share_by_hash(hash).await?;
        let Some(row) = row.filter(|row| row.revoked_at_ms.is_none()) else { return Ok(None) };
        let Some(role) = self.conversation_link_role(&row).await? else { return Ok(None) };
        let bounds = Bounds {
            sessions: Some([].into()),
            conversation: Some(row.conversation_id),
            link: Some(if role == Role::Reader { SessionRole::Viewer } else { row.role }),
            expires_at_ms: Some(row.expires_at_ms),
            ..Bounds::default()
        };
        let owner = format!("link:{}", row.id);
        Ok(Some(CachedIdentity { owner, role, id: row.id, bounds, ends_at_ms: Some(row.expires_at_ms) }))
    }

    /// The role that a link still has: no more than its creator has now in that session. A creator that is not a user
    /// has only the roles of its tokens, and its links stay.
    async fn link_role(&self, row: &ShareRow) -> Result<Option<Role>, ApiError> {
        let granted = match row.role {
            SessionRole::Viewer => Role::Reader,
            SessionRole::Editor => Role::Member,
        };
        let Some(creator) = self.store.user_by_name(&row.made_by.to_lowercase()).await? else {
            return Ok(Some(granted));
        };
        if creator.disabled {
            return Ok(None);
        }
        let role = granted.at_most(creator.role);
        let owner = self.owner_of(row.session_id).await?;
        if creator.role == Role::Admin || owner.is_some_and(|owner| owner == row.made_by) {
            return Ok(Some(role));
        }
        // An operator created it for somebody else's session, and is no longer an operator.
        Ok(self.member_role(&row.made_by, row.session_id).await?.map(|member| match member {
            SessionRole::Viewer => Role::Reader,
            SessionRole::Editor => role,
        }))
    }

    async fn look_up_sign_in(&self, row: Option<SignInRow>) -> Result<Option<CachedIdentity>, ApiError> {
        let Some(row) = row else {
            return Ok(None);
        };
        let found = match (&row.user_id, &row.stands_for) {
            (Some(user), _) => self.store.user(user).await?.and_then(|user| user_identity(user, row.id)),
            (None, Some(hash)) => match self.look_up_token(hash).await? {
                Some(found) => Some(found),
                None => self.look_up_link(hash).await?,
            },
            (None, None) => None,
        };
        Ok(found.map(|found| CachedIdentity {
            ends_at_ms: earlier(found.ends_at_ms, row.expires_at_ms),
            ..found
        }))
    }

    async fn look_up_foreign(&self, foreign: &Foreign) -> Result<Option<CachedIdentity>, ApiError> {
        if self.store.sign_in_by_hash(&foreign.hash).await?.is_some() {
            return Ok(None); // it was signed out
        }
        // The owner of the first token is not a user of another issuer, unless that issuer gives the role `admin`.
        if foreign.owner == FIRST_OWNER && foreign.role != Role::Admin {
            return Ok(None);
        }
        let Some(role) = self.role_of(&foreign.owner, foreign.role).await? else {
            return Ok(None);
        };
        // The first half of the hash identifies the JWT for rate limits and cannot be used to look it up.
        let id = format!("jwt_{}", hex(&foreign.hash[..16]));
        let ends_at_ms = Some(foreign.expires_at_ms);
        Ok(Some(CachedIdentity {
            owner: foreign.owner.clone(),
            role,
            id,
            bounds: Bounds::default(),
            ends_at_ms,
        }))
    }

    /// The role of a credential of `owner`: no more than the role of the user, and none if the user is disabled. Owners
    /// need not be users.
    pub(super) async fn role_of(&self, owner: &str, role: Role) -> Result<Option<Role>, ApiError> {
        Ok(match self.store.user_by_name(&owner.to_lowercase()).await? {
            Some(user) if user.disabled => None,
            Some(user) => Some(role.at_most(user.role)),
            None => Some(role),
        })
    }
}

fn user_identity(user: UserRow, id: String) -> Option<CachedIdentity> {
    let bounds = Bounds { user_id: Some(user.id), ..Bounds::default() };
    (!user.disabled).then_some(CachedIdentity {
        owner: user.name,
        role: user.role,
        id,
        bounds,
        ends_at_ms: None,
    })
}

#[allow(clippy::unnecessary_wraps)] // as the field has it
fn earlier(one: Option<u64>, other: u64) -> Option<u64> {
    Some(one.map_or(other, |one| one.min(other)))
}
