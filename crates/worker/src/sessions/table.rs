//! The table of sessions: one entry with one state for each id.
//!
//! Every change of a state happens under the table's own lock, so that a session is never seen in two states or in none.
//! A caller that creates, resumes or ends a session holds [`SessionTable::lock`] of its id meanwhile. The table's lock is
//! taken before that of a session's record, never after it, and never held across I/O.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use headwater_contract::{Fault, FaultKind, KeyedLock};
use headwater_protocol::{LOCAL_OWNER, Session as SessionInfo, SessionId, SessionSpec};

use crate::layout::SessionRecord;
use crate::sessions::hibernation::Hibernated;
use crate::sessions::session::{self, Session};

/// All sessions of a worker.
#[derive(Debug, Default)]
pub(crate) struct SessionTable {
    entries: Mutex<Entries>,
    locks: KeyedLock<SessionId>,
    workspace_locks: KeyedLock<SessionId>,
}

#[derive(Debug, Default)]
struct Entries {
    all: HashMap<SessionId, Entry>,
    /// The ids of those that are live or hibernated: there can be very many ended ones, which periodic work passes over.
    active: BTreeSet<SessionId>,
}

#[derive(Debug)]
struct Entry {
    state: State,
    /// Each [`WorkspaceUse`] holds a clone.
    users: Arc<()>,
}

/// What has become of a session.
#[derive(Debug)]
enum State {
    /// It has an init, and programs can run in it.
    Live(Arc<Session>),
    /// Nothing runs in it, and its workspace is kept.
    Hibernated(Box<Hibernated>),
    /// It was ended while it was hibernated, and its workspace is being removed. Others see it as ended.
    Removing(Box<SessionRecord>),
    /// It has ended; its logs can be read.
    Ended(Box<SessionRecord>),
}

/// A session that has not ended.
#[derive(Debug)]
pub(crate) enum Active {
    /// Programs can run in it.
    Live(Arc<Session>),
    /// Nothing runs in it, and its workspace is kept.
    Hibernated(Box<Hibernated>),
}

/// Keeps the idle timeout from ending a session while its files are being used.
#[derive(Debug)]
pub(crate) struct WorkspaceUse(#[allow(dead_code)] Arc<()>); // counted, not read

impl State {
    const fn is_active(&self) -> bool {
        matches!(self, Self::Live(_) | Self::Hibernated(_))
    }

    fn info(&self) -> SessionInfo {
        match self {
            Self::Live(session) => session.info(),
            Self::Hibernated(hibernated) => hibernated.info(),
            Self::Removing(record) | Self::Ended(record) => session::info(record, 0),
        }
    }

    fn with_spec<T>(&self, read: impl FnOnce(&SessionSpec) -> T) -> T {
        match self {
            Self::Live(session) => read(&session.record().spec),
            Self::Hibernated(hibernated) => read(&hibernated.record.spec),
            Self::Removing(record) | Self::Ended(record) => read(&record.spec),
        }
    }
}

impl Entry {
    fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.users) > 1
    }

    fn is_expired(&self) -> bool {
        matches!(&self.state, State::Hibernated(hibernated) if hibernated.is_expired()) && !self.is_in_use()
    }

    /// The session's files are used: it is not idle, and what was measured of its disk use may be outdated.
    fn touch(&mut self) {
        match &mut self.state {
            State::Live(session) => session.touch(),
            State::Hibernated(hibernated) => {
                (hibernated.used_at, hibernated.disk_bytes) = (Instant::now(), None);
            }
            State::Removing(_) | State::Ended(_) => {}
        }
    }
}

impl Entries {
    fn set(&mut self, id: SessionId, state: State) {
        if state.is_active() {
            self.active.insert(id);
        } else {
            self.active.remove(&id);
        }
        match self.all.get_mut(&id) {
            Some(entry) => entry.state = state,
            None => drop(self.all.insert(id, Entry { state, users: Arc::default() })),
        }
    }

    fn get(&self, id: SessionId) -> Result<&Entry, Fault> {
        self.all.get(&id).ok_or_else(|| no_session(id))
    }

    /// Those that are live or hibernated.
    fn active(&self) -> impl Iterator<Item = (SessionId, &Entry)> {
        self.active.iter().filter_map(|id| Some((*id, self.all.get(id)?)))
    }

    /// Ends a hibernated session; its workspace has still to be removed.
    fn begin_removal(&mut self, id: SessionId, now_ms: u64) -> Option<SessionRecord> {
        let State::Hibernated(hibernated) = &self.all.get(&id)?.state else { return None };
        let record = SessionRecord { ended_at_ms: Some(now_ms), ..hibernated.record.clone() };
        self.set(id, State::Removing(Box::new(record.clone())));
        Some(record)
    }
}

impl SessionTable {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock of a caller that creates, resumes or ends this session.
    pub(crate) async fn lock(&self, id: SessionId) -> impl Drop + Send + use<> {
        self.locks.lock(id).await
    }

    /// The lock of a caller that changes this session's files.
    pub(crate) async fn lock_workspace(&self, id: SessionId) -> impl Drop + Send + use<> {
        self.workspace_locks.lock(id).await
    }

    // ---- transitions

    /// A session was created, taken over or resumed.
    pub(crate) fn set_live(&self, session: &Arc<Session>) {
        self.entries().set(session.id(), State::Live(Arc::clone(session)));
    }

    /// A session was hibernated, or found without an init.
    pub(crate) fn set_hibernated(&self, hibernated: Hibernated) {
        self.entries().set(hibernated.record.id, State::Hibernated(Box::new(hibernated)));
    }

    /// A session has ended, and nothing but its logs is left.
    pub(crate) fn set_ended(&self, record: SessionRecord) {
        self.entries().set(record.id, State::Ended(Box::new(record)));
    }

    /// Ends a session if it is hibernated. Its workspace has still to be removed; then it is [`Self::set_ended`].
    pub(crate) fn begin_removal(&self, id: SessionId, now_ms: u64) -> Option<SessionRecord> {
        self.entries().begin_removal(id, now_ms)
    }

    /// The same, if it has been hibernated for longer than its idle timeout and nobody uses its files.
    pub(crate) fn begin_removal_if_expired(&self, id: SessionId, now_ms: u64) -> Option<SessionRecord> {
        let mut entries = self.entries();
        if entries.all.get(&id).is_some_and(Entry::is_expired) {
            entries.begin_removal(id, now_ms)
        } else {
            None
        }
    }

    /// Removes sessions that have ended, and leaves others alone.
    pub(crate) fn remove_ended(&self, ids: &[SessionId]) {
        let mut entries = self.entries();
        for id in ids {
            if matches!(entries.all.get(id), Some(Entry { state: State::Ended(_), .. })) {
                entries.all.remove(id);
            }
        }
    }

    /// The record of a session that is hibernated has changed.
    pub(crate) fn update_hibernated(&self, record: SessionRecord) {
        if let Some(Entry { state: State::Hibernated(hibernated), .. }) =
            self.entries().all.get_mut(&record.id)
        {
            hibernated.record = record;
        }
    }

    /// A session's files were used just now.
    pub(crate) fn touch(&self, id: SessionId) {
        if let Some(entry) = self.entries().all.get_mut(&id) {
            entry.touch();
        }
    }

    /// The workspace of a hibernated session was measured. The result is dropped if its files were used since.
    pub(crate) fn note_disk_use(&self, measured: &Hibernated, bytes: (u64, u64)) {
        if let Some(Entry { state: State::Hibernated(hibernated), .. }) =
            self.entries().all.get_mut(&measured.record.id)
            && hibernated.used_at == measured.used_at
        {
            hibernated.disk_bytes = Some(bytes);
        }
    }

    // ---- look-ups

    /// A session, whatever its state.
    pub(crate) fn info(&self, id: SessionId) -> Result<SessionInfo, Fault> {
        Ok(self.entries().get(id)?.state.info())
    }

    /// Reads the spec of a session, whatever its state.
    pub(crate) fn with_spec<T>(
        &self,
        id: SessionId,
        read: impl FnOnce(&SessionSpec) -> T,
    ) -> Result<T, Fault> {
        Ok(self.entries().get(id)?.state.with_spec(read))
    }

    /// The owner of a session, whatever its state.
    pub(crate) fn owner(&self, id: SessionId) -> Arc<str> {
        self.with_spec(id, |spec| spec.owner().into()).unwrap_or_else(|_| LOCAL_OWNER.into())
    }

    /// Sessions, oldest first. With `brief` their environments and metadata, which can be large, are left out.
    pub(crate) fn list(&self, include_ended: bool, brief: bool) -> Vec<SessionInfo> {
        let shorten = |mut info: SessionInfo| {
            if brief {
                (info.spec.env, info.spec.metadata) = Default::default();
            }
            info
        };
        let entries = self.entries();
        let mut all: Vec<_> = if include_ended {
            entries.all.values().map(|entry| shorten(entry.state.info())).collect()
        } else {
            entries.active().map(|(_, entry)| shorten(entry.state.info())).collect()
        };
        all.sort_by_key(|session| (session.created_at_ms, session.id));
        all
    }

    /// A session in which programs can run now.
    pub(crate) fn live(&self, id: SessionId) -> Result<Arc<Session>, Fault> {
        match &self.entries().get(id)?.state {
            State::Live(session) => Ok(Arc::clone(session)),
            State::Hibernated(_) => {
                let fault = Fault::new(FaultKind::Conflict, format!("the session `{id}` is hibernated"));
                Err(fault.hint("start something in it: that resumes it"))
            }
            State::Removing(_) | State::Ended(_) => Err(has_ended(id)),
        }
    }

    /// A session that has not ended.
    pub(crate) fn active(&self, id: SessionId) -> Result<Active, Fault> {
        match &self.entries().get(id)?.state {
            State::Live(session) => Ok(Active::Live(Arc::clone(session))),
            State::Hibernated(hibernated) => Ok(Active::Hibernated(hibernated.clone())),
            State::Removing(_) | State::Ended(_) => Err(has_ended(id)),
        }
    }

    /// All sessions in which programs can run now.
    pub(crate) fn all_live(&self) -> Vec<Arc<Session>> {
        let entries = self.entries();
        let live = entries.active().filter_map(|(_, entry)| match &entry.state {
            State::Live(session) => Some(Arc::clone(session)),
            _ => None,
        });
        live.collect()
    }

    /// A session, if it is hibernated.
    pub(crate) fn hibernated(&self, id: SessionId) -> Option<Hibernated> {
        match &self.entries().all.get(&id)?.state {
            State::Hibernated(hibernated) => Some((**hibernated).clone()),
            _ => None,
        }
    }

    /// Whether a session is hibernated.
    pub(crate) fn is_hibernated(&self, id: SessionId) -> bool {
        matches!(self.entries().all.get(&id), Some(Entry { state: State::Hibernated(_), .. }))
    }

    /// The number of hibernated sessions.
    pub(crate) fn count_hibernated(&self) -> usize {
        self.entries().active().filter(|(_, entry)| matches!(entry.state, State::Hibernated(_))).count()
    }

    pub(crate) fn all_hibernated(&self) -> Vec<Hibernated> {
        let entries = self.entries();
        let hibernated = entries.active().filter_map(|(_, entry)| match &entry.state {
            State::Hibernated(hibernated) => Some((**hibernated).clone()),
            _ => None,
        });
        hibernated.collect()
    }

    /// Hibernated sessions whose idle timeout has passed, and whose files nobody uses.
    pub(crate) fn expired(&self) -> Vec<SessionId> {
        let entries = self.entries();
        entries.active().filter(|(_, entry)| entry.is_expired()).map(|(id, _)| id).collect()
    }

    /// Sessions that have ended at this time (milliseconds since 1970) or before.
    pub(crate) fn ended_by(&self, at_ms: u64) -> Vec<SessionId> {
        let entries = self.entries();
        let ended = entries.all.iter().filter(|(_, entry)| match &entry.state {
            State::Ended(record) => record.ended_at_ms.is_some_and(|ended_at_ms| ended_at_ms <= at_ms),
            _ => false,
        });
        ended.map(|(id, _)| *id).collect()
    }

    // ---- use of files

    /// The record of a session that has not ended. It is in use until what is returned is dropped; a caller that has
    /// used its files calls [`Self::touch`] before that.
    pub(crate) fn use_workspace(&self, id: SessionId) -> Result<(SessionRecord, WorkspaceUse), Fault> {
        let mut entries = self.entries();
        let entry = entries.all.get_mut(&id).ok_or_else(|| no_session(id))?;
        let workspace_use = WorkspaceUse(Arc::clone(&entry.users));
        entry.touch();
        let live = match &entry.state {
            State::Live(session) => Arc::clone(session),
            State::Hibernated(hibernated) => return Ok((hibernated.record.clone(), workspace_use)),
            State::Removing(_) | State::Ended(_) => return Err(has_ended(id)),
        };
        drop(entries); // a caller that changes the record holds its lock while writing to the disk
        let record = live.record().clone();
        Ok((record, workspace_use))
    }

    /// Whether a session has ended or is ending, so that its workspace is removed.
    pub(crate) fn is_over(&self, id: SessionId) -> bool {
        match self.live(id) {
            Ok(session) => session.is_over(),
            Err(_) => !self.is_hibernated(id),
        }
    }

    /// The fault to report for a failure in a session: if the session has ended meanwhile, its files are removed while
    /// the call uses them, and the end is the cause, not the host.
    pub(crate) fn cause(&self, id: SessionId, fault: Fault) -> Fault {
        if fault.kind != FaultKind::Unavailable || !self.is_over(id) {
            return fault;
        }
        if self.entries().all.contains_key(&id) { has_ended(id) } else { no_session(id) }
    }

    /// Whether the files of a session are being used.
    pub(crate) fn is_in_use(&self, id: SessionId) -> bool {
        self.entries().all.get(&id).is_some_and(Entry::is_in_use)
    }
}

fn no_session(id: SessionId) -> Fault {
    Fault::new(FaultKind::NotFound, format!("there is no session `{id}`"))
        .hint("`headwater sessions` lists all sessions")
}

fn has_ended(id: SessionId) -> Fault {
    Fault::new(FaultKind::Conflict, format!("the session `{id}` has ended"))
        .hint("create another session; the logs of this one can still be read")
}

#[cfg(test)]
mod tests;
