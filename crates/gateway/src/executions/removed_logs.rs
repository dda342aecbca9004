//! Logs that the worker removed, by retention or by a prune: recorded in the store, so that their executions say so.

use std::sync::Arc;

use headwater_contract::ContractError;
use headwater_contract::v1::RemovedLog;
use headwater_protocol::{ExecutionId, LogRemoved, Seq, Verdict};
use headwater_store::{ExecutionEnd, RemovedLogRow};

use crate::error::ApiError;
use crate::executions::recorder::{Recorder, is_missing, is_removed};

/// Removals that are fetched and recorded at once.
const BATCH: u32 = 500;

impl Recorder {
    /// Records all removals that the worker knows and the store may not know.
    pub(crate) async fn note_removed_logs(self: &Arc<Self>) -> Result<(), ApiError> {
        // Held to the end: two calls at once would record the same.
        let mut last = self.last_removed_log.lock().await;
        loop {
            let after = *last;
            let removed = self.worker.removed(after, BATCH).await?;
            let Some(newest) = removed.last().map(|one| one.number) else {
                return Ok(());
            };
            let mut rows = Vec::new();
            for one in removed {
                rows.extend(self.removed_row(one).await?);
            }
            self.store.note_removed_logs(&rows).await?;
            *last = newest;
        }
    }

    /// The row of a removal. The end of the execution is recorded first, if it was not.
    async fn removed_row(self: &Arc<Self>, one: RemovedLog) -> Result<Option<RemovedLogRow>, ApiError> {
        let Ok(id) = one.execution_id.parse::<ExecutionId>() else { return Ok(None) };
        let removed = LogRemoved { at_ms: one.at_ms, reason: one.reason };
        let Some(row) = self.store.execution(id).await?.filter(|row| row.log_removed.is_none()) else {
            return Ok(None);
        };
        let verdict = one.verdict.and_then(|verdict| Verdict::try_from(verdict).ok());
        if let Some(verdict) = verdict.filter(|_| row.end.as_ref().is_none_or(|end| !end.closed)) {
            let (started_at_ms, last_seq) = (one.started_at_ms, Seq(one.last_seq));
            let exited_at_ms = started_at_ms.saturating_add(verdict.duration_ms);
            if self.is_open(id) {
                self.note_exit(id, last_seq, &verdict).await?;
                self.note_closed(id, last_seq).await?;
            }
            let end = ExecutionEnd { verdict, started_at_ms, exited_at_ms, last_seq, closed: true };
            self.store.end_execution(id, &end).await?;
        }
        let mut spec = row.spec;
        spec.command.shorten(); // the code was part of what was removed
        Ok(Some(RemovedLogRow { id, removed, spec }))
    }

    /// Whether the worker does not know an execution because it has ended and its log was removed. The worker forgets
    /// removals after a while; the row of the execution stays.
    pub(crate) async fn is_over(&self, id: ExecutionId, error: &ContractError) -> bool {
        if is_removed(error) {
            return true;
        }
        is_missing(error)
            && matches!(self.store.execution(id).await, Ok(Some(row)) if row.end.as_ref().is_some_and(|end| end.closed))
    }

    /// The error for a log that cannot be read.
    pub(crate) async fn unreadable(&self, id: ExecutionId, error: ContractError) -> ApiError {
        if !is_removed(&error) && self.is_over(id, &error).await {
            return ApiError::log_removed(format!("the log of `{id}` is no longer kept"));
        }
        error.into()
    }

    /// The error for a program that cannot be reached, with or without its log.
    pub(crate) async fn unreachable(&self, id: ExecutionId, error: ContractError) -> ApiError {
        if self.is_over(id, &error).await {
            return ApiError::conflict(format!("`{id}` has ended"), "start it again");
        }
        error.into()
    }
}
