//! The table of executions: running, and past ones whose logs are kept.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headwater_contract::KeyedLock;
use headwater_protocol::{ExecutionId, SessionId};

use crate::executions::execution::Execution;

/// All executions of a worker.
#[derive(Debug, Default)]
pub(crate) struct ExecutionTable {
    all: Mutex<HashMap<ExecutionId, Arc<Execution>>>,
    locks: KeyedLock<ExecutionId>,
}

impl ExecutionTable {
    fn all(&self) -> MutexGuard<'_, HashMap<ExecutionId, Arc<Execution>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock of a caller that starts an execution with this id: of two with the same id one starts it.
    pub(crate) async fn lock(&self, id: ExecutionId) -> impl Drop + Send + use<> {
        self.locks.lock(id).await
    }

    /// An execution was started, or found at the start of the worker.
    pub(crate) fn insert(&self, execution: Arc<Execution>) {
        self.all().insert(execution.id(), execution);
    }

    /// An execution, running or past.
    pub(crate) fn get(&self, id: ExecutionId) -> Option<Arc<Execution>> {
        self.all().get(&id).cloned()
    }

    /// All executions, or those of one session, oldest first.
    pub(crate) fn list(&self, session: Option<SessionId>) -> Vec<Arc<Execution>> {
        let all = self.all();
        let wanted = |execution: &&Arc<Execution>| session.is_none_or(|id| execution.session_id() == id);
        let mut wanted: Vec<_> = all.values().filter(wanted).map(Arc::clone).collect();
        drop(all);
        wanted.sort_by_key(|execution| (execution.record().queued_at_ms, execution.id()));
        wanted
    }

    /// The sessions that have executions.
    pub(crate) fn session_ids(&self) -> HashSet<SessionId> {
        self.all().values().map(|execution| execution.session_id()).collect()
    }

    /// Removes an execution. Returns whether this call removed it.
    pub(crate) fn remove(&self, id: ExecutionId) -> bool {
        self.all().remove(&id).is_some()
    }

    /// Removes all executions of a session.
    pub(crate) fn remove_of_session(&self, id: SessionId) {
        self.all().retain(|_, execution| execution.session_id() != id);
    }
}
