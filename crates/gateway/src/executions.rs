//! Reads, lists and removes executions. The state that the worker returns is recorded before a client sees it; what the
//! worker no longer knows comes from the store.

pub(crate) mod output_tail;
pub(crate) mod reconcile;
pub(crate) mod recorder;
pub(crate) mod removed_logs;
pub(crate) mod start;
#[cfg(test)]
mod tests;
pub(crate) mod tool_call;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use headwater_contract::ContractError;
use headwater_protocol::api::ExecutionStateName;
use headwater_protocol::{Execution, ExecutionId, ExecutionState};
use headwater_store::{ExecutionFilter, ExecutionRow, Page, PageRequest, Role, StateFilter};

use crate::auth::{Identity, Need};
use crate::bodies::execution_by_row;
use crate::error::ApiError;
use crate::executions::recorder::{is_missing, is_removed};
use crate::http::paging::InParts;
use crate::state::Gateway;
use crate::worker::if_it_fits;

/// Executions of a page that are fetched at the same time: the worker sends all of their code.
const MAX_CONCURRENT_READS: usize = 4;

/// An execution and its owner.
pub(crate) type OwnedExecution = (Execution, String);

/// How long a request waits for the end of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Patience {
    /// The longest wait.
    pub(crate) at_most: Duration,
    /// Until no writer is left, instead of until the program has ended.
    pub(crate) closed: bool,
}

impl Patience {
    /// No wait.
    pub(crate) const NONE: Self = Self { at_most: Duration::ZERO, closed: false };
}

impl Gateway {
    /// An execution, when it has ended or after the longest wait.
    pub(crate) async fn look_at_execution(
        self: &Arc<Self>,
        who: &Identity,
        id: ExecutionId,
        patience: Patience,
    ) -> Result<Execution, ApiError> {
        self.auth.may_use_execution(who, Need::Read, id).await?;
        match self.wait_for(id, patience).await {
            Ok(execution) => {
                self.recorder.note_for_reader(&execution).await?;
                Ok(execution)
            }
            Err(error) if is_missing(&error) => {
                if is_removed(&error) {
                    self.recorder.note_removed_logs().await?;
                }
                let row = self.store.execution(id).await?;
                row.map(execution_by_row).ok_or_else(|| ApiError::not_found("execution", &id.to_string()))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn wait_for(&self, id: ExecutionId, patience: Patience) -> Result<Execution, ContractError> {
        if patience.at_most.is_zero() {
            return self.worker.execution(id).await;
        }
        tokio::select! {
            execution = self.worker.wait(id, patience.at_most, patience.closed) => execution,
            // A server that stops returns the current state; the client asks the next one.
            () = self.background.stopping.cancelled() => self.worker.execution(id).await,
        }
    }

    /// A page of executions with their current state.
    pub(crate) async fn list_executions(
        self: &Arc<Self>,
        who: &Identity,
        mut filter: ExecutionFilter,
        state: Option<ExecutionStateName>,
        page: PageRequest,
    ) -> Result<Page<OwnedExecution>, ApiError> {
        let (owner, among) = who.list_filter();
        // Everybody who may read a session sees all of its executions.
        let owner = owner.filter(|_| filter.session_id.is_none());
        if let (Some(own), Some(wanted)) = (&owner, &filter.owner)
            && own != wanted
        {
            let hint = "leave `owner` out to list your own; `session_id` lists those of a session that is shared with you";
            return Err(ApiError::forbidden("only operators may list the executions of others", hint));
        }
        filter.owner = owner.or(filter.owner);
        filter.among = among;
        filter.state = state.map(stored_state);
        let _permit = self.quota.lists.acquire(&who.owner).await;
        if who.role == Role::Admin {
            self.reconciler.adopt_recent().await;
        }
        let mut parts = InParts::new(page);
        while let Some(part) = parts.wanted() {
            parts.add(self.execution_rows(&filter, part).await?);
        }
        let found = parts.page();
        let mut running = HashMap::new();
        if found.items.iter().any(|row| row.end.is_none()) {
            let executions = if_it_fits(self.worker.running_in_brief(filter.session_id).await)?;
            running.extend(executions.into_iter().map(|execution| (execution.id, execution)));
        }
        let reads = found.items.into_iter().map(|row| {
            let (known, owner) = (running.remove(&row.id), row.owner.clone());
            async move { Ok((self.current_execution(row, known).await?, owner)) }
        });
        let executions: Vec<_> =
            futures_util::stream::iter(reads).buffered(MAX_CONCURRENT_READS).collect().await;
        let mut items = executions.into_iter().collect::<Result<Vec<_>, ApiError>>()?;
        if let Some(state) = state {
            items.retain(|(execution, _)| name(&execution.state) == state);
        }
        Ok(Page { items, next: found.next })
    }

    /// The owner of an execution's session; empty if the session has just been removed.
    pub(crate) async fn owner_of_execution(&self, execution: &Execution) -> String {
        self.auth.owner_of(execution.session_id).await.ok().flatten().unwrap_or_default()
    }

    /// A part of a page of rows. Each may hold megabytes of code, of which a list shows little.
    async fn execution_rows(
        &self,
        filter: &ExecutionFilter,
        part: PageRequest,
    ) -> Result<Page<ExecutionRow>, ApiError> {
        let mut found = self.store.executions(filter, part).await?;
        for row in &mut found.items {
            row.spec.command.shorten();
            row.spec.env.clear();
        }
        Ok(found)
    }

    /// The execution of a row with its current state, for a list.
    async fn current_execution(
        self: &Arc<Self>,
        row: ExecutionRow,
        known: Option<Execution>,
    ) -> Result<Execution, ApiError> {
        if row.end.as_ref().is_some_and(|end| end.closed) {
            return Ok(execution_by_row(row));
        }
        let id = row.id;
        let asked = match known {
            Some(execution) => Ok(execution),
            None => self.worker.execution(id).await,
        };
        match asked {
            Ok(mut execution) => {
                self.recorder.note_for_reader(&execution).await?;
                execution.spec.command.shorten(); // the full command is returned for single executions
                execution.spec.env.clear();
                Ok(execution)
            }
            Err(error) if is_missing(&error) => Ok(execution_by_row(row)),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes an execution that is closed, its log and its row.
    pub(crate) async fn delete_execution(
        self: &Arc<Self>,
        who: &Identity,
        id: ExecutionId,
    ) -> Result<(), ApiError> {
        self.auth.may_use_execution(who, Need::Write, id).await?;
        let (gateway, who) = (Arc::clone(self), who.clone());
        self.background.detached(async move { gateway.remove_execution(&who, id).await }).await
    }

    async fn remove_execution(self: &Arc<Self>, who: &Identity, id: ExecutionId) -> Result<(), ApiError> {
        let _removing = self.reconciler.removing.read().await;
        match self.worker.forget(id).await {
            Err(error) if !is_missing(&error) => return Err(error.into()),
            _ => {}
        }
        self.recorder.forget(id);
        self.auth.access.forget_execution(id);
        if !self.store.remove_execution(id).await? {
            return Err(ApiError::not_found("execution", &id.to_string())); // somebody else did
        }
        self.quota.meter.outdate();
        self.audit.record(who, "execution.delete", id.to_string(), String::new());
        Ok(())
    }
}

/// The states that the store distinguishes. The state of the worker decides about the rest.
const fn stored_state(state: ExecutionStateName) -> StateFilter {
    match state {
        ExecutionStateName::Queued | ExecutionStateName::Running => StateFilter::Running,
        ExecutionStateName::Exited => StateFilter::Exited,
        ExecutionStateName::Closed => StateFilter::Closed,
    }
}

const fn name(state: &ExecutionState) -> ExecutionStateName {
    match state {
        ExecutionState::Queued => ExecutionStateName::Queued,
        ExecutionState::Running { .. } => ExecutionStateName::Running,
        ExecutionState::Exited { .. } => ExecutionStateName::Exited,
        ExecutionState::Closed { .. } => ExecutionStateName::Closed,
    }
}
