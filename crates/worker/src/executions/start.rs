//! Starting an execution: checks, the session (resumed if it is hibernated), the program, a permit, and the table.

use std::sync::Arc;

use headwater_contract::Fault;
use headwater_protocol::{ExecutionId, SessionId, StartSpec};

use crate::builds::reserved;
use crate::engine::Engine;
use crate::executions::code::with_language;
use crate::executions::program::Program;
use crate::retention::ensure_room_for_logs;
use crate::sessions::create::check_limits;
use crate::sessions::hibernation;
use crate::sessions::session::{Accepted, Expects, Granted};

/// Starts something. If the session has an execution with this id already, it starts nothing and returns that one.
pub(crate) async fn start(
    engine: &Engine,
    session: SessionId,
    id: Option<ExecutionId>,
    spec: StartSpec,
    expects: Expects,
) -> Result<Accepted, Fault> {
    spec.check()?;
    check_limits(engine, &spec.limits)?;
    let id = id.unwrap_or_else(ExecutionId::random);
    let _lock = engine.executions.lock(id).await;
    if let Some(known) = engine.executions.get(id) {
        return Accepted::known(known, session);
    }
    if let Some(fault) = engine.retention.fault(id) {
        return Err(fault); // it has run, and an id runs once
    }
    reserved::check_start(engine, session, id)?;
    ensure_room_for_logs(engine, session).await?;
    let (session, _guard) = hibernation::resumed(engine, session).await?;
    let ended = |fault| engine.sessions.cause(session.id(), fault);
    let (language, spec) = with_language(&engine.languages, &session, spec).await.map_err(ended)?;
    let program = Program::new(&spec.command, language.as_ref(), id, &session.home())?;
    let program = engine.terminals.shell(program, &spec, id);
    let (running, terminals) = (engine.config.max_running, engine.config.terminals.of_owner);
    let permit = engine.execution_permits.try_acquire(session.permit_holder(), &spec, running, terminals)?;
    let accepted = session.start(id, spec, program, Granted { permit, expects }).await.map_err(ended)?;
    engine.executions.insert(Arc::clone(&accepted.execution));
    Ok(accepted)
}
