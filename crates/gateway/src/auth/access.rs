//! Who may use which session and execution. Owners are looked up in the store once and then cached: they never change.
//! Memberships do, and are cached for a second.

use std::time::{Duration, Instant};

use headwater_protocol::api::ErrorCode;
use headwater_protocol::{ExecutionId, SessionId};
use headwater_store::{Role, SessionRole};

use super::bounded_cache::BoundedCache;
use super::{Auth, Identity, Need, Whose, authorise_on};
use crate::error::ApiError;

/// Cached sessions, executions and memberships, of each kind.
const CACHE_CAPACITY: usize = 50_000;
/// How long a membership is cached, and so how long it still counts after it ended.
const MEMBERSHIP_TTL: Duration = Duration::from_secs(1);

/// The facts about an execution that never change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExecutionInfo {
    pub(crate) session_id: SessionId,
    pub(crate) owner: String,
    /// The conversation that it belongs to, if any.
    pub(crate) conversation_id: Option<String>,
    /// When it was accepted, in milliseconds since 1970.
    pub(crate) queued_at_ms: u64,
}

/// Cached owners and memberships of sessions and executions.
#[derive(Debug)]
pub(crate) struct AccessCache {
    sessions: BoundedCache<SessionId, String>,
    executions: BoundedCache<ExecutionId, ExecutionInfo>,
    members: BoundedCache<(SessionId, String), (Option<SessionRole>, Instant)>,
}

impl Default for AccessCache {
    fn default() -> Self {
        Self {
            sessions: BoundedCache::new(CACHE_CAPACITY),
            executions: BoundedCache::new(CACHE_CAPACITY),
            members: BoundedCache::new(CACHE_CAPACITY),
        }
    }
}

/// Whether a role in a session is enough for `need`.
pub(crate) fn suffices(role: SessionRole, need: Need) -> bool {
    match need {
        Need::Read => true,
        Need::Write => role == SessionRole::Editor,
        Need::Own | Need::Admin => false,
    }
}

impl AccessCache {
    pub(crate) fn put_session(&self, id: SessionId, owner: String) {
        self.sessions.insert(id, owner);
    }

    pub(crate) fn put_execution(&self, id: ExecutionId, info: ExecutionInfo) {
        self.executions.insert(id, info);
    }

    pub(crate) fn forget_session(&self, id: SessionId) {
        self.sessions.remove(&id);
    }

    pub(crate) fn forget_member(&self, id: SessionId, member: &str) {
        self.members.remove(&(id, member.to_owned()));
    }

    pub(crate) fn forget_execution(&self, id: ExecutionId) {
        self.executions.remove(&id);
    }
}

impl Auth {
    /// Lets `who` use a session, or fails as if it did not exist; returns its owner.
    pub(crate) async fn may_use_session(
        &self,
        who: &Identity,
        need: Need,
        id: SessionId,
    ) -> Result<String, ApiError> {
        let missing = || ApiError::not_found("session", &id.to_string());
        let owner = self.session_owner(who, id).await?.ok_or_else(missing)?;
        self.may_use(who, need, &owner, id, missing).await?;
        Ok(owner)
    }

    /// Lets `who` follow an execution. A lossless reader can delay the program, so it needs the right to write.
    pub(crate) async fn may_follow(
        &self,
        who: &Identity,
        id: ExecutionId,
        lossless: bool,
    ) -> Result<(), ApiError> {
        self.may_use_execution(who, Need::Read, id).await?;
        if lossless {
            self.may_use_execution(who, Need::Write, id).await.map_err(|error| {
                error.hint("`lossless` makes the program wait for the reader; follow without it, or ask the owner for \
                            the right to write")
            })?;
        }
        Ok(())
    }

    /// Lets `who` use something inside a session of `owner`.
    async fn may_use(
        &self,
        who: &Identity,
        need: Need,
        owner: &str,
        session: SessionId,
        missing: impl FnOnce() -> ApiError,
    ) -> Result<(), ApiError> {
        let is_owner = owner == who.owner || who.role == Role::Admin;
        let shared = match who.bounds.link {
            // `authorise_on` checks that the session is the one the link is bound to.
            Some(role) => Some(role),
            None if is_owner => None,
            None => self.member_role(&who.owner, session).await?,
        };
        authorise_on(who, need, Whose { session: Some(session), shared, ..Whose::of(owner) }, missing)?;
        if shared.is_some() && who.bounds.link.is_none() {
            who.grants.add_session(session, need);
        }
        Ok(())
    }

    /// The role of a member of somebody else's session; `None` if they are not a member.
    pub(crate) async fn member_role(
        &self,
        who: &str,
        session: SessionId,
    ) -> Result<Option<SessionRole>, ApiError> {
        let key = (session, who.to_owned());
        if let Some((role, until)) = self.access.members.get(&key)
            && Instant::now() < until
        {
            return Ok(role);
        }
        let until = Instant::now() + MEMBERSHIP_TTL;
        let role = self.store.member(session, who).await?.map(|row| row.role);
        self.access.members.insert(key, (role, until));
        Ok(role)
    }

    async fn session_owner(&self, who: &Identity, id: SessionId) -> Result<Option<String>, ApiError> {
        if let Some(owner) = self.owner_of(id).await? {
            return Ok(Some(owner));
        }
        if who.role != Role::Admin {
            return Ok(None);
        }
        // The local command line may have created it since the gateway started.
        let owner = self.reconciler.adopt_session(id).await?.map(|row| row.owner);
        if let Some(owner) = &owner {
            self.access.put_session(id, owner.clone());
        }
        Ok(owner)
    }

    /// The owner of a session that the store knows.
    pub(crate) async fn owner_of(&self, id: SessionId) -> Result<Option<String>, ApiError> {
        if let Some(owner) = self.access.sessions.get(&id) {
            return Ok(Some(owner));
        }
        let owner = self.store.session(id).await?.map(|row| row.owner);
        if let Some(owner) = &owner {
            self.access.put_session(id, owner.clone());
        }
        Ok(owner)
    }

    /// Lets `who` use an execution, or fails as if it did not exist.
    pub(crate) async fn may_use_execution(
        &self,
        who: &Identity,
        need: Need,
        id: ExecutionId,
    ) -> Result<ExecutionInfo, ApiError> {
        let missing = || ApiError::not_found("execution", &id.to_string());
        let info = self.execution_info(who, id).await?.ok_or_else(missing)?;
        match self.may_use(who, need, &info.owner, info.session_id, missing).await {
            Err(error) if need == Need::Read && error.code == ErrorCode::NotFound => {
                if self.may_read_in_conversation(who, &info).await? { Ok(info) } else { Err(error) }
            }
            allowed => allowed.map(|()| info),
        }
    }

    async fn execution_info(
        &self,
        who: &Identity,
        id: ExecutionId,
    ) -> Result<Option<ExecutionInfo>, ApiError> {
        if let Some(info) = self.access.executions.get(&id) {
            return Ok(Some(info));
        }
        let mut row = self.store.execution(id).await?;
        if row.is_none() && who.role == Role::Admin {
            row = self.reconciler.adopt_execution(id).await?;
        }
        let info = row.map(|row| ExecutionInfo {
            session_id: row.session_id,
            owner: row.owner,
            conversation_id: row.conversation_id,
            queued_at_ms: row.queued_at_ms,
        });
        if let Some(info) = &info {
            self.access.put_execution(id, info.clone());
        }
        Ok(info)
    }
}
