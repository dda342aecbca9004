//! The mark of a build's own session. What is made there goes into the cache, for others too: nobody but the build may
//! start anything in it or touch its files, whoever owns it.

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::{ExecutionId, SessionId, SessionSpec};

use crate::engine::Engine;

/// Reserved metadata of a session: the one execution that may be started in it. Set by the worker, taken from nobody.
const MARK: &str = "headwater.build";

/// Marks a session as that of the build which this execution runs.
pub(super) fn put(spec: &mut SessionSpec, execution: ExecutionId) {
    spec.metadata.insert(MARK.to_owned(), execution.to_string());
}

/// Whether it has the mark of this execution.
pub(super) fn is_of(spec: &SessionSpec, execution: ExecutionId) -> bool {
    spec.metadata.get(MARK).is_some_and(|mark| *mark == execution.to_string())
}

/// Removes what only the worker itself may say of a session.
pub(crate) fn strip(spec: &mut SessionSpec) {
    spec.metadata.remove(MARK);
}

fn refused() -> Fault {
    Fault::new(FaultKind::Conflict, "this session belongs to a build")
        .hint("use the session that the build was asked for in; a build can be followed and cancelled")
}

/// Refuses the session of a build, whether it runs or has ended, and one that does not exist.
pub(crate) fn refuse_build(engine: &Engine, id: SessionId) -> Result<(), Fault> {
    let is_marked = engine.sessions.with_spec(id, |spec| spec.metadata.contains_key(MARK))?;
    if is_marked { Err(refused()) } else { Ok(()) }
}

/// Refuses to start anything in the session of a build but what the build itself runs.
pub(crate) fn check_start(engine: &Engine, id: SessionId, execution: ExecutionId) -> Result<(), Fault> {
    let may = |spec: &SessionSpec| !spec.metadata.contains_key(MARK) || is_of(spec, execution);
    if engine.sessions.with_spec(id, may)? { Ok(()) } else { Err(refused()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_of_one_execution_and_is_not_taken_from_others() {
        let (mut spec, own) = (SessionSpec::default(), ExecutionId::random());
        assert!(!is_of(&spec, own));
        put(&mut spec, own);
        assert!(is_of(&spec, own) && !is_of(&spec, ExecutionId::random()));
        strip(&mut spec);
        assert_eq!(spec, SessionSpec::default());
    }
}
