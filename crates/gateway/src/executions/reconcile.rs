//! Reconciles the store with the worker: at the start, after each restart of the worker, and hourly.
//!
//! The worker knows what exists and how it ended; the store knows owners and idempotency keys. Objects that the store
//! lacks are adopted, missing ends are recorded, and unfinished executions that the worker does not know are lost.
//!
//! 1. Before the first request: live sessions and executions, and unfinished executions of the store.
//! 2. In the background: everything else, which may be a lot.
//!
//! What the local command line created without the gateway belongs to `admin`. It is adopted during reconciliation, when
//! an operator asks for it by its id, and before an operator gets a list.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use headwater_contract::{Backoff, ContractError, panics};
use headwater_protocol::{Execution, ExecutionId, SandboxKind, Session, SessionId, SessionState};
use headwater_store::{
    AuditRules, ExecutionEnd, ExecutionRow, MAX_PAGE, PageRequest, RowRules, SessionFilter, SessionRow,
    Store, StoreError,
};

use crate::background::Background;
use crate::config::{Config, Rows};
use crate::error::ApiError;
use crate::executions::recorder::{Recorder, is_missing};
use crate::executions::start::execution_row;
use crate::metrics::Metrics;
use crate::now_ms;
use crate::quota::{Quota, day};
use crate::streams::feed::Hub;
use crate::worker::{Worker, if_it_fits};

/// Time between two full reconciliations.
const INTERVAL: Duration = Duration::from_hours(1);
/// The first pause between two attempts.
const PAUSE: Duration = Duration::from_secs(5);
/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// How long a list waits for the worker to name recent executions.
const RECENT_TIMEOUT: Duration = Duration::from_secs(1);
/// Recent executions are asked for from this long before the last call: a start takes time to reach the worker's list.
const RECENT_OVERLAP_MS: u64 = 10_000;
/// Days for which the CPU time of owners is kept.
const USAGE_DAYS: u64 = 400;

/// Keeps store and worker in agreement.
#[derive(Debug)]
pub(crate) struct Reconciler {
    store: Arc<dyn Store>,
    worker: Arc<Worker>,
    recorder: Arc<Recorder>,
    quota: Arc<Quota>,
    metrics: Arc<Metrics>,
    feeds: Arc<Hub>,
    background: Background,
    rows: Rows,
    key_lifetime: Duration,
    /// Held while something is removed, so that it is not found and adopted again in between.
    pub(crate) removing: tokio::sync::RwLock<()>,
    sandbox: OnceLock<SandboxKind>,
    /// Executions that were accepted before this time are in the store, or will be after the reconciliation that runs.
    adopted_until_ms: AtomicU64,
}

impl Reconciler {
    /// A reconciler of the store and the worker of the recorder.
    pub(crate) fn new(config: &Config, recorder: Arc<Recorder>, feeds: Arc<Hub>) -> Self {
        Self {
            store: Arc::clone(&recorder.store),
            worker: Arc::clone(&recorder.worker),
            quota: Arc::clone(&recorder.quota),
            metrics: Arc::clone(&recorder.metrics),
            background: recorder.background.clone(),
            recorder,
            feeds,
            rows: config.rows,
            key_lifetime: config.key_lifetime,
            removing: tokio::sync::RwLock::default(),
            sandbox: OnceLock::new(),
            adopted_until_ms: AtomicU64::new(now_ms()),
        }
    }

    /// The isolation that the worker builds.
    pub(crate) fn sandbox(&self) -> SandboxKind {
        self.sandbox.get().copied().unwrap_or_default()
    }

    /// Reconciles live and unfinished executions, so that every end is recorded: to be awaited before the first request.
    /// The rest follows in the background, hourly.
    pub(crate) async fn start(self: &Arc<Self>) {
        if let Err(error) = self.reconcile_live().await {
            tracing::error!(error = %error.message, "cannot reconcile the store with the worker yet");
        }
        let reconciler = Arc::clone(self);
        self.background.until_stopped(panics::restarting("reconcile", move || {
            let reconciler = Arc::clone(&reconciler);
            async move {
                loop {
                    reconciler.reconcile().await;
                    tokio::time::sleep(INTERVAL).await;
                }
            }
        }));
    }

    /// Reconciles store and worker, with retries until it succeeds.
    pub(crate) async fn reconcile(self: &Arc<Self>) {
        let mut backoff = Backoff::new(PAUSE, LONGEST_PAUSE);
        while let Err(error) = self.try_reconcile().await {
            tracing::error!(error = %error.message, "cannot reconcile the store with the worker");
            backoff.pause().await;
        }
    }

    async fn try_reconcile(self: &Arc<Self>) -> Result<(), ApiError> {
        let before = now_ms().saturating_sub(self.key_lifetime_ms());
        self.store.forget_keys(before).await?;
        self.store.forget_sign_ins(now_ms()).await?;
        self.reconcile_live().await?;
        self.reconcile_sessions().await?;
        self.reconcile_executions().await?;
        self.remove_old_rows().await
    }

    /// Removes rows that the configuration no longer keeps.
    async fn remove_old_rows(&self) -> Result<(), ApiError> {
        let (rules, now) = (&self.rows, now_ms());
        let before = |age: Option<Duration>| {
            age.map(|age| now.saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX)))
        };
        let rows = RowRules {
            keys_ms: before(Some(self.key_lifetime)).unwrap_or(0),
            before_ms: before(rules.age),
            of_owner: rules.of_owner,
            in_all: rules.in_all,
            credentials_ms: before(rules.credentials),
            usage_day: day(now).saturating_sub(USAGE_DAYS),
        };
        let audit = AuditRules { now_ms: now, before_ms: before(rules.audit_age), rows: rules.audit };
        let removed = self.store.remove_old_rows(&rows).await?;
        let audit = self.store.remove_old_audit(&audit).await?;
        if removed + audit > 0 {
            tracing::info!(rows = removed, audit, "old rows removed");
        }
        self.metrics.rows_removed.inc_by(removed);
        self.metrics.audit_removed.inc_by(audit);
        Ok(())
    }

    fn key_lifetime_ms(&self) -> u64 {
        u64::try_from(self.key_lifetime.as_millis()).unwrap_or(u64::MAX)
    }

    /// Live sessions and executions, and unfinished executions of the store.
    async fn reconcile_live(self: &Arc<Self>) -> Result<(), ApiError> {
        // Ends of executions whose logs were removed: without this they would count as lost.
        self.recorder.note_removed_logs().await?;
        // The store first: what is started from now on is not in this list.
        let unfinished = self.store.unfinished().await?;
        let info = self.worker.info().await?;
        let sandbox =
            if info.sandbox == SandboxKind::None.name() { SandboxKind::None } else { SandboxKind::Full };
        // Already set after a restart of the worker, to the same value.
        let _ = self.sandbox.set(sandbox);
        let sessions = self.worker.sessions(false).await;
        let sessions = if_it_fits(sessions)?;
        let running = self.worker.executions(None, true).await;
        let running = if_it_fits(running)?;
        let hidden = in_place(&sessions);
        for session in sessions {
            if session.spec.place.is_none() && self.store.session(session.id).await?.is_none() {
                self.adopt_session(session.id).await?;
            }
        }
        for execution in running.iter().filter(|execution| !hidden.contains(&execution.session_id)) {
            self.adopt_missing(execution.id).await?;
        }
        let running: HashMap<_, _> = running.into_iter().map(|execution| (execution.id, execution)).collect();
        for (id, session) in unfinished {
            self.finish(id, session, running.get(&id)).await?;
        }
        Ok(())
    }

    /// Records an unfinished execution of the store, or polls for its end.
    async fn finish(
        self: &Arc<Self>,
        id: ExecutionId,
        session: SessionId,
        running: Option<&Execution>,
    ) -> Result<(), ApiError> {
        if self.recorder.is_open(id) {
            return Ok(()); // it is being started or polled
        }
        let found = match running {
            Some(execution) => Some(execution.clone()),
            None => self.worker_execution(id).await?,
        };
        // A client with its key may repeat the request, and so start it.
        if found.is_none() && self.store.has_key(&id.to_string()).await? {
            return Ok(());
        }
        let Some(row) = self.store.execution(id).await? else {
            return Ok(()); // removed meanwhile
        };
        let one_shot = self.store.session(session).await?.is_some_and(|session| session.spec.one_shot);
        let permit = row.end.is_none().then(|| self.quota.admission.take(&row.owner));
        self.recorder.begin(&row, one_shot, permit);
        match found {
            Some(execution) => {
                self.recorder.note(&execution).await?;
                self.recorder.watch_end(id);
                Ok(())
            }
            None => self.recorder.note_lost(id).await,
        }
    }

    /// All sessions: adopts missing ones, and records ends.
    async fn reconcile_sessions(&self) -> Result<(), ApiError> {
        let stored = self.stored_sessions().await?;
        let sessions = if_it_fits(self.worker.sessions(true).await)?;
        for session in &sessions {
            match stored.get(&session.id) {
                None => _ = self.adopt_session(session.id).await?,
                Some(None) => self.note_session(session).await?,
                Some(Some(_)) => {}
            }
        }
        let known: HashSet<_> = sessions.iter().map(|session| session.id).collect();
        let unknown = stored.iter().filter(|(id, ended)| ended.is_none() && !known.contains(id));
        for (id, _) in unknown {
            // Asked again: it may have been created a moment ago. A client with its key may repeat the request.
            match self.worker_session(*id).await? {
                Some(session) => self.note_session(&session).await?,
                None if self.store.has_key(&id.to_string()).await? => {}
                None => _ = self.store.end_session(*id, now_ms()).await?,
            }
        }
        Ok(())
    }

    /// All sessions of the store, each with the time of its end.
    async fn stored_sessions(&self) -> Result<HashMap<SessionId, Option<u64>>, StoreError> {
        let (mut stored, mut page) = (HashMap::new(), PageRequest::first(MAX_PAGE));
        loop {
            let found = self.store.sessions(&SessionFilter::default(), page).await?;
            stored.extend(found.items.into_iter().map(|row| (row.id, row.ended_at_ms)));
            page.cursor = found.next;
            if page.cursor.is_none() {
                return Ok(stored);
            }
        }
    }

    /// Adopts all missing executions: in one call, or session by session if the response is too large.
    async fn reconcile_executions(self: &Arc<Self>) -> Result<(), ApiError> {
        let sessions = if_it_fits(self.worker.sessions(true).await)?;
        let hidden = in_place(&sessions);
        match self.worker.executions(None, false).await {
            Ok(mut all) => {
                all.retain(|execution| !hidden.contains(&execution.session_id));
                return self.adopt_all(all).await;
            }
            Err(error @ ContractError::Disconnected(_)) => return Err(error.into()),
            Err(error) => tracing::debug!(%error, "executions are listed session by session"),
        }
        for session in sessions.into_iter().filter(|session| session.spec.place.is_none()) {
            let all = self.worker.executions(Some(session.id), false).await?;
            self.adopt_all(all).await?;
        }
        Ok(())
    }

    async fn adopt_all(self: &Arc<Self>, all: Vec<Execution>) -> Result<(), ApiError> {
        for execution in all {
            self.adopt_missing(execution.id).await?;
        }
        Ok(())
    }

    async fn adopt_missing(self: &Arc<Self>, id: ExecutionId) -> Result<(), ApiError> {
        // An execution that is being started here is not in the store yet, and not missing.
        if !self.recorder.is_open(id) && self.store.execution(id).await?.is_none() {
            self.adopt_execution(id).await?;
        }
        Ok(())
    }

    /// Adopts what the local command line has created since the last call, so that lists contain it at once. A worker
    /// that does not answer in time is not waited for: the next reconciliation adopts the same.
    pub(crate) async fn adopt_recent(self: &Arc<Self>) {
        match tokio::time::timeout(RECENT_TIMEOUT, self.try_adopt_recent()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::debug!(error = %error.message, "recent executions are not adopted yet");
            }
            Err(_) => tracing::debug!("the worker does not list recent executions in time"),
        }
    }

    async fn try_adopt_recent(self: &Arc<Self>) -> Result<(), ApiError> {
        let (now, until) = (now_ms(), self.adopted_until_ms.load(Ordering::Relaxed));
        let sessions = if_it_fits(self.worker.sessions_in_brief().await)?;
        let hidden = in_place(&sessions);
        for session in sessions {
            if session.spec.place.is_none()
                && session.created_at_ms >= until.saturating_sub(RECENT_OVERLAP_MS)
                && self.store.session(session.id).await?.is_none()
            {
                self.adopt_session(session.id).await?;
            }
        }
        let recent = self.worker.executions_since(until.saturating_sub(RECENT_OVERLAP_MS)).await;
        for execution in if_it_fits(recent)?.into_iter().filter(|one| !hidden.contains(&one.session_id)) {
            self.adopt_missing(execution.id).await?;
        }
        self.adopted_until_ms.fetch_max(now, Ordering::Relaxed);
        Ok(())
    }

    /// Records the end of a session, if it has ended.
    pub(crate) async fn note_session(&self, session: &Session) -> Result<(), ApiError> {
        if let SessionState::Ended { ended_at_ms } = session.state {
            self.store.end_session(session.id, ended_at_ms).await?;
        }
        Ok(())
    }

    /// Adopts a session that the worker has and the store lacks; `None` if the worker does not have it either.
    pub(crate) async fn adopt_session(&self, id: SessionId) -> Result<Option<SessionRow>, ApiError> {
        // Checked first, so that requests for unknown ids do not wait for removals.
        if self.worker_session(id).await?.is_none() {
            return Ok(None);
        }
        let _lock = self.removing.write().await; // what is being removed is not adopted again
        self.adopt_session_locked(id).await
    }

    async fn adopt_session_locked(&self, id: SessionId) -> Result<Option<SessionRow>, ApiError> {
        let Some(session) = self.worker_session(id).await? else {
            return Ok(None);
        };
        let row = session_row(session);
        self.store.put_session(&row).await?;
        Ok(Some(row))
    }

    async fn worker_session(&self, id: SessionId) -> Result<Option<Session>, ContractError> {
        let session = known(self.worker.session(id).await)?;
        // A folder of the host, perhaps without walls, was opened by a person at this machine, and for nobody else.
        Ok(session.filter(|session| session.spec.place.is_none()))
    }

    async fn worker_execution(&self, id: ExecutionId) -> Result<Option<Execution>, ContractError> {
        known(self.worker.execution(id).await)
    }

    /// Adopts an execution, and its session with it.
    pub(crate) async fn adopt_execution(
        self: &Arc<Self>,
        id: ExecutionId,
    ) -> Result<Option<ExecutionRow>, ApiError> {
        if self.worker_execution(id).await?.is_none() {
            return Ok(None);
        }
        let _lock = self.removing.write().await;
        let Some(execution) = self.worker_execution(id).await? else {
            return Ok(None);
        };
        let session = match self.store.session(execution.session_id).await? {
            Some(session) => Some(session),
            None => self.adopt_session_locked(execution.session_id).await?,
        };
        let Some(session) = session else {
            return Ok(None);
        };
        let mut row =
            execution_row(id, session.id, session.owner, execution.spec.clone(), execution.started_at_ms);
        row.end = end_of(&execution);
        match row.end.as_ref().filter(|end| end.closed) {
            // Its session may have been adopted while it ran. Nothing else would record that it has ended.
            Some(end) if session.spec.one_shot => {
                self.store.end_session(session.id, end.exited_at_ms).await?;
            }
            Some(_) => {}
            None => {
                let permit = row.end.is_none().then(|| self.quota.admission.take(&row.owner));
                self.recorder.begin(&row, session.spec.one_shot, permit);
            }
        }
        if self.store.put_execution(&row).await?.is_some() {
            self.feeds.announce(&row);
            self.recorder.watch_end(id);
        }
        Ok(Some(row))
    }
}

/// The sessions that are not served: see [`Reconciler::worker_session`].
fn in_place(sessions: &[Session]) -> HashSet<SessionId> {
    sessions.iter().filter(|session| session.spec.place.is_some()).map(|session| session.id).collect()
}

/// `None` if the worker does not know the object.
fn known<T>(answer: Result<T, ContractError>) -> Result<Option<T>, ContractError> {
    match answer {
        Ok(object) => Ok(Some(object)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The row of a session of the worker.
pub(crate) fn session_row(session: Session) -> SessionRow {
    let owner = session.spec.owner().to_owned();
    let ended_at_ms = match session.state {
        SessionState::Ready | SessionState::Hibernated => None,
        SessionState::Ended { ended_at_ms } => Some(ended_at_ms),
    };
    let (id, sandbox, created_at_ms) = (session.id, session.sandbox, session.created_at_ms);
    SessionRow { id, owner, spec: session.spec, sandbox, created_at_ms, ended_at_ms }
}

fn end_of(execution: &Execution) -> Option<ExecutionEnd> {
    let verdict = execution.state.verdict()?.clone();
    Some(ExecutionEnd {
        started_at_ms: execution.started_at_ms,
        exited_at_ms: execution.started_at_ms.saturating_add(verdict.duration_ms),
        last_seq: execution.last_seq,
        closed: matches!(execution.state, headwater_protocol::ExecutionState::Closed { .. }),
        verdict,
    })
}
