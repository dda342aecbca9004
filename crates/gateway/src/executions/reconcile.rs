//! Bringing the store and the worker together: at the start, each time the worker was started again, and hourly.
//!
//! The worker says what is there and how it ended; the store says whose it is, and what was promised. So what the worker
//! has and the store lacks is taken up, ends that nobody noted are noted, and what the store waits for and the worker
//! does not know is over.
//!
//! 1. Before the first request: what lives, and what the store waits for. It takes as long as there is of that.
//! 2. In the background: all the rest, which may be very much.
//!
//! What the local command line made behind the gateway's back belongs to `admin`, and is taken up on the way, or when
//! one of that role asks for it by its id.

use std::collections::{HashMap, HashSet};
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
}

impl Reconciler {
    /// A reconciler of this store and this worker, which removes rows by the rules of the configuration.
    pub(crate) fn new(
        config: &Config,
        store: Arc<dyn Store>,
        worker: Arc<Worker>,
        (recorder, quota): (Arc<Recorder>, Arc<Quota>),
        (metrics, feeds): (Arc<Metrics>, Arc<Hub>),
        background: Background,
    ) -> Self {
        Self {
            store,
            worker,
            recorder,
            quota,
            metrics,
            feeds,
            background,
            rows: config.rows,
            key_lifetime: config.key_lifetime,
            removing: tokio::sync::RwLock::default(),
            sandbox: OnceLock::new(),
        }
    }

    /// The isolation that the worker builds.
    pub(crate) fn sandbox(&self) -> SandboxKind {
        self.sandbox.get().copied().unwrap_or_default()
    }

    /// Takes up what lives and what is unfinished, so that no end goes unnoted: to be awaited before the first request.
    /// The rest follows in the background, now and then.
    pub(crate) async fn start(self: &Arc<Self>) {
        if let Err(error) = self.reconcile_live().await {
            tracing::error!(error = %error.message, "store and worker could not be brought together yet");
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

    /// Brings store and worker together, as often as it takes.
    pub(crate) async fn reconcile(self: &Arc<Self>) {
        let mut backoff = Backoff::new(PAUSE, LONGEST_PAUSE);
        while let Err(error) = self.try_reconcile().await {
            tracing::error!(error = %error.message, "store and worker could not be brought together");
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

    /// What lives, and what the store waits for.
    async fn reconcile_live(self: &Arc<Self>) -> Result<(), ApiError> {
        // How executions ended whose logs are gone since: without this they would be lost.
        self.recorder.note_removed_logs().await?;
        // First the store: what is started from now on is not in this list, and not judged.
        let unfinished = self.store.unfinished().await?;
        let info = self.worker.info().await?;
        let walls =
            if info.sandbox == SandboxKind::None.name() { SandboxKind::None } else { SandboxKind::Full };
        // It was set before if the worker was started again, with the same walls.
        let _ = self.sandbox.set(walls);
        let sessions = self.worker.sessions(false).await;
        let sessions = if_it_fits(sessions)?;
        let running = self.worker.executions(None, true).await;
        let running = if_it_fits(running)?;
        for session in sessions {
            if self.store.session(session.id).await?.is_none() {
                self.adopt_session(session.id).await?;
            }
        }
        for execution in &running {
            self.adopt_missing(execution.id).await?;
        }
        let running: HashMap<_, _> = running.into_iter().map(|told| (told.id, told)).collect();
        for (id, session) in unfinished {
            self.finish(id, session, running.get(&id)).await?;
        }
        Ok(())
    }

    /// Judges an execution that the store waits for.
    async fn finish(
        self: &Arc<Self>,
        id: ExecutionId,
        session: SessionId,
        running: Option<&Execution>,
    ) -> Result<(), ApiError> {
        if self.recorder.is_open(id) {
            return Ok(()); // it is being started, or watched: whoever does that judges
        }
        let told = match running {
            Some(told) => Some(told.clone()),
            None => self.worker_execution(id).await?,
        };
        // Whoever has its key may still ask for it again, and so start it.
        if told.is_none() && self.store.has_key(&id.to_string()).await? {
            return Ok(());
        }
        let Some(row) = self.store.execution(id).await? else {
            return Ok(()); // removed meanwhile
        };
        let one_shot = self.store.session(session).await?.is_some_and(|session| session.spec.one_shot);
        let permit = row.end.is_none().then(|| self.quota.admission.take(&row.owner));
        self.recorder.begin(&row, one_shot, permit);
        match told {
            Some(told) => {
                self.recorder.note(&told).await?;
                self.recorder.watch_end(id);
                Ok(())
            }
            None => self.recorder.note_lost(id).await,
        }
    }

    /// All sessions: those that are missing, and ends that were not noted.
    async fn reconcile_sessions(&self) -> Result<(), ApiError> {
        let stored = self.stored_sessions().await?;
        let told = self.worker.sessions(true).await;
        let told = if_it_fits(told)?;
        for session in &told {
            match stored.get(&session.id) {
                None => _ = self.adopt_session(session.id).await?,
                Some(None) => self.note_session(session).await?,
                Some(Some(_)) => {}
            }
        }
        let known: HashSet<_> = told.iter().map(|session| session.id).collect();
        let unknown = stored.iter().filter(|(id, ended)| ended.is_none() && !known.contains(id));
        for (id, _) in unknown {
            // Asked once more: it may have been made a moment ago. And a key may lead back to it.
            match self.worker_session(*id).await? {
                Some(session) => self.note_session(&session).await?,
                None if self.store.has_key(&id.to_string()).await? => {}
                None => _ = self.store.end_session(*id, now_ms()).await?,
            }
        }
        Ok(())
    }

    /// All sessions of the store, each with its end.
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

    /// All executions that are missing. In one answer, or, where that is too large, session by session.
    async fn reconcile_executions(self: &Arc<Self>) -> Result<(), ApiError> {
        match self.worker.executions(None, false).await {
            Ok(all) => return self.adopt_all(all).await,
            Err(error @ ContractError::Disconnected(_)) => return Err(error.into()),
            Err(error) => tracing::debug!(%error, "executions are looked through session by session"),
        }
        let sessions = self.worker.sessions(true).await;
        for session in if_it_fits(sessions)? {
            let id = Some(session.id);
            let all = self.worker.executions(id, false).await?;
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
        // What is being started here is not in the store yet, and not missing.
        if !self.recorder.is_open(id) && self.store.execution(id).await?.is_none() {
            self.adopt_execution(id).await?;
        }
        Ok(())
    }

    /// Notes that a session has ended, if it has.
    pub(crate) async fn note_session(&self, told: &Session) -> Result<(), ApiError> {
        if let SessionState::Ended { ended_at_ms } = told.state {
            self.store.end_session(told.id, ended_at_ms).await?;
        }
        Ok(())
    }

    /// Takes up a session that the worker has and the store lacks. Answers none if the worker has none either.
    pub(crate) async fn adopt_session(&self, id: SessionId) -> Result<Option<SessionRow>, ApiError> {
        // Asked first: who asks for what is not there shall not wait for those who remove.
        if self.worker_session(id).await?.is_none() {
            return Ok(None);
        }
        let _still = self.removing.write().await; // what is being removed is not taken up again
        self.adopt_session_locked(id).await
    }

    async fn adopt_session_locked(&self, id: SessionId) -> Result<Option<SessionRow>, ApiError> {
        let Some(told) = self.worker_session(id).await? else {
            return Ok(None);
        };
        let row = session_row(told);
        self.store.put_session(&row).await?;
        Ok(Some(row))
    }

    async fn worker_session(&self, id: SessionId) -> Result<Option<Session>, ContractError> {
        known(self.worker.session(id).await)
    }

    async fn worker_execution(&self, id: ExecutionId) -> Result<Option<Execution>, ContractError> {
        known(self.worker.execution(id).await)
    }

    /// The same for an execution, and its session with it.
    pub(crate) async fn adopt_execution(
        self: &Arc<Self>,
        id: ExecutionId,
    ) -> Result<Option<ExecutionRow>, ApiError> {
        if self.worker_execution(id).await?.is_none() {
            return Ok(None);
        }
        let _still = self.removing.write().await;
        let Some(told) = self.worker_execution(id).await? else {
            return Ok(None);
        };
        let session = match self.store.session(told.session_id).await? {
            Some(session) => Some(session),
            None => self.adopt_session_locked(told.session_id).await?,
        };
        let Some(session) = session else {
            return Ok(None);
        };
        let mut row = execution_row(id, session.id, session.owner, told.spec.clone(), told.started_at_ms);
        row.end = end_of(&told);
        if !row.end.as_ref().is_some_and(|end| end.closed) {
            let permit = row.end.is_none().then(|| self.quota.admission.take(&row.owner));
            self.recorder.begin(&row, session.spec.one_shot, permit);
        }
        if self.store.put_execution(&row).await?.is_some() {
            self.feeds.announce(&row);
            self.recorder.watch_end(id);
        }
        Ok(Some(row))
    }
}

/// What the worker tells, if it knows of it at all.
fn known<T>(told: Result<T, ContractError>) -> Result<Option<T>, ContractError> {
    match told {
        Ok(told) => Ok(Some(told)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The row of a session as the worker tells of it.
pub(crate) fn session_row(told: Session) -> SessionRow {
    let owner = told.spec.owner().to_owned();
    let ended_at_ms = match told.state {
        SessionState::Ready | SessionState::Hibernated => None,
        SessionState::Ended { ended_at_ms } => Some(ended_at_ms),
    };
    let (id, sandbox, created_at_ms) = (told.id, told.sandbox, told.created_at_ms);
    SessionRow { id, owner, spec: told.spec, sandbox, created_at_ms, ended_at_ms }
}

fn end_of(told: &Execution) -> Option<ExecutionEnd> {
    let verdict = told.state.verdict()?.clone();
    Some(ExecutionEnd {
        started_at_ms: told.started_at_ms,
        exited_at_ms: told.started_at_ms.saturating_add(verdict.duration_ms),
        last_seq: told.last_seq,
        closed: matches!(told.state, headwater_protocol::ExecutionState::Closed { .. }),
        verdict,
    })
}
