//! Sessions and executions in the form of the API, and the check of their metadata: names that begin with
//! `headwater.` are reserved for the gateway. They are neither accepted from clients nor shown to them.

use std::collections::BTreeMap;

use headwater_protocol::api::{ExecutionBody, SessionBody};
use headwater_protocol::{Execution, ExecutionState, Seq, Session, SessionState, Verdict};
use headwater_store::{ExecutionEnd, ExecutionRow, SessionRow};

use crate::error::ApiError;

/// The prefix of reserved metadata names.
const RESERVED: &str = "headwater.";
/// The metadata key of a session's owner: the worker keeps it, so that the store can be rebuilt.
pub(crate) const OWNER: &str = headwater_protocol::OWNER_METADATA;

/// Refuses metadata with reserved names.
pub(crate) fn check_metadata(metadata: &BTreeMap<String, String>) -> Result<(), ApiError> {
    match metadata.keys().find(|name| is_reserved(name)) {
        None => Ok(()),
        Some(name) => {
            let name: String = name.chars().take(64).collect();
            let error = ApiError::invalid(format!(
                "`metadata.{name}`: names that begin with `{RESERVED}` are reserved"
            ));
            Err(error.hint("choose another name"))
        }
    }
}

/// Whether only the gateway uses this name.
pub(crate) fn is_reserved(name: &str) -> bool {
    name.starts_with(RESERVED)
}

fn strip(metadata: &mut BTreeMap<String, String>) {
    metadata.retain(|name, _| !is_reserved(name));
}

/// A session as clients see it.
pub(crate) fn session_body(session: Session) -> SessionBody {
    let mut body = SessionBody::from(session);
    strip(&mut body.metadata);
    body
}

/// The same for a caller with read-only access: the names of environment variables without their values.
pub(crate) fn session_body_without_values(mut session: Session) -> SessionBody {
    let env_hidden = !session.spec.env.is_empty();
    session.spec.env.values_mut().for_each(String::clear);
    SessionBody { env_hidden, ..session_body(session) }
}

/// An execution as clients see it, with the owner of its session.
pub(crate) fn execution_body(execution: Execution, owner: String) -> ExecutionBody {
    let mut body = ExecutionBody::from(execution);
    strip(&mut body.metadata);
    ExecutionBody { owner, ..body }
}

/// The exit status as one number, as shells report it: the exit code, or 128 plus the signal; -1 if there is
/// neither.
pub(crate) fn exit_number(verdict: &Verdict) -> i32 {
    verdict.exit_status().unwrap_or(-1)
}

/// A session from its row in the store, for sessions that the worker does not know: they have ended.
pub(crate) fn session_by_row(row: SessionRow, now_ms: u64) -> Session {
    let state = SessionState::Ended { ended_at_ms: row.ended_at_ms.unwrap_or(now_ms) };
    let SessionRow { id, spec, sandbox, created_at_ms, .. } = row;
    Session { id, spec, sandbox, state, created_at_ms, running: 0 }
}

/// An execution from its row in the store.
pub(crate) fn execution_by_row(row: ExecutionRow) -> Execution {
    let verdict = row.end.as_ref().map(|end| &end.verdict);
    let [stdout_bytes, stderr_bytes, output_bytes] =
        verdict.map_or([0; 3], |verdict| [verdict.stdout_bytes, verdict.stderr_bytes, verdict.output_bytes]);
    let (started_at_ms, last_seq) =
        row.end.as_ref().map_or((row.queued_at_ms, Seq(0)), |end| (end.started_at_ms, end.last_seq));
    let state = match row.end {
        None => ExecutionState::Queued,
        Some(ExecutionEnd { verdict, closed: false, .. }) => ExecutionState::Exited { verdict },
        Some(ExecutionEnd { verdict, .. }) => ExecutionState::Closed { verdict },
    };
    let (id, session_id, spec, log_removed) = (row.id, row.session_id, row.spec, row.log_removed);
    Execution {
        id,
        session_id,
        spec,
        state,
        started_at_ms,
        stdout_bytes,
        stderr_bytes,
        output_bytes,
        last_seq,
        log_removed,
    }
}

#[cfg(test)]
mod tests {
    use headwater_protocol::{ExecutionId, Reason, SessionId, StartSpec};

    use super::*;
    use crate::executions::start::execution_row;

    fn metadata(names: &[&str]) -> BTreeMap<String, String> {
        names.iter().map(|name| ((*name).to_owned(), "x".to_owned())).collect()
    }

    #[test]
    fn reserved_metadata_is_neither_taken_nor_shown() {
        assert!(check_metadata(&metadata(&["a", "headwater", "Headwater.x"])).is_ok());
        let error = check_metadata(&metadata(&["a", OWNER])).unwrap_err();
        assert!(error.message.contains(OWNER) && error.status == 400, "{error:?}");
        let mut shown = metadata(&["a", OWNER, "headwater.other"]);
        strip(&mut shown);
        assert_eq!(shown, metadata(&["a"]));
    }

    #[test]
    fn a_row_has_the_exit_of_its_execution() {
        let spec = StartSpec::shell("true");
        let mut row = execution_row(ExecutionId::random(), SessionId::random(), "ann".into(), spec, 1_000);
        assert_eq!(execution_by_row(row.clone()).state, ExecutionState::Queued);
        let verdict = Verdict {
            code: Some(3),
            duration_ms: 5,
            stdout_bytes: 7,
            stderr_bytes: 8,
            ..Verdict::new(Reason::Exited)
        };
        let end = ExecutionEnd {
            verdict: verdict.clone(),
            started_at_ms: 1_010,
            exited_at_ms: 1_015,
            last_seq: Seq(9),
            closed: true,
        };
        row.end = Some(end);
        let execution = execution_by_row(row);
        assert_eq!(execution.state, ExecutionState::Closed { verdict });
        assert_eq!(
            (execution.started_at_ms, execution.stdout_bytes, execution.stderr_bytes, execution.last_seq),
            (1_010, 7, 8, Seq(9))
        );
    }
}
