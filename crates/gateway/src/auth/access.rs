//! Whose sessions and executions are whose: looked up in the store once, then remembered. Owners never change; members
//! do, and are believed for a second.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use headwater_protocol::{ExecutionId, SessionId};
use headwater_store::{Role, SessionRole};

use crate::auth::{Identity, Need, Whose, authorise_on};
use crate::error::ApiError;
use crate::state::Gateway;

/// What is remembered of each kind, in two generations: when the young one is full it becomes the old one.
const REMEMBERED: usize = 50_000;
/// How long it is believed who is a member: so long after a membership ended it still counts.
const MEMBER_MEMORY: Duration = Duration::from_secs(1);

/// What is known of an execution without asking anybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownExecution {
    pub(crate) session_id: SessionId,
    pub(crate) owner: String,
    /// When it was accepted, in milliseconds since 1970.
    pub(crate) queued_at_ms: u64,
}

#[derive(Debug)]
struct Memory<K, V>(Mutex<[HashMap<K, V>; 2]>);

impl<K, V> Default for Memory<K, V> {
    fn default() -> Self {
        Self(Mutex::new([HashMap::new(), HashMap::new()]))
    }
}

impl<K: Hash + Eq, V: Clone> Memory<K, V> {
    fn get(&self, key: &K) -> Option<V> {
        let memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        memory.iter().find_map(|generation| generation.get(key)).cloned()
    }

    fn put(&self, key: K, value: V) {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let [young, old] = &mut *memory;
        if young.len() >= REMEMBERED {
            *old = std::mem::take(young);
        }
        young.insert(key, value);
    }

    fn forget(&self, key: &K) {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for generation in &mut *memory {
            generation.remove(key);
        }
    }
}

/// What is known of sessions and executions.
#[derive(Debug, Default)]
pub(crate) struct Known {
    sessions: Memory<SessionId, String>,
    executions: Memory<ExecutionId, KnownExecution>,
    members: Memory<(SessionId, String), (Option<SessionRole>, Instant)>,
}

/// Whether a role in a session is enough for this.
pub(crate) fn suffices(role: SessionRole, need: Need) -> bool {
    match need {
        Need::Read => true,
        Need::Write => role == SessionRole::Editor,
        Need::Own | Need::Admin => false,
    }
}

impl Known {
    pub(crate) fn put_session(&self, id: SessionId, owner: String) {
        self.sessions.put(id, owner);
    }

    pub(crate) fn put_execution(&self, id: ExecutionId, known: KnownExecution) {
        self.executions.put(id, known);
    }

    pub(crate) fn forget_session(&self, id: SessionId) {
        self.sessions.forget(&id);
    }

    pub(crate) fn forget_member(&self, id: SessionId, member: &str) {
        self.members.forget(&(id, member.to_owned()));
    }

    pub(crate) fn forget_execution(&self, id: ExecutionId) {
        self.executions.forget(&id);
    }
}

impl Gateway {
    /// Lets `who` do this with that session, or answers as if it were not there; tells whose it is.
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

    /// Lets `who` follow that execution. A lossless reader can stop the program, so reading is not enough for it.
    pub(crate) async fn may_follow(
        self: &Arc<Self>,
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

    /// Lets `who` do this with what is in that session of `owner`.
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
            // A link is for the one session that it is bound to.
            Some(role) => Some(role),
            None if is_owner => None,
            None => self.member_role(&who.owner, session).await?,
        };
        authorise_on(who, need, Whose { owner, session: Some(session), shared }, missing)?;
        if shared.is_some() && who.bounds.link.is_none() {
            who.grants.add(session, need);
        }
        Ok(())
    }

    /// What somebody may do with a session of another, if they are a member of it.
    pub(crate) async fn member_role(
        &self,
        who: &str,
        session: SessionId,
    ) -> Result<Option<SessionRole>, ApiError> {
        let key = (session, who.to_owned());
        if let Some((role, until)) = self.known.members.get(&key)
            && Instant::now() < until
        {
            return Ok(role);
        }
        let until = Instant::now() + MEMBER_MEMORY;
        let role = self.store.member(session, who).await?.map(|row| row.role);
        self.known.members.put(key, (role, until));
        Ok(role)
    }

    /// Whose things this one sees in lists, and in which sessions: absent means all.
    pub(crate) fn sees(who: &Identity) -> (Option<String>, Option<Vec<SessionId>>) {
        let is_bounded = who.role == Role::Admin || who.bounds.link.is_some();
        let owner = (!is_bounded).then(|| who.owner.clone());
        (owner, who.bounds.sessions.as_deref().map(<[SessionId]>::to_vec))
    }

    async fn session_owner(&self, who: &Identity, id: SessionId) -> Result<Option<String>, ApiError> {
        if let Some(owner) = self.known.sessions.get(&id) {
            return Ok(Some(owner));
        }
        let mut row = self.store.session(id).await?;
        if row.is_none() && who.role == Role::Admin {
            // Perhaps the local command line has made it since the start.
            row = self.take_up_session(id).await?;
        }
        let owner = row.map(|row| row.owner);
        if let Some(owner) = &owner {
            self.known.put_session(id, owner.clone());
        }
        Ok(owner)
    }

    /// Whose session this is, if it is there.
    pub(crate) async fn owner_of(&self, id: SessionId) -> Result<Option<String>, ApiError> {
        if let Some(owner) = self.known.sessions.get(&id) {
            return Ok(Some(owner));
        }
        let owner = self.store.session(id).await?.map(|row| row.owner);
        if let Some(owner) = &owner {
            self.known.put_session(id, owner.clone());
        }
        Ok(owner)
    }

    /// The same for an execution; tells what is known of it.
    pub(crate) async fn may_use_execution(
        self: &Arc<Self>,
        who: &Identity,
        need: Need,
        id: ExecutionId,
    ) -> Result<KnownExecution, ApiError> {
        let missing = || ApiError::not_found("execution", &id.to_string());
        let known = self.known_execution(who, id).await?.ok_or_else(missing)?;
        self.may_use(who, need, &known.owner, known.session_id, missing).await?;
        Ok(known)
    }

    async fn known_execution(
        self: &Arc<Self>,
        who: &Identity,
        id: ExecutionId,
    ) -> Result<Option<KnownExecution>, ApiError> {
        if let Some(known) = self.known.executions.get(&id) {
            return Ok(Some(known));
        }
        let mut row = self.store.execution(id).await?;
        if row.is_none() && who.role == Role::Admin {
            row = self.take_up_execution(id).await?;
        }
        let known = row.map(|row| KnownExecution {
            session_id: row.session_id,
            owner: row.owner,
            queued_at_ms: row.queued_at_ms,
        });
        if let Some(known) = &known {
            self.known.put_execution(id, known.clone());
        }
        Ok(known)
    }
}
