//! Starting executions: who may, under which id, and what is written where before anybody is told.
//!
//! 1. The ids are chosen here, and the worker takes a repeated id for the same start. So everything below can be done
//!    twice.
//! 2. With an idempotency key the ids are written down with the key before anything else happens. Whoever comes with
//!    the key again, over a kill of this process or at the same time, goes on with those ids.
//! 3. The rows are written and the worker is asked at the same time: each takes about as long. The answer waits for
//!    both. If the worker refuses, the rows go again; if the store does, the program does.
//!
//! What is begun is brought to its end, also when the client goes away in the middle.

use std::sync::Arc;
use std::time::Duration;

use headwater_contract::{ContractError, FollowOptions, Follower};
use headwater_protocol::{Command, Execution, ExecutionId, SandboxKind, SessionId, SessionSpec, StartSpec};
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

/// How long a program may take to be gone that was started and refused.
const STOPPING: Duration = Duration::from_secs(10);

/// What is to be started.
#[derive(Debug, Clone)]
pub(crate) struct ExecutionSpec {
    /// Where; `None`: in a session of its own that ends with it.
    pub(crate) session: Option<SessionId>,
    /// What.
    pub(crate) spec: StartSpec,
    /// The idempotency key, if one came.
    pub(crate) request_key: RequestKey,
}

/// What the worker is asked for, besides to start, and what it answers with.
trait Wish: Send + Sync + 'static {
    /// What the caller gets.
    type Answer: Send + 'static;

    /// Asks the worker to start what the row tells of.
    fn start(
        &self,
        worker: &Worker,
        row: &ExecutionRow,
    ) -> impl Future<Output = Result<Self::Answer, ContractError>> + Send;

    /// Answers for what was started with the same key and has ended.
    fn look_again(
        &self,
        worker: &Worker,
        row: ExecutionRow,
    ) -> impl Future<Output = Result<Self::Answer, ContractError>> + Send;

    /// The execution, if the answer tells of it.
    fn told(answer: &Self::Answer) -> Option<&Execution>;
}

/// To start. With `lossless`, a lossless reader follows at once.
struct Start {
    lossless: bool,
}

impl Wish for Start {
    type Answer = Execution;

    async fn start(&self, worker: &Worker, row: &ExecutionRow) -> Result<Execution, ContractError> {
        let ExecutionRow { id, session_id, spec, .. } = row;
        if self.lossless {
            worker.start_lossless(*session_id, *id, spec).await
        } else {
            worker.start(*session_id, *id, spec).await
        }
    }

    async fn look_again(&self, worker: &Worker, row: ExecutionRow) -> Result<Execution, ContractError> {
        Ok(worker.execution(row.id).await.unwrap_or_else(|_| execution_by_row(row)))
    }

    fn told(answer: &Execution) -> Option<&Execution> {
        Some(answer)
    }
}

/// To start, and to follow in the same call.
struct Run(FollowOptions);

impl Wish for Run {
    type Answer = Follower;

    async fn start(&self, worker: &Worker, row: &ExecutionRow) -> Result<Follower, ContractError> {
        worker.run(row.session_id, row.id, &row.spec, self.0.clone()).await
    }

    async fn look_again(&self, worker: &Worker, row: ExecutionRow) -> Result<Follower, ContractError> {
        worker.follow(row.id, self.0.clone()).await
    }

    fn told(_: &Follower) -> Option<&Execution> {
        None
    }
}

/// A start with its ids.
#[derive(Debug)]
struct Plan {
    row: ExecutionRow,
    /// The session that is made for it.
    own: Option<SessionRow>,
    /// Whether a key leads back to it.
    has_key: bool,
    /// Whether an earlier request with the key began it: then it is not this one's to undo.
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

    /// Starts; the store is written before this returns.
    pub(crate) async fn start(
        self: &Arc<Self>,
        who: &Identity,
        execution: ExecutionSpec,
    ) -> Result<Execution, ApiError> {
        self.start_for(who, execution, false).await
    }

    /// The same; with `lossless`, for a lossless reader that follows at once.
    pub(crate) async fn start_for(
        self: &Arc<Self>,
        who: &Identity,
        execution: ExecutionSpec,
        lossless: bool,
    ) -> Result<Execution, ApiError> {
        Ok(self.grant(who, execution, Start { lossless }).await?.1)
    }

    /// Starts and follows in one round trip to the worker.
    pub(crate) async fn run(
        self: &Arc<Self>,
        who: &Identity,
        execution: ExecutionSpec,
        options: FollowOptions,
    ) -> Result<(ExecutionId, Follower), ApiError> {
        self.grant(who, execution, Run(options)).await
    }

    async fn grant<W: Wish>(
        self: &Arc<Self>,
        who: &Identity,
        execution: ExecutionSpec,
        wish: W,
    ) -> Result<(ExecutionId, W::Answer), ApiError> {
        let owner = if let Some(id) = execution.session {
            self.auth.may_use_session(who, Need::Write, id).await?
        } else {
            authorise(who, Need::Write)?;
            who.owner.clone()
        };
        // Before anything is begun: who goes away while it waits has started nothing.
        let what = execution.session.map_or_else(|| "one-shot".to_owned(), |id| id.to_string());
        let permit = self.quota.may_start(&owner, &what).await?;
        let (starts, who) = (Arc::clone(self), who.clone());
        let begin = async move { starts.begin_execution(&who, owner, execution, &wish, permit).await };
        self.background.detached(Box::pin(begin)).await
    }

    async fn begin_execution<W: Wish>(
        self: &Arc<Self>,
        who: &Identity,
        owner: String,
        execution: ExecutionSpec,
        wish: &W,
        permit: Permit,
    ) -> Result<(ExecutionId, W::Answer), ApiError> {
        let own = execution.session.is_none().then(SessionId::random);
        // Held to the end: who comes with the same key at the same time finds this start done, or undone.
        let claim = self.keys.claim(who, &execution.request_key, ExecutionId::random(), own).await?;
        if claim.repeated
            && let Some(row) = self.store.execution(claim.id).await?
            && row.end.is_some()
        {
            // What has ended is not started again, whatever the worker has forgotten since.
            return Ok((claim.id, wish.look_again(&self.worker, row).await?));
        }
        let session = claim.session.or(execution.session).unwrap_or_else(SessionId::random);
        let plan = Plan::new(self.reconciler.sandbox(), owner, (claim.id, session), execution);
        let mut plan = Plan { repeated: claim.repeated, ..plan };
        let answer = self.carry_out(who, &mut plan, wish, permit).await?;
        Ok((claim.id, answer))
    }

    /// Writes the rows and asks the worker.
    async fn carry_out<W: Wish>(
        self: &Arc<Self>,
        who: &Identity,
        plan: &mut Plan,
        wish: &W,
        permit: Permit,
    ) -> Result<W::Answer, ApiError> {
        let (id, session) = (plan.row.id, plan.row.session_id);
        self.recorder.begin(&plan.row, plan.own.is_some(), Some(permit));
        // The first to be polled is the first in the store's queue: a row is refused whose session is not there.
        let (stored, granted) = futures_util::future::join(self.put(plan), self.ask(plan, wish)).await;
        let granted = match granted {
            Ok(granted) => granted,
            Err(error) => {
                if error.fault().is_some() {
                    self.undo(plan).await;
                } else {
                    // Nobody knows whether it runs: the watch finds out.
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
        let known = ExecutionInfo {
            session_id: session,
            owner: plan.row.owner.clone(),
            queued_at_ms: plan.row.queued_at_ms,
        };
        self.auth.access.put_execution(id, known);
        if let Some(number) = number {
            plan.row.number = number;
            self.has_started(who, plan);
        }
        if let Some(told) = W::told(&granted) {
            self.recorder.note(told).await?;
        }
        self.recorder.watch_end(id);
        Ok(granted)
    }

    /// Writes the rows; answers the number of the execution's if it is new.
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

    async fn ask<W: Wish>(&self, plan: &Plan, wish: &W) -> Result<W::Answer, ContractError> {
        if let Some(own) = &plan.own {
            self.worker.create_session(own.id, &own.spec).await?;
        }
        wish.start(&self.worker, &plan.row).await
    }

    /// The worker refused: nothing of this request remains, and the key is free again. What an earlier request with the key
    /// started stays: only the repetition was refused.
    async fn undo(self: &Arc<Self>, plan: &Plan) {
        let id = plan.row.id;
        if plan.repeated {
            let there = self.worker.execution(id).await;
            if !there.is_err_and(|error| is_missing(&error)) {
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
                // It may not be there: its making may be what was refused.
                let _ = self.worker.end_session(id, true).await;
                self.store.remove_session(id).await
            }
            None => self.store.remove_execution(id).await,
        };
        if let Err(error) = removed {
            tracing::error!(%error, execution = %id, "the row of a refused start stays");
        }
    }

    /// Ends what was started although the request was refused: the refusal was about following it.
    async fn stop_refused(&self, id: ExecutionId) {
        let stop = async {
            self.worker.cancel(id, Some(Duration::ZERO)).await?;
            self.worker.wait(id, STOPPING, true).await?;
            self.worker.forget(id).await
        };
        match stop.await {
            Err(error) if !is_missing(&error) => {
                tracing::warn!(%error, execution = %id, "a refused start may still run");
            }
            _ => {}
        }
    }

    /// The store refused, and the program runs. With a key the next attempt finds it; without one nobody would.
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
            tracing::error!(%error, execution = %id, "an execution runs that the store could not take up");
        }
    }

    fn has_started(self: &Arc<Self>, who: &Identity, plan: &Plan) {
        let row = &plan.row;
        if let Some(own) = &plan.own {
            self.auth.access.put_session(own.id, own.owner.clone());
        }
        self.feeds.announce(row);
        self.metrics.started.inc();
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

/// The session of a one-shot: what its one execution may use, it may.
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
        conversation_id: spec.metadata.get("conversation_id").cloned(),
        tool_call_id: spec.metadata.get("tool_call_id").cloned(),
        language,
        spec,
        number: 0, // the store gives it
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
