//! Marks the session of a build. Its results go into the cache, for other builds too: only the build may start executions
//! in it or change its files, not even its owner.

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::{ExecutionId, SessionId, SessionSpec};

use crate::engine::Engine;

/// Reserved metadata of a session: the only execution that may be started in it. Only the worker sets it.
const BUILD_METADATA: &str = "headwater.build";

/// Marks a session as the one of a build, which runs as this execution.
pub(super) fn mark(spec: &mut SessionSpec, execution: ExecutionId) {
    spec.metadata.insert(BUILD_METADATA.to_owned(), execution.to_string());
}

/// Whether a session is marked for this execution.
pub(super) fn is_marked_for(spec: &SessionSpec, execution: ExecutionId) -> bool {
    spec.metadata.get(BUILD_METADATA).is_some_and(|mark| *mark == execution.to_string())
}

/// Removes the mark from a spec of a caller.
pub(crate) fn strip(spec: &mut SessionSpec) {
    spec.metadata.remove(BUILD_METADATA);
}

fn refused() -> Fault {
    Fault::new(FaultKind::Conflict, "this session belongs to a build")
        .hint("use the session that the build was requested for; a build can be followed and cancelled")
}

/// Refuses the session of a build, whether it runs or has ended, and one that does not exist.
pub(crate) fn refuse_build(engine: &Engine, id: SessionId) -> Result<(), Fault> {
    let is_marked = engine.sessions.with_spec(id, |spec| spec.metadata.contains_key(BUILD_METADATA))?;
    if is_marked { Err(refused()) } else { Ok(()) }
}

/// Refuses to start other executions in the session of a build.
pub(crate) fn check_start(engine: &Engine, id: SessionId, execution: ExecutionId) -> Result<(), Fault> {
    let may =
        |spec: &SessionSpec| !spec.metadata.contains_key(BUILD_METADATA) || is_marked_for(spec, execution);
    if engine.sessions.with_spec(id, may)? { Ok(()) } else { Err(refused()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_of_one_execution_and_is_not_taken_from_others() {
        let (mut spec, own) = (SessionSpec::default(), ExecutionId::random());
        assert!(!is_marked_for(&spec, own));
        mark(&mut spec, own);
        assert!(is_marked_for(&spec, own) && !is_marked_for(&spec, ExecutionId::random()));
        strip(&mut spec);
        assert_eq!(spec, SessionSpec::default());
    }
}
