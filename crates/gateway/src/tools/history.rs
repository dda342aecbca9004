//! The history of tool calls: each call is a row in the store and in the audit log. Rows are written in the background
//! after the call, so that they do not delay it.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use headwater_protocol::ExecutionId;
use headwater_store::{Store, StoreError, ToolCallRow};
use headwater_tools::Outcome;
use headwater_tools::output::Secrets;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::time::sleep_until;

use super::shorten;
use crate::audit::Audit;
use crate::auth::Identity;
use crate::background::Background;
use crate::deferred_writes::tick_after;

/// A row is written about this long after the call.
const DELAY: Duration = Duration::from_millis(20);
/// Calls between two removals of old rows. Each removal reads as many entries of an index as rows are kept.
const TRIM_INTERVAL: u64 = 64;
/// The maximum number of executions that a row names: as many as one agent can have.
const MAX_EXECUTIONS: usize = 64;

/// Records calls.
#[derive(Debug)]
pub(crate) struct History {
    store: Arc<dyn Store>,
    audit: Arc<Audit>,
    background: Background,
    /// The number of newest calls of one owner that are kept. The reconciler removes others by their age, too.
    keep: Option<u64>,
    written: AtomicU64,
    /// Calls that are not written yet, in the order in which they ended.
    pending: Mutex<Vec<ToolCallRow>>,
}

/// A call that is being recorded. If it is dropped before its end, the caller has left, and the row has no result.
#[derive(Debug)]
pub(crate) struct Recording {
    history: Arc<History>,
    who: Identity,
    secrets: Arc<Secrets>,
    row: ToolCallRow,
    began: Instant,
}

impl History {
    /// Keeps the newest calls of each owner in this store, as many as `keep` says.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        audit: Arc<Audit>,
        background: Background,
        keep: Option<u64>,
    ) -> Self {
        Self { store, audit, background, keep, written: AtomicU64::new(0), pending: Mutex::default() }
    }

    /// Begins to record a call. `row` has everything that is known before it.
    pub(crate) fn begin(
        self: &Arc<Self>,
        who: &Identity,
        arguments: &Value,
        secrets: Arc<Secrets>,
        row: ToolCallRow,
    ) -> Recording {
        let row = ToolCallRow { arguments: shorten::arguments(arguments, &secrets), ..row };
        Recording { history: Arc::clone(self), who: who.clone(), secrets, row, began: Instant::now() }
    }

    /// Records a call that has ended.
    pub(crate) fn record(
        self: &Arc<Self>,
        who: &Identity,
        arguments: &Value,
        secrets: &Secrets,
        mut row: ToolCallRow,
    ) {
        row.arguments = shorten::arguments(arguments, secrets);
        row.result = row.result.map(|result| shorten::result(&result, secrets));
        row.executions.truncate(MAX_EXECUTIONS);
        self.audit.record(who, "tool.call", row.session_id.to_string(), detail(&row));
        self.write(row);
    }

    fn write(self: &Arc<Self>, row: ToolCallRow) {
        let mut pending = self.pending();
        pending.push(row);
        if pending.len() > 1 {
            return; // the task of the first one writes them all
        }
        drop(pending);
        let history = Arc::clone(self);
        self.background.tasks.spawn(async move {
            sleep_until(tick_after(DELAY)).await;
            let rows = std::mem::take(&mut *history.pending());
            // They are polled, and so queued, in their order.
            join_all(rows.iter().map(|row| history.put(row))).await;
        });
    }

    fn pending(&self) -> MutexGuard<'_, Vec<ToolCallRow>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn put(&self, row: &ToolCallRow) {
        match self.try_put(row).await {
            // The session was deleted meanwhile, with its history.
            Ok(()) | Err(StoreError::Conflict { .. }) => {}
            Err(error) => tracing::error!(%error, tool = row.tool, "a tool call was not recorded"),
        }
    }

    async fn try_put(&self, row: &ToolCallRow) -> Result<(), StoreError> {
        self.store.put_tool_call(row).await?;
        let written = self.written.fetch_add(1, Ordering::Relaxed);
        match self.keep.filter(|_| written.is_multiple_of(TRIM_INTERVAL)) {
            Some(keep) => self.store.trim_tool_calls(&row.owner, keep).await.map(drop),
            None => Ok(()),
        }
    }
}

impl Recording {
    /// Records how the call ended; returns how long it took.
    pub(crate) fn finish(mut self, outcome: &Outcome) -> Duration {
        self.row.result = Some(shorten::result(&outcome.text, &self.secrets));
        self.row.is_error = outcome.is_error;
        self.row.executions = outcome.executions.iter().copied().take(MAX_EXECUTIONS).collect();
        self.began.elapsed()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // While the process exits there may be no runtime to write with.
        if Handle::try_current().is_err() {
            return;
        }
        let mut row = self.row.clone();
        row.duration_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.history.audit.record(&self.who, "tool.call", row.session_id.to_string(), detail(&row));
        self.history.write(row);
    }
}

/// The names and ids of a call, for the audit log, which has no content.
fn detail(row: &ToolCallRow) -> String {
    let ended = match (&row.result, row.is_error) {
        (None, _) => "left",
        (Some(_), true) => "error",
        (Some(_), false) => "ok",
    };
    // What a caller chose is quoted, so that it cannot look like another field.
    let mut detail = format!("tool={} outcome={ended} agent={:?}", row.tool, row.agent);
    let ids = [("conversation", &row.conversation_id), ("call", &row.tool_call_id)];
    for (name, id) in ids.into_iter().filter_map(|(name, id)| Some((name, id.as_ref()?))) {
        let _ = write!(detail, " {name}={id:?}"); // writing to a string cannot fail
    }
    if !row.executions.is_empty() {
        let ids: Vec<String> = row.executions.iter().map(ExecutionId::to_string).collect();
        detail.extend([" executions=", &ids.join(",")]);
    }
    detail
}
