//! The engine: all sessions and executions of a worker.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use headwater_contract::{Fault, FaultKind, KeyedLock, v1};
use headwater_network::Network;
use headwater_protocol::{
    ExecutionId, LOCAL_OWNER, Limits, Session as Told, SessionId, SessionSpec, StartSpec,
};
use headwater_sandbox::cgroup::{CgroupRoot, SessionCgroup};
use headwater_sandbox::link;
use headwater_workspace::tree;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::builds::reserved;
use crate::clock::now_ms;
use crate::config::{Config, UID_RANGE};
use crate::executions::execution::Execution;
use crate::executions::open_limits::Tickets;
use crate::executions::program::Program;
use crate::files::room::Quotas;
use crate::languages::Languages;
use crate::layout::{Folder, SessionRecord};
use crate::retention::Retention;
use crate::sessions::hibernation::Asleep;
use crate::sessions::host_users;
use crate::sessions::pool::{self, Pool, Prepared};
use crate::sessions::session::{self, Accepted, Expects, Granted, Parts, Session};
use crate::terminals::Hub;
use crate::usage::disk::Measured;
use crate::usage::project_quotas::Projects;

/// Everything a worker has.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) config: Config,
    pub(crate) folder: Folder,
    pub(crate) languages: Languages,
    pub(crate) cgroups: Option<CgroupRoot>,
    /// Project quotas, where the file system has them.
    pub(crate) projects: Projects,
    pub(crate) pool: Pool,
    pub(crate) network: Arc<Network>,
    /// The runtime that moves output, apart from the one that answers calls: a disk that stalls stalls only it.
    pub(crate) movers: Handle,
    /// Set when the worker is to stop.
    pub(crate) stop: CancellationToken,
    pub(crate) started_at_ms: u64,
    this: Weak<Engine>,
    tables: Mutex<Tables>,
    session_locks: KeyedLock<SessionId>,
    execution_locks: KeyedLock<ExecutionId>,
    workspace_locks: KeyedLock<SessionId>,
    /// What workspaces were found to hold.
    pub(crate) quotas: Quotas,
    pub(crate) tickets: Tickets,
    /// What terminals have in common.
    pub(crate) terminals: Hub,
    /// How long logs are kept.
    pub(crate) retention: Retention,
}

#[derive(Debug, Default)]
struct Tables {
    live: HashMap<SessionId, Arc<Session>>,
    ended: BTreeMap<SessionId, SessionRecord>,
    /// Nothing runs in them, and their workspaces are kept.
    asleep: BTreeMap<SessionId, Asleep>,
    executions: HashMap<ExecutionId, Arc<Execution>>,
    /// How often each workspace is open for work on its files.
    open: HashMap<SessionId, usize>,
    uids: BTreeSet<u32>,
}

impl Tables {
    /// A session's files are used: it is not idle, and what was measured of its disk use may be old.
    fn touch(&mut self, id: SessionId) {
        if let Some(session) = self.live.get(&id) {
            session.touch();
        }
        if let Some(asleep) = self.asleep.get_mut(&id) {
            (asleep.used_at, asleep.disk_bytes) = (Instant::now(), None);
        }
    }

    /// Whether a session has slept for longer than it may, and nobody works on its files.
    fn has_slept_too_long(&self, id: SessionId) -> bool {
        !self.open.contains_key(&id) && self.asleep.get(&id).is_some_and(Asleep::is_too_long)
    }
}

/// What an engine starts with.
pub(crate) struct Start {
    pub(crate) config: Config,
    pub(crate) folder: Folder,
    pub(crate) cgroups: Option<CgroupRoot>,
    pub(crate) movers: Handle,
    /// The runtime that answers calls.
    pub(crate) answers: Handle,
}

impl Engine {
    pub(crate) fn new(start: Start) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            languages: Languages::find(&start.config.languages, &start.config.binds),
            pool: Pool::new(start.config.pool),
            network: Network::new(
                start.config.network.clone(),
                &start.config.packages,
                start.folder.root(),
                start.answers,
            ),
            terminals: Hub::open(&start.folder, start.config.terminals),
            retention: Retention::new(start.config.retention.rules, start.folder.root()),
            projects: Projects::find(start.folder.root()),
            config: start.config,
            folder: start.folder,
            cgroups: start.cgroups,
            movers: start.movers,
            stop: CancellationToken::new(),
            started_at_ms: now_ms(),
            this: this.clone(),
            tables: Mutex::default(),
            session_locks: KeyedLock::default(),
            execution_locks: KeyedLock::default(),
            workspace_locks: KeyedLock::default(),
            quotas: Quotas::default(),
            tickets: Tickets::default(),
        })
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn weak(&self) -> Weak<Self> {
        self.this.clone()
    }

    /// A host user of its own for a session, when the worker is root.
    pub(crate) fn take_uid(&self) -> Result<Option<u32>, Fault> {
        if !host_users::are_given_out(&self.config) {
            return Ok(None);
        }
        let mut tables = self.tables();
        let uid = host_users::first_free(self.config.uid_base, &tables.uids).ok_or_else(|| {
            let message = format!("all {UID_RANGE} host users of this data folder are in use");
            let fault = Fault::new(FaultKind::Exhausted, message);
            fault.hint("end sessions that are not needed any more; hibernated ones keep their user")
        })?;
        tables.uids.insert(uid);
        Ok(Some(uid))
    }

    /// A user is in use by a session that was found.
    pub(crate) fn keep_uid(&self, uid: u32) {
        self.tables().uids.insert(uid);
    }

    /// Nothing of that user's is left.
    pub(crate) fn free_uid(&self, uid: Option<u32>) {
        if let Some(uid) = uid {
            self.tables().uids.remove(&uid);
        }
    }

    // ---- sessions

    /// Makes a session, or answers with the one that has this id already.
    pub(crate) async fn create_session(
        &self,
        id: Option<SessionId>,
        spec: SessionSpec,
    ) -> Result<Told, Fault> {
        spec.check()?;
        let id = id.unwrap_or_else(SessionId::random);
        let _lock = self.session_locks.lock(id).await;
        match self.session(id) {
            Err(fault) if fault.kind == FaultKind::NotFound => {}
            other => return other,
        }
        // Only for a new one: a caller that asks again, and is refused, takes the session for one that was never made.
        self.allow(&spec.limits)?;
        self.network.permit(spec.network, self.config.sandbox)?;
        let prepared = self.pool.take(self, spec.network).await?;
        let session = self.hand_out(prepared, id, spec)?;
        self.listen_to(&session);
        self.pool.refill(self);
        Ok(session.told())
    }

    /// Makes a prepared session this one.
    pub(crate) fn hand_out(
        &self,
        prepared: Prepared,
        id: SessionId,
        spec: SessionSpec,
    ) -> Result<Arc<Session>, Fault> {
        let (dir, record) = match self.claim(&prepared, id, spec) {
            Ok(claimed) => claimed,
            Err(fault) => {
                if let Some(engine) = self.weak().upgrade() {
                    pool::discard_later(engine, prepared);
                }
                return Err(fault);
            }
        };
        let Prepared { link, init, cgroup, spare, descriptors, .. } = prepared;
        let disk = Some(Measured::empty(&dir));
        self.bring_up(Parts { dir, record, link, init, cgroup, spare, disk, descriptors })
            .map_err(|error| cannot_record(&error))
    }

    /// Makes a prepared session this one, by its limits, its record and its place.
    fn claim(
        &self,
        prepared: &Prepared,
        id: SessionId,
        spec: SessionSpec,
    ) -> Result<(PathBuf, SessionRecord), Fault> {
        let spec = SessionSpec { limits: spec.limits.or(&self.config.limits), ..spec };
        if let (Some(cgroup), true) = (&prepared.cgroup, spec.limits != self.config.limits) {
            cgroup.set_limits(&spec.limits).map_err(|error| {
                Fault::new(FaultKind::Unavailable, format!("cannot set the session's limits: {error}"))
            })?;
        }
        if spec.limits != self.config.limits {
            self.projects.limit(&prepared.dir, || Some(spec.limits.clone()));
        }
        let record = SessionRecord {
            id,
            spec,
            sandbox: self.config.sandbox,
            created_at_ms: now_ms(),
            ended_at_ms: None,
            slot: prepared.slot,
            host_uid: prepared.host_uid,
            cgroup: prepared.cgroup_name.clone(),
        };
        let dir = self.folder.session(id);
        record.write(&prepared.dir).map_err(|error| cannot_record(&error))?;
        fs::rename(&prepared.dir, &dir).map_err(|error| cannot_record(&error))?;
        Ok((dir, record))
    }

    /// Makes a session of its parts and begins to hear its init.
    pub(crate) fn bring_up(&self, parts: Parts) -> io::Result<Arc<Session>> {
        let _within = self.movers.enter();
        if let Some(listen) = session::outlet_message(parts.record.spec.network) {
            // Before anybody can start something in it. If this fails the link is broken, which is seen soon enough.
            let _ = link::send(parts.link.as_fd(), &listen, &[]);
        }
        let session = Session::new(parts, self.weak())?;
        self.tables().live.insert(session.id(), Arc::clone(&session));
        Ok(session)
    }

    /// Begins to hear the session's init. What was adopted must be in place before.
    pub(crate) fn listen_to(&self, session: &Arc<Session>) {
        self.movers.spawn(Arc::clone(session).listen());
    }

    /// Tells of a session.
    pub(crate) fn session(&self, id: SessionId) -> Result<Told, Fault> {
        let tables = self.tables();
        if let Some(session) = tables.live.get(&id) {
            return Ok(session.told());
        }
        if let Some(asleep) = tables.asleep.get(&id) {
            return Ok(asleep.told());
        }
        tables.ended.get(&id).map(|record| session::told(record, 0)).ok_or_else(|| no_session(id))
    }

    /// Looks at what was asked for of a session, whether it runs, sleeps or has ended.
    pub(crate) fn look_at<T>(&self, id: SessionId, look: impl FnOnce(&SessionSpec) -> T) -> Result<T, Fault> {
        let tables = self.tables();
        if let Some(session) = tables.live.get(&id) {
            return Ok(look(&session.record().spec));
        }
        let asleep = tables.asleep.get(&id).map(|asleep| &asleep.record);
        let record = asleep.or_else(|| tables.ended.get(&id)).ok_or_else(|| no_session(id))?;
        Ok(look(&record.spec))
    }

    /// Tells of all sessions, oldest first; in brief without their environments and metadata, which can be large.
    pub(crate) fn sessions(&self, include_ended: bool, brief: bool) -> Vec<Told> {
        let tables = self.tables();
        let live = tables.live.values().map(|session| session.told());
        let asleep = tables.asleep.values().map(Asleep::told);
        let ended = tables.ended.values().map(|record| session::told(record, 0));
        let all = live.chain(asleep).chain(ended.filter(|_| include_ended));
        let mut all: Vec<_> = all
            .map(|mut told| {
                if brief {
                    (told.spec.env, told.spec.metadata) = Default::default();
                }
                told
            })
            .collect();
        all.sort_by_key(|session| (session.created_at_ms, session.id));
        all
    }

    /// A session that can run things.
    pub(crate) fn live_session(&self, id: SessionId) -> Result<Arc<Session>, Fault> {
        let tables = self.tables();
        if let Some(session) = tables.live.get(&id) {
            return Ok(Arc::clone(session));
        }
        if tables.asleep.contains_key(&id) {
            let fault = Fault::new(FaultKind::Conflict, format!("the session `{id}` is hibernated"));
            return Err(fault.hint("start something in it: that wakes it"));
        }
        if tables.ended.contains_key(&id) {
            let fault = Fault::new(FaultKind::Conflict, format!("the session `{id}` has ended"));
            return Err(fault.hint("make another session; the logs of this one can still be read"));
        }
        Err(no_session(id))
    }

    /// All sessions that can run things.
    pub(crate) fn live_sessions(&self) -> Vec<Arc<Session>> {
        self.tables().live.values().map(Arc::clone).collect()
    }

    /// Refuses limits above those that the operator allows.
    fn allow(&self, limits: &Limits) -> Result<(), Fault> {
        match limits.above(&self.config.max_limits) {
            None => Ok(()),
            Some(above) => Err(Fault::new(FaultKind::Invalid, above)
                .hint("ask for less, or ask the operator (`max_limits`)")),
        }
    }

    /// Changes a session.
    pub(crate) fn update_session(
        &self,
        id: SessionId,
        change: v1::UpdateSessionRequest,
    ) -> Result<Told, Fault> {
        self.no_build(id)?;
        if let Some(limits) = change.limits {
            self.allow(&limits.into())?;
        }
        if let Some(asleep) = self.asleep(id) {
            return self.update_asleep(asleep, change);
        }
        let session = self.live_session(id)?;
        // Held to the end: two who change a session at once, or its end, must not write over each other.
        let mut current = session.record();
        let spec = changed(current.spec.clone(), change)?;
        if let Some(cgroup) = session.cgroup() {
            cgroup.set_limits(&spec.limits).map_err(|error| {
                Fault::new(FaultKind::Invalid, format!("the session's limits cannot be changed so: {error}"))
                    .hint("a memory limit cannot be lower than what is in use")
            })?;
        }
        let record = SessionRecord { spec, ..current.clone() };
        record.write(session.dir()).map_err(|error| cannot_record(&error))?;
        *current = record;
        drop(current);
        self.limit_disk(id);
        Ok(session.told())
    }

    /// Has the kernel enforce what a session may now hold: its limits or its snapshots have changed.
    pub(crate) fn limit_disk(&self, id: SessionId) {
        self.projects.limit(&self.folder.session(id), || self.look_at(id, |spec| spec.limits.clone()).ok());
    }

    /// Ends a session; with `forget`, removes all trace of it.
    pub(crate) async fn end_session(&self, id: SessionId, forget: bool) -> Result<Told, Fault> {
        let live = self.tables().live.get(&id).cloned();
        if let Some(session) = live {
            session.end().await;
        }
        self.end_asleep(id).await;
        let told = self.session(id)?;
        if forget {
            self.forget_session(id).await?;
        }
        Ok(told)
    }

    async fn forget_session(&self, id: SessionId) -> Result<(), Fault> {
        if self.tables().live.contains_key(&id) {
            return Err(Fault::new(FaultKind::Unavailable, format!("the session `{id}` does not end")));
        }
        let dir = self.folder.session(id);
        // First of all its record: what is left without one, by a worker that is killed now, the next one removes.
        let remove = move || SessionRecord::remove(&dir).and_then(|()| tree::remove(&dir));
        let removed = tokio::task::spawn_blocking(remove).await.map_err(io::Error::other);
        removed.and_then(|removed| removed).map_err(|error| {
            Fault::new(FaultKind::Unavailable, format!("cannot remove the session `{id}`: {error}"))
        })?;
        let mut tables = self.tables();
        tables.ended.remove(&id);
        tables.executions.retain(|_, execution| execution.session_id() != id);
        self.retention.forget(id);
        Ok(())
    }

    /// The owner of a session, whether it runs, sleeps or has ended.
    pub(crate) fn owner(&self, id: SessionId) -> Arc<str> {
        self.look_at(id, |spec| spec.owner().into()).unwrap_or_else(|_| LOCAL_OWNER.into())
    }

    /// Removes the folders of sessions that ended at least so long ago and have no log left. Blocks.
    pub(crate) fn forget_empty_sessions(&self, after: Duration) {
        let before_ms = now_ms().saturating_sub(u64::try_from(after.as_millis()).unwrap_or(u64::MAX));
        let empty: Vec<SessionId> = {
            let mut tables = self.tables();
            let used: HashSet<_> =
                tables.executions.values().map(|execution| execution.session_id()).collect();
            let is_empty = |id: &SessionId, record: &SessionRecord| {
                !used.contains(id) && record.ended_at_ms.is_some_and(|at| at <= before_ms)
            };
            let empty = tables.ended.iter().filter(|(id, record)| is_empty(id, record));
            let empty: Vec<_> = empty.map(|(id, _)| *id).collect();
            for id in &empty {
                tables.ended.remove(id);
            }
            empty
        };
        for id in empty {
            let dir = self.folder.session(id);
            if let Err(error) = SessionRecord::remove(&dir).and_then(|()| tree::remove(&dir)) {
                tracing::warn!(session = %id, %error, "the folder of an ended session cannot be removed");
            }
        }
    }

    /// A session's init is gone and its logs are closed.
    pub(crate) fn session_is_over(&self, session: &Session) {
        let record = {
            let mut record = session.record();
            record.ended_at_ms = Some(now_ms());
            if let Err(error) = record.write(session.dir()) {
                tracing::error!(session = %record.id, %error, "the session's end cannot be recorded");
            }
            record.clone()
        };
        self.free_uid(record.host_uid);
        tracing::info!(session = %record.id, "session ended");
        let mut tables = self.tables();
        tables.live.remove(&record.id);
        tables.ended.insert(record.id, record);
    }

    /// A session's init is gone, its logs are closed, and its workspace is kept.
    pub(crate) fn session_sleeps(&self, session: &Session) {
        let (id, record, used_at) = (session.id(), session.record().clone(), session.used_at());
        tracing::info!(session = %id, "session hibernates");
        let mut tables = self.tables();
        tables.live.remove(&id);
        tables.asleep.insert(id, Asleep { record, used_at, disk_bytes: None });
    }

    /// A session that sleeps, if it does.
    pub(crate) fn asleep(&self, id: SessionId) -> Option<Asleep> {
        self.tables().asleep.get(&id).cloned()
    }

    /// A session was found asleep, or what is remembered of one that is has changed.
    pub(crate) fn put_asleep(&self, asleep: Asleep) {
        self.tables().asleep.insert(asleep.record.id, asleep);
    }

    /// The record of a session that has not ended, whose workspace is open from now on until [`Self::close_workspace`]:
    /// it is used, and is not idle.
    pub(crate) fn open_workspace(&self, id: SessionId) -> Result<SessionRecord, Fault> {
        let mut tables = self.tables();
        let (live, asleep) = (tables.live.get(&id).cloned(), tables.asleep.get(&id).cloned());
        if live.is_some() || asleep.is_some() {
            *tables.open.entry(id).or_default() += 1;
            tables.touch(id);
        }
        drop(tables);
        match (asleep, live) {
            (Some(asleep), _) => Ok(asleep.record),
            (None, Some(session)) => Ok(session.record().clone()),
            (None, None) => Err(self.live_session(id).err().unwrap_or_else(|| no_session(id))),
        }
    }

    /// One of those who work on a session's files is done.
    pub(crate) fn close_workspace(&self, id: SessionId) {
        let mut tables = self.tables();
        tables.touch(id);
        if let Entry::Occupied(mut open) = tables.open.entry(id) {
            *open.get_mut() -= 1;
            if *open.get() == 0 {
                open.remove();
            }
        }
    }

    /// Whether somebody works on a session's files.
    pub(crate) fn is_open(&self, id: SessionId) -> bool {
        self.tables().open.contains_key(&id)
    }

    /// Waits for the turn to change a session's files. It lasts as long as what is returned.
    pub(crate) async fn workspace_turn(&self, id: SessionId) -> impl Drop + Send + use<> {
        self.workspace_locks.lock(id).await
    }

    /// A session that slept is awake, or over.
    pub(crate) fn take_asleep(&self, id: SessionId) -> Option<Asleep> {
        self.tables().asleep.remove(&id)
    }

    /// A session that has slept for longer than it may is over.
    pub(crate) fn take_slept_too_long(&self, id: SessionId) -> Option<Asleep> {
        let mut tables = self.tables();
        if tables.has_slept_too_long(id) { tables.asleep.remove(&id) } else { None }
    }

    /// Those that have slept for longer than they may.
    pub(crate) fn slept_too_long(&self) -> Vec<SessionId> {
        let tables = self.tables();
        tables.asleep.keys().copied().filter(|id| tables.has_slept_too_long(*id)).collect()
    }

    /// All that sleep.
    pub(crate) fn all_asleep(&self) -> Vec<Asleep> {
        self.tables().asleep.values().cloned().collect()
    }

    /// The workspace of one that sleeps was walked. Whoever has used its files since may have changed them: then this is
    /// not kept.
    pub(crate) fn note_asleep_disk(&self, walked: &Asleep, bytes: (u64, u64)) {
        if let Some(asleep) = self.tables().asleep.get_mut(&walked.record.id)
            && asleep.used_at == walked.used_at
        {
            asleep.disk_bytes = Some(bytes);
        }
    }

    /// The turn of whoever makes, wakes or ends a session.
    pub(crate) async fn session_turn(&self, id: SessionId) -> impl Drop + use<> {
        self.session_locks.lock(id).await
    }

    /// The cgroup of this name that an earlier worker made, if it is there.
    pub(crate) fn cgroup(&self, name: Option<&str>) -> Option<SessionCgroup> {
        self.cgroups.as_ref()?.reopen(name?).ok()
    }

    /// A session of the past was found.
    pub(crate) fn add_ended(&self, record: SessionRecord) {
        self.tables().ended.insert(record.id, record);
    }

    // ---- executions

    /// Starts something. With an id that is taken in that session it starts nothing, and answers with that execution.
    pub(crate) async fn start(
        &self,
        session: SessionId,
        id: Option<ExecutionId>,
        spec: StartSpec,
        expects: Expects,
    ) -> Result<Accepted, Fault> {
        spec.check()?;
        self.allow(&spec.limits)?;
        let id = id.unwrap_or_else(ExecutionId::random);
        let _lock = self.execution_locks.lock(id).await;
        if let Ok(known) = self.execution(id) {
            return Accepted::known(known, session);
        }
        if let Some(fault) = self.retention.fault(id) {
            return Err(fault); // it ran, and ran once
        }
        self.may_start(session, id)?;
        self.has_room_for_logs(session).await?;
        let (session, _inside) = self.awake(session).await?;
        let (language, spec) = self.with_language(&session, spec).await?;
        let program = Program::new(&spec.command, language.as_ref(), id, &session.home())?;
        let program = self.terminals.shell(program, &spec, id);
        let (running, terminals) = (self.config.max_running, self.config.terminals.of_owner);
        let ticket = self.tickets.take(session.whose(), &spec, running, terminals)?;
        let accepted = session.start(id, spec, program, Granted { ticket, expects }).await?;
        self.tables().executions.insert(id, Arc::clone(&accepted.execution));
        Ok(accepted)
    }

    /// An execution, running or past.
    pub(crate) fn execution(&self, id: ExecutionId) -> Result<Arc<Execution>, Fault> {
        self.tables().executions.get(&id).cloned().ok_or_else(|| {
            self.retention.fault(id).unwrap_or_else(|| {
                Fault::new(FaultKind::NotFound, format!("there is no execution `{id}`"))
                    .hint("it may have been forgotten; `headwater ps --all` lists those that are there")
            })
        })
    }

    /// All executions, oldest first.
    pub(crate) fn executions(&self, session: Option<SessionId>) -> Vec<Arc<Execution>> {
        let tables = self.tables();
        let wanted = |execution: &&Arc<Execution>| session.is_none_or(|id| execution.session_id() == id);
        let mut all: Vec<_> = tables.executions.values().filter(wanted).map(Arc::clone).collect();
        all.sort_by_key(|execution| (execution.record().queued_at_ms, execution.id()));
        all
    }

    /// An execution was found.
    pub(crate) fn add_execution(&self, execution: Arc<Execution>) {
        self.tables().executions.insert(execution.id(), execution);
    }

    /// Removes the log of an execution that is closed.
    pub(crate) fn forget(&self, id: ExecutionId) -> Result<(), Fault> {
        let execution = self.execution(id)?;
        if !execution.head().closed {
            let fault = Fault::new(FaultKind::Conflict, format!("`{id}` is not closed yet"));
            return Err(fault.hint("cancel it first"));
        }
        self.remove_log(&execution).map_err(|error| {
            Fault::new(FaultKind::Unavailable, format!("cannot remove the log of `{id}`: {error}"))
        })
    }

    /// Removes the log of an execution that is closed, and the execution with it.
    pub(crate) fn remove_log(&self, execution: &Execution) -> io::Result<()> {
        execution.remove()?;
        if self.tables().executions.remove(&execution.id()).is_some() {
            self.retention.subtract(execution.session_id(), execution.log_bytes());
        }
        Ok(())
    }

    /// Counts the logs that were found at the start.
    pub(crate) fn count_logs(&self) {
        for execution in self.executions(None) {
            if execution.closed_at_ms().is_some() {
                self.count_log(&execution, &self.owner(execution.session_id()));
            }
        }
    }

    fn count_log(&self, execution: &Execution, owner: &str) {
        if execution.count_once() {
            self.retention.add(execution.session_id(), owner, execution.log_bytes());
        }
    }

    /// A program has ended: a session that was made for it ends too.
    pub(crate) fn execution_has_exited(&self, session: &Arc<Session>) {
        if session.record().spec.one_shot {
            let session = Arc::clone(session);
            self.movers.spawn(async move { session.end().await });
        }
    }

    /// A log is closed.
    pub(crate) fn execution_is_closed(&self, session: &Arc<Session>, execution: &Execution) {
        self.count_log(execution, session.record().spec.owner());
        let never_ran = execution.head().started.is_none();
        if never_ran {
            self.execution_has_exited(session);
        }
    }
}

/// What is asked for after a change.
pub(crate) fn changed(mut spec: SessionSpec, change: v1::UpdateSessionRequest) -> Result<SessionSpec, Fault> {
    spec.name = change.name.or(spec.name);
    if let Some(limits) = change.limits {
        spec.limits = Limits::from(limits).or(&spec.limits);
    }
    if let Some(ms) = change.idle_timeout_ms {
        spec.idle_timeout_ms = (ms > 0).then_some(ms);
    }
    for (name, value) in change.metadata {
        if value.is_empty() {
            spec.metadata.remove(&name);
        } else {
            spec.metadata.insert(name, value);
        }
    }
    reserved::strip(&mut spec);
    spec.check()?;
    Ok(spec)
}

pub(crate) fn cannot_record(error: &io::Error) -> Fault {
    Fault::of_disk(format!("cannot record the session: {error}"), error)
        .hint("is there room on the disk of the data folder?")
}

fn no_session(id: SessionId) -> Fault {
    Fault::new(FaultKind::NotFound, format!("there is no session `{id}`"))
        .hint("`headwater sessions` lists those that are there")
}
