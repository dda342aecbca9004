//! Whom a credential speaks for, looked up in the store and believed for a second: so long after it was revoked, also by
//! another process, it is refused.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use headwater_store::{Role, SessionRole, ShareRow, SignInKind, SignInRow, TokenRow, UserRow};

use super::token::hex;
use super::{Bounds, Credential, FIRST_OWNER, Foreign, Grants, Identity};
use crate::error::ApiError;
use crate::now_ms;
use crate::state::Gateway;

/// How long what was looked up is believed.
const MEMORY: Duration = Duration::from_secs(1);
/// Credentials remembered at once.
const REMEMBERED: usize = 10_000;
/// How often it is noted that a token is used.
const TOUCH_MS: u64 = 60_000;

/// Whom a credential speaks for.
#[derive(Debug, Clone)]
struct Known {
    owner: String,
    role: Role,
    id: String,
    bounds: Bounds,
    /// From when on it does no more.
    ends_at_ms: Option<u64>,
}

/// The credentials that were looked up lately.
#[derive(Debug, Default)]
pub(crate) struct Recalled(Mutex<HashMap<Credential, (Known, Instant)>>);

impl Recalled {
    fn get(&self, credential: &Credential, now: Instant) -> Option<Known> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(credential).filter(|(_, until)| now < *until).map(|(known, _)| known.clone())
    }

    fn put(&self, credential: &Credential, known: Option<&Known>, now: Instant) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= REMEMBERED {
            all.clear();
        }
        match known {
            Some(known) => all.insert(credential.clone(), (known.clone(), now + MEMORY)),
            None => all.remove(credential),
        };
    }

    /// Forgets all: something changed that may concern any of them.
    pub(crate) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Gateway {
    /// Who shows this credential, if it is good.
    pub(crate) async fn recall(
        &self,
        credential: &Credential,
        address: IpAddr,
    ) -> Result<Option<Identity>, ApiError> {
        let now = Instant::now();
        let known = if let Some(known) = self.recalled.get(credential, now) {
            Some(known)
        } else {
            let known = self.look_up(credential).await?;
            self.recalled.put(credential, known.as_ref(), now);
            known
        };
        let is_good = |known: &Known| known.ends_at_ms.is_none_or(|at| now_ms() < at);
        Ok(known.filter(is_good).map(|known| Identity {
            owner: known.owner,
            role: known.role,
            token_id: known.id,
            address,
            credential: credential.clone(),
            bounds: known.bounds,
            grants: Grants::default(),
        }))
    }

    async fn look_up(&self, credential: &Credential) -> Result<Option<Known>, ApiError> {
        match credential {
            Credential::Token(hash) => self.look_up_token(hash).await,
            Credential::Link(hash) => self.look_up_link(hash).await,
            Credential::Cookie(hash) => {
                let row = self.store.sign_in_by_hash(hash).await?;
                self.look_up_sign_in(row.filter(|row| row.kind == SignInKind::Cookie)).await
            }
            Credential::SignIn { id, expires_at_ms } => {
                let row = self.store.sign_in(id).await?;
                let known = self.look_up_sign_in(row.filter(|row| row.kind == SignInKind::Refresh)).await?;
                Ok(known
                    .map(|known| Known { ends_at_ms: earlier(known.ends_at_ms, *expires_at_ms), ..known }))
            }
            Credential::Foreign(foreign) => self.look_up_foreign(foreign).await,
        }
    }

    async fn look_up_token(&self, hash: &[u8; 32]) -> Result<Option<Known>, ApiError> {
        let Some(row) = self.store.token_by_hash(hash).await?.filter(|row| row.revoked_at_ms.is_none())
        else {
            return Ok(None);
        };
        let Some(role) = self.role_of(&row.owner, row.role).await? else {
            return Ok(None);
        };
        self.note_use(&row);
        let scopes = row.scopes.map(|scopes| scopes.iter().filter_map(|text| text.parse().ok()).collect());
        let bounds = Bounds {
            sessions: row.sessions.map(Into::into),
            scopes,
            expires_at_ms: row.expires_at_ms,
            ..Bounds::default()
        };
        Ok(Some(Known { owner: row.owner, role, id: row.id, bounds, ends_at_ms: row.expires_at_ms }))
    }

    /// Notes that a token is used, in the background and not all the time.
    fn note_use(&self, row: &TokenRow) {
        let now = now_ms();
        if row.expires_at_ms.is_some_and(|at| at <= now)
            || row.last_used_at_ms.is_some_and(|at| now.saturating_sub(at) < TOUCH_MS)
        {
            return;
        }
        let (store, id) = (Arc::clone(&self.store), row.id.clone());
        self.tasks.spawn(async move {
            if let Err(error) = store.touch_token(&id, now).await {
                tracing::debug!(%error, "the use of a token is not noted");
            }
        });
    }

    async fn look_up_link(&self, hash: &[u8; 32]) -> Result<Option<Known>, ApiError> {
        let Some(row) = self.store.share_by_hash(hash).await?.filter(|row| row.revoked_at_ms.is_none())
        else {
            return Ok(None);
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
        // Nobody is called so: it owns nothing.
        let owner = format!("link:{}", row.id);
        Ok(Some(Known { owner, role, id: row.id, bounds, ends_at_ms: Some(row.expires_at_ms) }))
    }

    /// What is left of a link: it is no mightier than whoever made it is now, in that session. A maker that is no user
    /// has no role but that of its tokens, and its links stay.
    async fn link_role(&self, row: &ShareRow) -> Result<Option<Role>, ApiError> {
        let said = match row.role {
            SessionRole::Viewer => Role::Reader,
            SessionRole::Editor => Role::Member,
        };
        let Some(maker) = self.store.user_by_name(&row.made_by.to_lowercase()).await? else {
            return Ok(Some(said));
        };
        if maker.disabled {
            return Ok(None);
        }
        let role = said.at_most(maker.role);
        let owner = self.owner_of(row.session_id).await?;
        if maker.role == Role::Admin || owner.is_some_and(|owner| owner == row.made_by) {
            return Ok(Some(role));
        }
        // An operator made it for another's session, and is none any more.
        Ok(self.member_role(&row.made_by, row.session_id).await?.map(|member| match member {
            SessionRole::Viewer => Role::Reader,
            SessionRole::Editor => role,
        }))
    }

    async fn look_up_sign_in(&self, row: Option<SignInRow>) -> Result<Option<Known>, ApiError> {
        let Some(row) = row else {
            return Ok(None);
        };
        let known = match (&row.user_id, &row.stands_for) {
            (Some(user), _) => self.store.user(user).await?.and_then(|user| user_known(user, row.id)),
            (None, Some(hash)) => match self.look_up_token(hash).await? {
                Some(known) => Some(known),
                None => self.look_up_link(hash).await?,
            },
            (None, None) => None,
        };
        Ok(known.map(|known| Known { ends_at_ms: earlier(known.ends_at_ms, row.expires_at_ms), ..known }))
    }

    async fn look_up_foreign(&self, foreign: &Foreign) -> Result<Option<Known>, ApiError> {
        if self.store.sign_in_by_hash(&foreign.hash).await?.is_some() {
            return Ok(None); // it was signed out
        }
        // Whoever has the first token is no user of another issuer, unless that issuer says so.
        if foreign.owner == FIRST_OWNER && foreign.role != Role::Admin {
            return Ok(None);
        }
        let Some(role) = self.role_of(&foreign.owner, foreign.role).await? else {
            return Ok(None);
        };
        // The beginning of a hash: enough to count by, too little to find anything.
        let id = format!("jwt_{}", hex(&foreign.hash[..16]));
        let ends_at_ms = Some(foreign.expires_at_ms);
        Ok(Some(Known { owner: foreign.owner.clone(), role, id, bounds: Bounds::default(), ends_at_ms }))
    }

    /// The role that is left of this one for what belongs to `owner`: no token is mightier than its user, and that of a
    /// disabled user is refused. Owners need not be users.
    async fn role_of(&self, owner: &str, role: Role) -> Result<Option<Role>, ApiError> {
        Ok(match self.store.user_by_name(&owner.to_lowercase()).await? {
            Some(user) if user.disabled => None,
            Some(user) => Some(role.at_most(user.role)),
            None => Some(role),
        })
    }
}

fn user_known(user: UserRow, id: String) -> Option<Known> {
    let bounds = Bounds { user_id: Some(user.id), ..Bounds::default() };
    (!user.disabled).then_some(Known { owner: user.name, role: user.role, id, bounds, ends_at_ms: None })
}

#[allow(clippy::unnecessary_wraps)] // as the field has it
fn earlier(one: Option<u64>, other: u64) -> Option<u64> {
    Some(one.map_or(other, |one| one.min(other)))
}
