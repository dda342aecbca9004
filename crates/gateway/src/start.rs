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
use headwater_protocol::{Command, Execution, ExecutionId, SessionId, SessionSpec, StartSpec};
use headwater_store::{Claim, ExecutionRow, KeyRow, SessionRow, StoreError};
use tracing::Instrument;

use crate::access::KnownExecution;
use crate::admission::Permit;
use crate::auth::{Identity, Need, authorise};
use crate::error::ApiError;
use crate::idempotency::key_reused;
use crate::now_ms;
use crate::recorder::is_missing;
use crate::shown::{OWNER, execution_by_row};
use crate::state::Gateway;
use crate::to_the_end::ToTheEnd;

/// How long a program may take to be gone that was started and refused.
const STOPPING: Duration = Duration::from_secs(10);

/// What is to be started.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    /// Where; `None`: in a session of its own that ends with it.
    pub(crate) session: Option<SessionId>,
    /// What.
    pub(crate) spec: StartSpec,
    /// The idempotency key, if one came.
    pub(crate) key: Option<String>,
    /// What the key stands for.
    pub(crate) request_hash: [u8; 32],
}

/// What the worker is asked for, besides to start.
#[derive(Debug)]
enum Wish {
    /// With `lossless`, a lossless reader follows at once.
    Start {
        lossless: bool,
    },
    Run(FollowOptions),
}

#[derive(Debug)]
enum Granted {
    Started(Box<Execution>),
    Followed(Box<Follower>),
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

impl Gateway {
    /// Starts; the store is written before this returns.
    pub(crate) async fn start(self: &Arc<Self>, who: &Identity, order: Order) -> Result<Execution, ApiError> {
        self.start_for(who, order, false).await
    }

    /// The same; with `lossless`, for a lossless reader that follows at once.
    pub(crate) async fn start_for(
        self: &Arc<Self>,
        who: &Identity,
        order: Order,
        lossless: bool,
    ) -> Result<Execution, ApiError> {
        match self.grant(who, order, Wish::Start { lossless }).await? {
            (_, Granted::Started(execution)) => Ok(*execution),
            (_, Granted::Followed(_)) => Err(ApiError::internal(&"a start was answered with a stream")),
        }
    }

    /// Starts and follows in one round trip to the worker.
    pub(crate) async fn run(
        self: &Arc<Self>,
        who: &Identity,
        order: Order,
        options: FollowOptions,
    ) -> Result<(ExecutionId, Follower), ApiError> {
        match self.grant(who, order, Wish::Run(options)).await? {
            (id, Granted::Followed(follower)) => Ok((id, *follower)),
            (_, Granted::Started(_)) => Err(ApiError::internal(&"a run was answered without a stream")),
        }
    }

    /// Carries out what must not stop half-way when its caller goes away.
    pub(crate) async fn to_the_end<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, ApiError>> + Send + 'static,
    ) -> Result<T, ApiError> {
        ToTheEnd::new(&self.tasks, work.in_current_span()).await
    }

    async fn grant(
        self: &Arc<Self>,
        who: &Identity,
        order: Order,
        wish: Wish,
    ) -> Result<(ExecutionId, Granted), ApiError> {
        let owner = if let Some(id) = order.session {
            self.may_use_session(who, Need::Write, id).await?
        } else {
            authorise(who, Need::Write)?;
            who.owner.clone()
        };
        // Before anything is begun: who goes away while it waits has started nothing.
        let what = order.session.map_or_else(|| "one-shot".to_owned(), |id| id.to_string());
        let permit = self.may_start(&owner, &what).await?;
        let (gateway, who) = (Arc::clone(self), who.clone());
        let begin = async move { gateway.begin_execution(&who, owner, order, &wish, permit).await };
        self.to_the_end(Box::pin(begin)).await
    }

    async fn begin_execution(
        self: &Arc<Self>,
        who: &Identity,
        owner: String,
        order: Order,
        wish: &Wish,
        permit: Permit,
    ) -> Result<(ExecutionId, Granted), ApiError> {
        let mut ids = (ExecutionId::random(), order.session.unwrap_or_else(SessionId::random));
        // Held to the end: who comes with the same key at the same time finds this start done, or undone.
        let _turn = match &order.key {
            Some(key) => Some(self.key_turns.of((who.owner.clone(), key.clone())).await),
            None => None,
        };
        let mut repeated = false;
        if let Some(key) = &order.key
            && let Some(known) = self.claim(who, key, &order, ids).await?
        {
            (ids, repeated) = (known, true);
            if let Some(row) = self.store.execution(ids.0).await?
                && row.end.is_some()
            {
                // What has ended is not started again, whatever the worker has forgotten since.
                return Ok((ids.0, self.look_again(row, wish).await?));
            }
        }
        let mut plan = Plan { repeated, ..Plan::new(self, owner, ids, order) };
        let granted = self.carry_out(who, &mut plan, wish, permit).await?;
        Ok((ids.0, granted))
    }

    /// Claims the key. Answers the ids of the start that has it, if one has.
    async fn claim(
        &self,
        who: &Identity,
        key: &str,
        order: &Order,
        (execution, session): (ExecutionId, SessionId),
    ) -> Result<Option<(ExecutionId, SessionId)>, ApiError> {
        let row = KeyRow {
            owner: who.owner.clone(),
            key: key.to_owned(),
            request_hash: order.request_hash,
            object: execution.to_string(),
            session: order.session.is_none().then_some(session),
            created_at_ms: now_ms(),
        };
        let Claim::Known(known) = self.store.claim_key(&row).await? else {
            return Ok(None);
        };
        let session = known.session.or(order.session);
        match (known.request_hash == order.request_hash, known.object.parse(), session) {
            (true, Ok(execution), Some(session)) => Ok(Some((execution, session))),
            _ => Err(key_reused(key)),
        }
    }

    /// Answers for an execution that was started with the same key and has ended.
    async fn look_again(&self, row: ExecutionRow, wish: &Wish) -> Result<Granted, ApiError> {
        let id = row.id;
        match wish {
            Wish::Start { .. } => {
                let told = self.worker.execution(id).await;
                Ok(Granted::Started(Box::new(told.unwrap_or_else(|_| execution_by_row(row)))))
            }
            Wish::Run(options) => {
                Ok(Granted::Followed(Box::new(self.worker.follow(id, options.clone()).await?)))
            }
        }
    }

    /// Writes the rows and asks the worker.
    async fn carry_out(
        self: &Arc<Self>,
        who: &Identity,
        plan: &mut Plan,
        wish: &Wish,
        permit: Permit,
    ) -> Result<Granted, ApiError> {
        let (id, session) = (plan.row.id, plan.row.session_id);
        self.recorder.begin(&plan.row, plan.own.is_some(), Some(permit));
        // The first to be polled is the first in the store's queue: a row is refused whose session is not there.
        let (stored, granted) = futures_util::future::join(self.put(plan), self.ask(plan, wish)).await;
        let number = match (stored, &granted) {
            (_, Err(error)) => {
                if error.fault().is_some() {
                    self.undo(plan).await;
                } else {
                    // Nobody knows whether it runs: the watch finds out.
                    self.watch_end(id);
                }
                None
            }
            (Err(error), Ok(_)) => {
                self.abandon(plan).await;
                return Err(error.into());
            }
            (Ok(number), Ok(_)) => number,
        };
        let granted = granted?;
        let known = KnownExecution {
            session_id: session,
            owner: plan.row.owner.clone(),
            queued_at_ms: plan.row.queued_at_ms,
        };
        self.known.put_execution(id, known);
        if let Some(number) = number {
            plan.row.number = number;
            self.has_started(who, plan);
        }
        if let Granted::Started(told) = &granted {
            self.note(told).await?;
        }
        self.watch_end(id);
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

    async fn ask(&self, plan: &Plan, wish: &Wish) -> Result<Granted, ContractError> {
        let (id, session, spec) = (plan.row.id, plan.row.session_id, &plan.row.spec);
        if let Some(own) = &plan.own {
            let own = &own.spec;
            self.worker.create_session(session, own).await?;
        }
        match wish {
            Wish::Start { lossless } => {
                let started = if *lossless {
                    self.worker.start_for_reader(session, id, spec).await
                } else {
                    self.worker.start(session, id, spec).await
                };
                Ok(Granted::Started(Box::new(started?)))
            }
            Wish::Run(options) => {
                Ok(Granted::Followed(Box::new(self.worker.run(session, id, spec, options.clone()).await?)))
            }
        }
    }

    /// The worker refused: nothing of this request remains, and the key is free again. What an earlier request with the key
    /// started stays: only the repetition was refused.
    async fn undo(self: &Arc<Self>, plan: &Plan) {
        let id = plan.row.id;
        if plan.repeated {
            let there = self.worker.execution(id).await;
            if !there.is_err_and(|error| is_missing(&error)) {
                self.watch_end(id);
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
            self.watch_end(plan.row.id);
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
            self.known.put_session(own.id, own.owner.clone());
        }
        self.announce_start(row);
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
        self.audit(who, "execution.start", row.id.to_string(), detail);
    }
}

impl Plan {
    fn new(
        gateway: &Gateway,
        owner: String,
        (id, session_id): (ExecutionId, SessionId),
        order: Order,
    ) -> Self {
        let now = now_ms();
        let own = order.session.is_none().then(|| SessionRow {
            id: session_id,
            owner: owner.clone(),
            spec: own_session(&owner, &order.spec),
            sandbox: gateway.sandbox.get().copied().unwrap_or_default(),
            created_at_ms: now,
            ended_at_ms: None,
        });
        let row = execution_row(id, session_id, owner, order.spec, now);
        Self { row, own, has_key: order.key.is_some(), repeated: false }
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
