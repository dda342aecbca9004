//! What follows the end of an execution: the end of a one-shot's session, the totals of kept logs, and the removal of logs.

use std::io;
use std::sync::Arc;

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::ExecutionId;

use crate::engine::Engine;
use crate::executions::execution::Execution;
use crate::sessions::session::Session;

/// A program has exited: the session of a one-shot ends with it.
pub(crate) fn has_exited(engine: &Engine, session: &Arc<Session>) {
    if session.record().spec.one_shot {
        let session = Arc::clone(session);
        engine.io_runtime.spawn(async move { session.end().await });
    }
}

/// A log is closed.
pub(crate) fn is_closed(engine: &Engine, session: &Arc<Session>, execution: &Execution) {
    count_log(engine, execution, session.record().spec.owner());
    let never_ran = execution.head().started.is_none();
    if never_ran {
        has_exited(engine, session);
    }
}

/// Counts the logs that were found at the start of the worker.
pub(crate) fn count_logs(engine: &Engine) {
    for execution in engine.executions.list(None) {
        if execution.closed_at_ms().is_some() {
            count_log(engine, &execution, &engine.sessions.owner(execution.session_id()));
        }
    }
}

fn count_log(engine: &Engine, execution: &Execution, owner: &str) {
    if execution.count_once() {
        engine.retention.add(execution.session_id(), owner, execution.log_bytes());
    }
}

/// Removes an execution and its log, on request.
pub(crate) fn forget(engine: &Engine, id: ExecutionId) -> Result<(), Fault> {
    let execution = engine.execution(id)?;
    if !execution.head().closed {
        let fault = Fault::new(FaultKind::Conflict, format!("`{id}` is not closed yet"));
        return Err(fault.hint("cancel it first"));
    }
    remove(engine, &execution).map_err(|error| {
        Fault::new(FaultKind::Unavailable, format!("cannot remove the log of `{id}`: {error}"))
    })
}

/// Removes an execution whose log is closed, with its log.
pub(crate) fn remove(engine: &Engine, execution: &Execution) -> io::Result<()> {
    execution.remove()?;
    if engine.executions.remove(execution.id()) {
        engine.retention.subtract(execution.session_id(), execution.log_bytes());
    }
    Ok(())
}
