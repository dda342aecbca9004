//! Seeing to it that every execution's end reaches the store, once, before anybody is told of it.
//!
//! Executions whose end or closing is not in the store are *open*, and all of them are in the [`Recorder`]: those that
//! are started here, and those that [`crate::executions::reconcile`] finds at the start. What is not open has nothing to be noted,
//! so that a thousand watchers of an old log cost no write.
//!
//! Who learns of an end first notes it: the stream that carries `exited` to a client, a `GET` that waits, or, if nobody
//! looks, the watch that [`Recorder::watch_end`] keeps. The watch is the last resort and asks the worker only when a
//! second has passed: most executions have ended by then under somebody's eyes, and cost no call of their own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use headwater_contract::{Backoff, ContractError, FaultKind};
use headwater_protocol::{
    Event, EventKind, Execution, ExecutionId, ExecutionState, Reason, Seq, SessionId, Verdict,
};
use headwater_store::{ExecutionEnd, ExecutionRow, Store};
use tokio::sync::OnceCell;
use tokio::time::{Instant, sleep, sleep_until};

use crate::background::Background;
use crate::error::ApiError;
use crate::metrics::Metrics;
use crate::now_ms;
use crate::quota::Quota;
use crate::quota::admission::Permit;
use crate::store_ticks::tick_after;
use crate::worker::Worker;

/// How long an execution may go on before the worker is asked for its end: those who follow it learn it first.
const HEAD_START: Duration = Duration::from_secs(1);
/// The longest that one question for an end waits for its answer.
const LONG_POLL: Duration = Duration::from_mins(5);
/// How long an execution may be unknown to the worker before it counts as lost: one that was killed before its init
/// had heard of a program forgets it, and whoever follows that program starts it again.
const LOST_AFTER: Duration = Duration::from_secs(10);
/// Between two attempts, when the worker or the store did not answer.
const PAUSE: Duration = Duration::from_millis(500);
/// The longest wait between two attempts: thousands may wait for the same store.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The executions that are open.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(super) store: Arc<dyn Store>,
    pub(super) worker: Arc<Worker>,
    quota: Arc<Quota>,
    metrics: Arc<Metrics>,
    background: Background,
    open: Mutex<HashMap<ExecutionId, Arc<Open>>>,
    /// The number of the last removed log that the store knows of.
    pub(super) last_removed_log: tokio::sync::Mutex<u64>,
}

/// An execution whose end or closing is not in the store.
#[derive(Debug)]
struct Open {
    session_id: SessionId,
    /// Whose it is.
    owner: String,
    /// Its place among those that run; given back when it ends.
    permit: Mutex<Option<Permit>>,
    /// Its session was made for it, and ends with it.
    one_shot: bool,
    queued_at_ms: u64,
    /// When its program started, where the worker has told.
    started_at_ms: OnceLock<u64>,
    /// Filled when its end is in the store. Many may wait for that; one writes.
    exit: OnceCell<Verdict>,
    /// Filled when somebody watches it.
    watch: OnceLock<()>,
}

impl Recorder {
    /// A recorder without open executions.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        worker: Arc<Worker>,
        quota: Arc<Quota>,
        metrics: Arc<Metrics>,
        background: Background,
    ) -> Self {
        let last_removed_log = tokio::sync::Mutex::default();
        Self { store, worker, quota, metrics, background, open: Mutex::default(), last_removed_log }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<ExecutionId, Arc<Open>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, id: ExecutionId) -> Option<Arc<Open>> {
        self.open().get(&id).cloned()
    }

    /// Whether its end or closing is missing in the store.
    pub(crate) fn is_open(&self, id: ExecutionId) -> bool {
        self.open().contains_key(&id)
    }

    /// An execution is about to start, or was found to be unfinished.
    pub(crate) fn begin(&self, row: &ExecutionRow, one_shot: bool, permit: Option<Permit>) {
        let open = Open {
            session_id: row.session_id,
            owner: row.owner.clone(),
            permit: Mutex::new(permit),
            one_shot,
            queued_at_ms: row.queued_at_ms,
            started_at_ms: OnceLock::new(),
            exit: OnceCell::new_with(row.end.as_ref().map(|end| end.verdict.clone())),
            watch: OnceLock::new(),
        };
        self.open().entry(row.id).or_insert_with(|| Arc::new(open));
    }

    /// It did not start after all, or is removed.
    pub(crate) fn forget(&self, id: ExecutionId) {
        self.open().remove(&id);
    }

    /// Its session is removed, with all that ran in it.
    pub(crate) fn forget_session(&self, id: SessionId) {
        self.open().retain(|_, open| open.session_id != id);
    }

    /// Writes an execution's end to the store, once; to be awaited before anybody is told of `exited`.
    pub(crate) async fn note_exit(
        self: &Arc<Self>,
        id: ExecutionId,
        seq: Seq,
        verdict: &Verdict,
    ) -> Result<(), ApiError> {
        let Some(open) = self.find(id) else {
            return Ok(()); // it is in the store
        };
        open.exit.get_or_try_init(|| self.write_exit(id, &open, seq, verdict)).await?;
        // Closing follows an exit closely. The watch looks after it; it is no reason to keep this client waiting.
        self.watch_end(id);
        Ok(())
    }

    /// Writes to the store what an event tells of an end or a closing; to be awaited before it goes out. A closing that
    /// somebody has seen need not be asked for.
    pub(crate) async fn note_event(self: &Arc<Self>, id: ExecutionId, event: &Event) -> Result<(), ApiError> {
        match &event.kind {
            EventKind::Exited(verdict) => self.note_exit(id, event.seq, verdict).await,
            EventKind::Closed => self.note_closed(id, event.seq).await,
            _ => Ok(()),
        }
    }

    async fn write_exit(
        &self,
        id: ExecutionId,
        open: &Open,
        seq: Seq,
        verdict: &Verdict,
    ) -> Result<Verdict, ApiError> {
        self.store.end_execution(id, &end(open, seq, verdict, false)).await?;
        // Before its place is given to the next, which what it has used may forbid.
        self.quota.count_usage(&open.owner, verdict).await;
        drop(open.permit.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.metrics.ended(verdict.reason.name());
        tracing::info!(
            execution = %id,
            session = %open.session_id,
            reason = verdict.reason.name(),
            code = verdict.code,
            signal = verdict.signal,
            duration_ms = verdict.duration_ms,
            cpu_ms = verdict.usage.cpu_ms,
            stdout_bytes = verdict.stdout_bytes,
            stderr_bytes = verdict.stderr_bytes,
            output_bytes = verdict.output_bytes,
            "execution ended"
        );
        Ok(verdict.clone())
    }

    /// Writes to the store that an execution is closed: nothing is open any more. Whoever did not see how it ended
    /// leaves this to the watch.
    pub(crate) async fn note_closed(self: &Arc<Self>, id: ExecutionId, seq: Seq) -> Result<(), ApiError> {
        let Some(open) = self.find(id) else {
            return Ok(());
        };
        let Some(verdict) = open.exit.get() else {
            return Ok(());
        };
        let end = end(&open, seq, verdict, true);
        let session_ends = async {
            if open.one_shot {
                self.store.end_session(open.session_id, now_ms()).await?;
            }
            Ok::<_, ApiError>(())
        };
        let (closed, ended) =
            futures_util::future::join(self.store.end_execution(id, &end), session_ends).await;
        closed?;
        ended?;
        self.forget(id);
        Ok(())
    }

    /// [`Self::note`] for those who only read: a full disk is no reason not to answer. The recorder notes it later.
    pub(crate) async fn note_for_reader(self: &Arc<Self>, told: &Execution) -> Result<(), ApiError> {
        match self.note(told).await {
            Err(error) if error.status == StatusCode::INSUFFICIENT_STORAGE => {
                tracing::warn!(execution = %told.id, "the disk is full: the execution's end is not noted yet");
                Ok(())
            }
            noted => noted,
        }
    }

    /// Notes all that the worker told of an execution; to be awaited before anybody else is told.
    pub(crate) async fn note(self: &Arc<Self>, told: &Execution) -> Result<(), ApiError> {
        if let Some(open) = self.find(told.id)
            && !matches!(told.state, ExecutionState::Queued)
        {
            // Refused if it is known already: then it is the same.
            let _ = open.started_at_ms.set(told.started_at_ms);
        }
        match &told.state {
            ExecutionState::Queued | ExecutionState::Running { .. } => Ok(()),
            ExecutionState::Exited { verdict } => self.note_exit(told.id, told.last_seq, verdict).await,
            ExecutionState::Closed { verdict } => {
                self.note_exit(told.id, told.last_seq, verdict).await?;
                self.note_closed(told.id, told.last_seq).await
            }
        }
    }

    /// Sees to it in the background that the end and the closing reach the store, whoever watches.
    pub(crate) fn watch_end(self: &Arc<Self>, id: ExecutionId) {
        let Some(open) = self.find(id) else {
            return; // nothing is missing
        };
        if open.watch.set(()).is_err() {
            return; // somebody does
        }
        let recorder = Arc::clone(self);
        self.background.until_stopped(async move { recorder.watch(id, open).await });
    }

    async fn watch(self: &Arc<Self>, id: ExecutionId, open: Arc<Open>) {
        sleep_until(tick_after(HEAD_START)).await;
        let mut missing_since = None;
        let mut backoff = Backoff::new(PAUSE, LONGEST_PAUSE);
        while self.is_open(id) {
            let closed = open.exit.initialized();
            let noted = match self.worker.wait(id, LONG_POLL, closed).await {
                Ok(told) => {
                    missing_since = None;
                    self.note(&told).await
                }
                Err(error) if is_removed(&error) => match self.note_removed_logs().await {
                    // It was noted before, and not as an end: there is nothing more to learn.
                    Ok(()) if self.is_open(id) => self.note_lost(id).await,
                    noted => noted,
                },
                Err(error) if is_missing(&error) => {
                    let since = *missing_since.get_or_insert_with(Instant::now);
                    if since.elapsed() < LOST_AFTER {
                        sleep(PAUSE).await;
                        continue;
                    }
                    self.note_lost(id).await
                }
                Err(error) => Err(error.into()),
            };
            if noted.is_ok() {
                backoff.reset();
            } else {
                backoff.pause().await; // the cause is in the log
            }
        }
    }

    /// The worker knows nothing of an execution that it should know of.
    pub(crate) async fn note_lost(self: &Arc<Self>, id: ExecutionId) -> Result<(), ApiError> {
        // If its end is known, this is only its closing: the first verdict stays.
        self.note_exit(id, Seq(0), &lost()).await?;
        self.note_closed(id, Seq(0)).await
    }
}

/// Whether the worker removed its log.
pub(crate) fn is_removed(error: &ContractError) -> bool {
    error.fault().is_some_and(|fault| fault.kind == FaultKind::Gone)
}

/// Whether the worker knows nothing of it.
pub(crate) fn is_missing(error: &ContractError) -> bool {
    error.fault().is_some_and(|fault| matches!(fault.kind, FaultKind::NotFound | FaultKind::Gone))
}

fn end(open: &Open, last_seq: Seq, verdict: &Verdict, closed: bool) -> ExecutionEnd {
    // A stream does not tell when the program started; it did so right after it was accepted.
    let started_at_ms = open.started_at_ms.get().copied().unwrap_or(open.queued_at_ms);
    let exited_at_ms = started_at_ms.saturating_add(verdict.duration_ms);
    ExecutionEnd { verdict: verdict.clone(), started_at_ms, exited_at_ms, last_seq, closed }
}

fn lost() -> Verdict {
    Verdict {
        message: Some("the worker knows nothing of it: its log was removed, or it never started".into()),
        ..Verdict::new(Reason::Lost)
    }
}
