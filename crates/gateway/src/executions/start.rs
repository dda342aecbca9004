//! Starts executions.
//!
//! 1. The ids are chosen here, and the worker starts an id only once. So everything below can be repeated.
//! 2. An idempotency key is stored with the ids before anything else happens. A repeated request with the key, after a
//!    kill of this process or at the same time, continues with those ids.
//! 3. The rows are written and the worker is called concurrently: each takes about as long. The response waits for both.
//!    If the worker fails, the rows are removed; if the store fails, the program is stopped.
//!
//! A start is completed even if the client disconnects.

use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater_contract::{ContractError, FollowOptions, Follower};
use headwater_protocol::{
    CONVERSATION_METADATA, Command, Execution, ExecutionId, SandboxKind, SessionId, SessionSpec, StartSpec,
    TOOL_CALL_METADATA,
};
use headwater_store::{ExecutionRow, SessionRow, Store, StoreError};

use crate::audit::Audit;
use crate::auth::access::ExecutionInfo;
use crate::auth::{Auth, Identity, Need, authorise};
use crate::background::Background;
use crate::bodies::{OWNER, execution_by_row};
use crate::error::ApiError;
use crate::executions::reconcile::Reconciler;
use crate::executions::recorder::{Recorder, is_missing};
use crate::http::idempotency::{IdempotencyKeys, RequestKey};
use crate::metrics::Metrics;
use crate::now_ms;
use crate::quota::Quota;
use crate::quota::admission::Permit;
use crate::streams::feed::Hub;
use crate::worker::Worker;

/// How long a program may take to end that was started although the request failed.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// A program to start, and where.
#[derive(Debug, Clone)]
pub(crate) struct ExecutionSpec {
    /// The session; `None`: a new session that ends with the execution.
    pub(crate) session: Option<SessionId>,
    /// The program and its limits.
    pub(crate) spec: StartSpec,
    /// The idempotency key of the request, if it has one.
    pub(crate) request_key: RequestKey,
}

/// The call that starts an execution.
trait StartCall: Send + Sync + 'static {
    /// The result of the call.
    type Output: Send + 'static;

    /// Starts the execution of this row.
    fn start(
        &self,
        worker: &Worker,
        row: &ExecutionRow,
    ) -> impl Future<Output = Result<Self::Output, ContractError>> + Send;

    /// The result for an execution that an earlier request with the same key started and that has ended.
    fn for_ended(
        &self,
        worker: &Worker,
        row: ExecutionRow,
    ) -> impl Future<Output = Result<Self::Output, ContractError>> + Send;

    /// The execution, if the result contains it.
    fn execution(answer: &Self::Output) -> Option<&Execution>;
}

/// Starts. With `lossless`, a lossless reader follows at once.
struct StartOnly {
    lossless: bool,
}

impl StartCall for StartOnly {
    type Output = Execution;

    async fn start(&self, worker: &Worker, row: &ExecutionRow) -> Result<Execution, ContractError> {
        let ExecutionRow { id, session_id, spec, .. } = row;
        if self.lossless {
            worker.start_lossless(*session_id, *id, spec).await
        } else {
            worker.start(*session_id, *id, spec).await
        }
    }

    async fn for_ended(&self, worker: &Worker, row: ExecutionRow) -> Result<Execution, ContractError> {
        Ok(worker.execution(row.id).await.unwrap_or_else(|_| execution_by_row(row)))
    }

    fn execution(answer: &Execution) -> Option<&Execution> {
        Some(answer)
    }
}

/// Starts and follows in one call.
struct StartAndFollow(FollowOptions);

impl StartCall for StartAndFollow {
    type Output = Follower;

    async fn start(&self, worker: &Worker, row: &ExecutionRow) -> Result<Follower, ContractError> {
        worker.run(row.session_id, row.id, &row.spec, self.0.clone()).await
    }

    async fn for_ended(&self, worker: &Worker, row: ExecutionRow) -> Result<Follower, ContractError> {
        worker.follow(row.id, self.0.clone()).await
    }

    fn execution(_: &Follower) -> Option<&Execution> {
        None
    }
}

/// A start whose ids are chosen.
#[derive(Debug)]
struct Plan {
    row: ExecutionRow,
    /// The session that is created for it.
    own: Option<SessionRow>,
    /// Whether a client can find it with an idempotency key.
    has_key: bool,
    /// Whether an earlier request with the key started it: then this request must not undo it.
    repeated: bool,
}

/// Starts executions.
#[derive(Debug)]
pub(crate) struct Starts {
    store: Arc<dyn Store>,
    worker: Arc<Worker>,
    auth: Arc<Auth>,
    quota: Arc<Quota>,
    keys: Arc<IdempotencyKeys>,
    recorder: Arc<Recorder>,
    reconciler: Arc<Reconciler>,
    audit: Arc<Audit>,
    metrics: Arc<Metrics>,
    feeds: Arc<Hub>,
    background: Background,
}

impl Starts {
    /// Starts with the store, worker, quota and metrics of the recorder.
    pub(crate) fn new(
        auth: Arc<Auth>,
        keys: Arc<IdempotencyKeys>,
        recorder: Arc<Recorder>,
        reconciler: Arc<Reconciler>,
        audit: Arc<Audit>,
        feeds: Arc<Hub>,
    ) -> Self {
        Self {
            store: Arc::clone(&recorder.store),
            worker: Arc::clone(&recorder.worker),
            quota: Arc::clone(&recorder.quota),
            metrics: Arc::clone(&recorder.metrics),
            background: recorder.background.clone(),
            auth,
            keys,
            recorder,
            reconciler,
            audit,
            feeds,
        }
    }

    /// Starts an execution; the store is written before this returns.
    pub(crate) async fn start(
        self: &Arc<Self>,
        who: &Identity,
        execution: ExecutionSpec,
    ) -> Result<Execution, ApiError> {
        self.start_for(who, execution, false).await
    }

    /// Starts an execution; with `lossless`, for a lossless reader that follows at once.
    pub(crate) async fn start_for(
        self: &Arc<Self>,
        who: &Identity,
        execution: ExecutionSpec,
        lossless: bool,
    ) -> Result<Execution, ApiError> {
        Ok(self.begin(who, execution, StartOnly { lossless }).await?.1)
    }

    /// Starts an execution and follows it in one call of the worker.
    pub(crate) async fn run(
        self: &Arc<Self>,
        who: &Identity,
        execution: ExecutionSpec,
        options: FollowOptions,
    ) -> Result<(ExecutionId, Follower), ApiError> {
        self.begin(who, execution, StartAndFollow(options)).await
    }

    async fn begin<C: StartCall>(
        self: &Arc<Self>,
        who: &Identity,
        execution: ExecutionSpec,
        call: C,
    ) -> Result<(ExecutionId, C::Output), ApiError> {
        let since = Instant::now();
        let owner = if let Some(id) = execution.session {
            self.auth.may_use_session(who, Need::Write, id).await?
        } else {
            authorise(who, Need::Write)?;
            who.owner.clone()
        };
        // First: a client that disconnects while it waits has started nothing.
        let what = execution.session.map_or_else(|| "one-shot".to_owned(), |id| id.to_string());
        let permit = self.quota.may_start(&owner, &what).await?;
        let (starts, who) = (Arc::clone(self), who.clone());
        let begin = async move { starts.begin_execution(&who, owner, execution, &call, permit).await };
        let started = self.background.detached(Box::pin(begin)).await?;
        self.metrics.accepted(since.elapsed());
        Ok(started)
    }

    async fn begin_execution<C: StartCall>(
        self: &Arc<Self>,
        who: &Identity,
        owner: String,
        execution: ExecutionSpec,
        call: &C,
        permit: Permit,
    ) -> Result<(ExecutionId, C::Output), ApiError> {
        let own = execution.session.is_none().then(SessionId::random);
        // Held to the end: a concurrent request with the same key finds this start completed or undone.
        let claim = self.keys.claim(who, &execution.request_key, ExecutionId::random(), own).await?;
        if claim.repeated
            && let Some(row) = self.store.execution(claim.id).await?
            && row.end.is_some()
        {
            // An execution that has ended is not started again, even if the worker has forgotten it.
            return Ok((claim.id, call.for_ended(&self.worker, row).await?));
        }
        let session = claim.session.or(execution.session).unwrap_or_else(SessionId::random);
        let plan = Plan::new(self.reconciler.sandbox(), owner, (claim.id, session), execution);
        let mut plan = Plan { repeated: claim.repeated, ..plan };
        let answer = self.carry_out(who, &mut plan, call, permit).await?;
        Ok((claim.id, answer))
    }

    /// Writes the rows and calls the worker.
    async fn carry_out<C: StartCall>(
        self: &Arc<Self>,
        who: &Identity,
        plan: &mut Plan,
        call: &C,
        permit: Permit,
    ) -> Result<C::Output, ApiError> {
        let (id, session) = (plan.row.id, plan.row.session_id);
        self.recorder.begin(&plan.row, plan.own.is_some(), Some(permit));
        // The first future is polled first and so queued first: the store refuses a row whose session does not exist.
        let (stored, started) =
            futures_util::future::join(self.put(plan), self.call_worker(plan, call)).await;
        let started = match started {
            Ok(started) => started,
            Err(error) => {
                if error.fault().is_some() {
                    self.undo(plan).await;
                } else {
                    // Whether it runs is unknown: the poll finds out.
                    self.recorder.watch_end(id);
                }
                return Err(error.into());
            }
        };
        let number = match stored {
            Ok(number) => number,
            Err(error) => {
                self.abandon(plan).await;
                return Err(error.into());
            }
        };
        let info = ExecutionInfo {
            session_id: session,
            owner: plan.row.owner.clone(),
            conversation_id: plan.row.conversation_id.clone(),
            queued_at_ms: plan.row.queued_at_ms,
        };
        self.auth.access.put_execution(id, info);
        if let Some(number) = number {
            plan.row.number = number;
            self.has_started(who, plan);
        }
        if let Some(execution) = C::execution(&started) {
            self.recorder.note(execution).await?;
        }
        self.recorder.watch_end(id);
        Ok(started)
    }

    /// Writes the rows; returns the number of the execution's row if it is new.
    async fn put(&self, plan: &Plan) -> Result<Option<i64>, StoreError> {
        let own = async {
            match &plan.own {
                Some(own) => self.store.put_session(own).await,
                None => Ok(false),
            }
        };
        let (own, number) = futures_util::future::join(own, self.store.put_execution(&plan.row)).await;
        own?;
        number
    }

    async fn call_worker<C: StartCall>(&self, plan: &Plan, call: &C) -> Result<C::Output, ContractError> {
        if let Some(own) = &plan.own {
            self.worker.create_session(own.id, &own.spec).await?;
        }
        call.start(&self.worker, &plan.row).await
    }

    /// Undoes a start that the worker refused: its rows are removed, and the key is free again. What an earlier request
    /// with the key started stays.
    async fn undo(self: &Arc<Self>, plan: &Plan) {
        let id = plan.row.id;
        if plan.repeated {
            let found = self.worker.execution(id).await;
            if !found.is_err_and(|error| is_missing(&error)) {
                self.recorder.watch_end(id);
                return;
            }
        } else if plan.own.is_none() {
            self.stop_refused(id).await;
        }
        self.recorder.forget(id);
        let removed = match &plan.own {
            Some(own) => {
                let id = own.id;
                // It may not exist: its creation may have failed.
                let _ = self.worker.end_session(id, true).await;
                self.store.remove_session(id).await
            }
            None => self.store.remove_execution(id).await,
        };
        if let Err(error) = removed {
            tracing::error!(%error, execution = %id, "the row of a failed start was not removed");
        }
    }

    /// Ends an execution that was started although the call failed, because it could not be followed.
    async fn stop_refused(&self, id: ExecutionId) {
        let stop = async {
            self.worker.cancel(id, Some(Duration::ZERO)).await?;
            self.worker.wait(id, STOP_TIMEOUT, true).await?;
            self.worker.forget(id).await
        };
        match stop.await {
            Err(error) if !is_missing(&error) => {
                tracing::warn!(%error, execution = %id, "a failed start may still run");
            }
            _ => {}
        }
    }

    /// The store failed, and the program runs. With a key the next attempt finds it; without one it is stopped.
    async fn abandon(self: &Arc<Self>, plan: &Plan) {
        if plan.has_key {
            self.recorder.watch_end(plan.row.id);
            return;
        }
        let id = plan.row.id;
        self.recorder.forget(id);
        let stopped = match &plan.own {
            Some(own) => {
                let own = own.id;
                self.worker.end_session(own, true).await.map(drop)
            }
            None => self.worker.cancel(id, Some(Duration::ZERO)).await,
        };
        if let Err(error) = stopped {
            tracing::error!(%error, execution = %id, "an execution runs that is not in the store");
        }
    }

    fn has_started(self: &Arc<Self>, who: &Identity, plan: &Plan) {
        let row = &plan.row;
        if let Some(own) = &plan.own {
            self.auth.access.put_session(own.id, own.owner.clone());
        }
        self.feeds.announce(row);
        self.metrics.started();
        let language = row.language.as_deref().unwrap_or("none");
        tracing::info!(
            execution = %row.id,
            session = %row.session_id,
            owner = row.owner,
            language,
            command_bytes = command_bytes(&row.spec.command),
            tty = row.spec.tty.is_some(),
            "execution started"
        );
        let detail = format!("session={} language={language}", row.session_id);
        self.audit.record(who, "execution.start", row.id.to_string(), detail);
    }
}

impl Plan {
    fn new(
        sandbox: SandboxKind,
        owner: String,
        (id, session_id): (ExecutionId, SessionId),
        execution: ExecutionSpec,
    ) -> Self {
        let now = now_ms();
        let own = execution.session.is_none().then(|| SessionRow {
            id: session_id,
            owner: owner.clone(),
            spec: own_session(&owner, &execution.spec),
            sandbox,
            created_at_ms: now,
            ended_at_ms: None,
        });
        let row = execution_row(id, session_id, owner, execution.spec, now);
        Self { row, own, has_key: execution.request_key.key.is_some(), repeated: false }
    }
}

/// The session of a one-shot, with the limits of its one execution.
fn own_session(owner: &str, spec: &StartSpec) -> SessionSpec {
    let metadata = [(OWNER.to_owned(), owner.to_owned())].into();
    SessionSpec { limits: spec.limits.clone(), metadata, one_shot: true, ..SessionSpec::default() }
}

/// The row of an execution that has just been accepted.
pub(crate) fn execution_row(
    id: ExecutionId,
    session_id: SessionId,
    owner: String,
    spec: StartSpec,
    queued_at_ms: u64,
) -> ExecutionRow {
    let language = match &spec.command {
        Command::Code { language, .. } => Some(language.clone()),
        Command::Argv(_) | Command::Shell(_) => None,
    };
    ExecutionRow {
        id,
        session_id,
        owner,
        conversation_id: spec.metadata.get(CONVERSATION_METADATA).cloned(),
        tool_call_id: spec.metadata.get(TOOL_CALL_METADATA).cloned(),
        language,
        spec,
        number: 0, // assigned by the store
        queued_at_ms,
        end: None,
        log_removed: None,
    }
}

fn command_bytes(command: &Command) -> usize {
    match command {
        Command::Argv(argv) => argv.iter().map(String::len).sum(),
        Command::Shell(line) => line.len(),
        Command::Code { code, .. } => code.len(),
    }
}
