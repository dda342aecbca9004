//! Whose sessions and executions are whose: looked up in the store once, then remembered. Owners never change.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use headwater_protocol::{ExecutionId, SessionId};
use headwater_store::Role;

use crate::auth::{Identity, Need, authorise};
use crate::error::ApiError;
use crate::state::Gateway;

/// What is remembered of each kind, in two generations: when the young one is full it becomes the old one.
const REMEMBERED: usize = 50_000;

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
        let owner = match self.known.sessions.get(&id) {
            Some(owner) => owner,
            None => {
                let stored = self.store.session(id).await?;
                // Perhaps the local command line has made it since the start.
                let row = if stored.is_none() && who.role == Role::Admin {
                    self.take_up_session(id).await?
                } else {
                    stored
                };
                let row = row.ok_or_else(missing)?;
                self.known.put_session(id, row.owner.clone());
                row.owner
            }
        };
        authorise(who, need, Some(&owner), missing)?;
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
        let known = match self.known.executions.get(&id) {
            Some(known) => known,
            None => {
                let stored = self.store.execution(id).await?;
                let row = if stored.is_none() && who.role == Role::Admin {
                    self.take_up_execution(id).await?
                } else {
                    stored
                };
                let row = row.ok_or_else(missing)?;
                let (session_id, owner, queued_at_ms) = (row.session_id, row.owner, row.queued_at_ms);
                let known = KnownExecution { session_id, owner, queued_at_ms };
                self.known.put_execution(id, known.clone());
                known
            }
        };
        authorise(who, need, Some(&known.owner), missing)?;
        Ok(known)
    }
}
