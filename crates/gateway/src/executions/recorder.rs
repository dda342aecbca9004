//! Records the end of every execution in the store, once, before any client sees it.
//!
//! Executions whose end or closing is not in the store are *open*, and the [`Recorder`] has all of them: those that are
//! started here, and those that [`crate::executions::reconcile`] finds at the start. For other executions there is nothing
//! to record, so that a thousand readers of an old log cost no write.
//!
//! The first to see an end records it: the stream that sends `exited` to a client, a `GET` that waits, or, if no client
//! reads, the background poll of [`Recorder::watch_end`]. The poll asks the worker only after a second: most executions
//! have ended by then in view of a client, and cost no call.

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
use crate::deferred_writes::tick_after;
use crate::error::ApiError;
use crate::metrics::Metrics;
use crate::now_ms;
use crate::quota::Quota;
use crate::quota::admission::Permit;
use crate::worker::Worker;

/// How long an execution may run before the worker is asked for its end: clients that follow it see the end first.
const HEAD_START: Duration = Duration::from_secs(1);
/// The longest wait of one call for an end.
const LONG_POLL: Duration = Duration::from_mins(5);
/// How long an execution may be unknown to the worker before it counts as lost. A worker that was killed before its init
/// received the start does not know the execution, and a client that follows it starts it again.
const LOST_AFTER: Duration = Duration::from_secs(10);
/// The first pause after an error of the worker or the store.
const PAUSE: Duration = Duration::from_millis(500);
/// The longest pause between two attempts: thousands of executions may wait for the same store.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Records the ends of executions.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(super) store: Arc<dyn Store>,
    pub(super) worker: Arc<Worker>,
    pub(super) quota: Arc<Quota>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) background: Background,
    open: Mutex<HashMap<ExecutionId, Arc<Open>>>,
    /// The number of the last removed log that the store knows of.
    pub(super) last_removed_log: tokio::sync::Mutex<u64>,
}

/// An execution whose end or closing is not in the store.
#[derive(Debug)]
struct Open {
    session_id: SessionId,
    /// The owner, whose usage it counts towards.
    owner: String,
    /// Its admission permit; returned when it ends.
    permit: Mutex<Option<Permit>>,
    /// Whether its session was created for it and ends with it.
    one_shot: bool,
    queued_at_ms: u64,
    /// When its program started, once the worker has reported it.
    started_at_ms: OnceLock<u64>,
    /// Set when its end is in the store. Many requests may wait for that; one writes.
    exit: OnceCell<Verdict>,
    /// Set when a background poll runs.
    polled: OnceLock<()>,
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

    /// Whether the store lacks its end or closing.
    pub(crate) fn is_open(&self, id: ExecutionId) -> bool {
        self.open().contains_key(&id)
    }

    /// Adds an execution that is about to start, or that was found unfinished.
    pub(crate) fn begin(&self, row: &ExecutionRow, one_shot: bool, permit: Option<Permit>) {
        let open = Open {
            session_id: row.session_id,
            owner: row.owner.clone(),
            permit: Mutex::new(permit),
            one_shot,
            queued_at_ms: row.queued_at_ms,
            started_at_ms: OnceLock::new(),
            exit: OnceCell::new_with(row.end.as_ref().map(|end| end.verdict.clone())),
            polled: OnceLock::new(),
        };
        self.open().entry(row.id).or_insert_with(|| Arc::new(open));
    }

    /// Removes an execution that did not start, or that was removed.
    pub(crate) fn forget(&self, id: ExecutionId) {
        self.open().remove(&id);
    }

    /// Removes all executions of a removed session.
    pub(crate) fn forget_session(&self, id: SessionId) {
        self.open().retain(|_, open| open.session_id != id);
    }

    /// Writes an execution's end to the store, once; to be awaited before `exited` is sent to a client.
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
        // The closing follows soon after an exit. The poll records it, so that the client need not wait.
        self.watch_end(id);
        Ok(())
    }

    /// Writes the end or the closing in an event to the store; to be awaited before the event is sent. A closing that a
    /// client has seen need not be polled for.
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
        // Before the permit is returned: the usage may forbid the next start.
        self.quota.count_usage(&open.owner, verdict).await;
        drop(open.permit.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.metrics.ended(verdict);
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

    /// Writes the closing of an execution to the store. If its end was not seen here, the poll does it.
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

    /// [`Self::note`] for read requests: they are answered even if the disk is full. The end is recorded later.
    pub(crate) async fn note_for_reader(self: &Arc<Self>, execution: &Execution) -> Result<(), ApiError> {
        match self.note(execution).await {
            Err(error) if error.status == StatusCode::INSUFFICIENT_STORAGE => {
                tracing::warn!(execution = %execution.id, "the disk is full: the end of the execution is recorded later");
                Ok(())
            }
            noted => noted,
        }
    }

    /// Records the state of an execution that the worker returned; to be awaited before a client sees it.
    pub(crate) async fn note(self: &Arc<Self>, execution: &Execution) -> Result<(), ApiError> {
        if let Some(open) = self.find(execution.id)
            && !matches!(execution.state, ExecutionState::Queued)
        {
            // Fails if it is set already, to the same value.
            let _ = open.started_at_ms.set(execution.started_at_ms);
        }
        match &execution.state {
            ExecutionState::Queued | ExecutionState::Running { .. } => Ok(()),
            ExecutionState::Exited { verdict } => {
                self.note_exit(execution.id, execution.last_seq, verdict).await
            }
            ExecutionState::Closed { verdict } => {
                self.note_exit(execution.id, execution.last_seq, verdict).await?;
                self.note_closed(execution.id, execution.last_seq).await
            }
        }
    }

    /// Polls in the background until the end and the closing are in the store.
    pub(crate) fn watch_end(self: &Arc<Self>, id: ExecutionId) {
        let Some(open) = self.find(id) else {
            return; // the store has both
        };
        if open.polled.set(()).is_err() {
            return; // a poll runs already
        }
        let recorder = Arc::clone(self);
        self.background.until_stopped(async move { recorder.poll(id, open).await });
    }

    async fn poll(self: &Arc<Self>, id: ExecutionId, open: Arc<Open>) {
        sleep_until(tick_after(HEAD_START)).await;
        let mut missing_since = None;
        let mut backoff = Backoff::new(PAUSE, LONGEST_PAUSE);
        while self.is_open(id) {
            let closed = open.exit.initialized();
            let noted = match self.worker.wait(id, LONG_POLL, closed).await {
                Ok(execution) => {
                    missing_since = None;
                    self.note(&execution).await
                }
                Err(error) if is_removed(&error) => match self.note_removed_logs().await {
                    // The removal was recorded before, without an end: nothing more can be learned.
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

    /// Records that the worker does not know an execution that it should know.
    pub(crate) async fn note_lost(self: &Arc<Self>, id: ExecutionId) -> Result<(), ApiError> {
        // If its end is recorded already, this only closes it: the first verdict stays.
        self.note_exit(id, Seq(0), &lost()).await?;
        self.note_closed(id, Seq(0)).await
    }
}

/// Whether the worker removed the log.
pub(crate) fn is_removed(error: &ContractError) -> bool {
    error.fault().is_some_and(|fault| fault.kind == FaultKind::Gone)
}

/// Whether the worker does not know the object.
pub(crate) fn is_missing(error: &ContractError) -> bool {
    error.fault().is_some_and(|fault| matches!(fault.kind, FaultKind::NotFound | FaultKind::Gone))
}

fn end(open: &Open, last_seq: Seq, verdict: &Verdict, closed: bool) -> ExecutionEnd {
    // A stream does not contain the start time; the program started right after it was accepted.
    let started_at_ms = open.started_at_ms.get().copied().unwrap_or(open.queued_at_ms);
    let exited_at_ms = started_at_ms.saturating_add(verdict.duration_ms);
    ExecutionEnd { verdict: verdict.clone(), started_at_ms, exited_at_ms, last_seq, closed }
}

fn lost() -> Verdict {
    Verdict {
        message: Some("the worker does not know it: its log was removed, or it never started".into()),
        ..Verdict::new(Reason::Lost)
    }
}
