//! At most 64 live executions for one agent. One more start ends another, and says which.

use std::sync::Arc;
use std::time::Duration;

use headwater_protocol::{Execution, ExecutionState, now_ms};
use tokio::sync::{Mutex, OwnedRwLockReadGuard, RwLock};

use super::find::{is_own, label, of_session};
use super::report::with_notes;
use crate::agent::Agent;
use crate::error::ToolError;

/// The live executions of one agent: those that run, and ended ones whose children still run.
pub const MAX_LIVE: usize = 64;
/// The executions that were used most recently are never ended for another one.
const RECENT: usize = 8;
/// The time between SIGTERM and SIGKILL: the call that needs the room waits for it.
const GRACE: Duration = Duration::from_secs(1);
/// How long an end is awaited. After SIGKILL only a machine under heavy load needs more than a moment.
const END_PATIENCE: Duration = Duration::from_secs(30);

/// Counts the live executions of one agent.
#[derive(Debug, Default)]
pub(super) struct Room {
    /// How many commands can start before those that run must be counted again.
    allowance: Mutex<usize>,
    /// Read by each start that is not listed yet, written by a count: it waits for all of them.
    starting: Arc<RwLock<()>>,
}

/// A place among the live executions. It is held until the start has succeeded or failed: before that, no list has the
/// execution, and a count would miss it.
#[derive(Debug)]
pub(super) struct Seat {
    /// A note for each execution that was ended for it.
    pub(super) notes: Vec<String>,
    _starting: OwnedRwLockReadGuard<()>,
}

/// Makes room for one more execution.
pub(super) async fn make_room(agent: &Agent) -> Result<Seat, ToolError> {
    let room = &agent.memory().room;
    let mut allowance = room.allowance.lock().await;
    let starting = Arc::clone(&room.starting);
    if let Some(left) = allowance.checked_sub(1) {
        *allowance = left;
        return Ok(Seat { notes: Vec::new(), _starting: starting.read_owned().await });
    }
    // Nobody else can begin to start: that needs the allowance.
    let counting = starting.write_owned().await;
    let mut live: Vec<Execution> = of_session(agent).await?;
    live.retain(|execution| is_own(agent, execution) && is_live(execution));
    live.sort_by_key(|execution| (agent.memory().last_use(execution.id), execution.started_at_ms));
    let mut notes = Vec::new();
    for victim in victims(&live) {
        let ended = end(agent, victim).await;
        ended.map_err(|error| with_lost_notes(error, &notes))?;
        notes.push(note(victim));
    }
    *allowance = MAX_LIVE.saturating_sub(live.len() - notes.len() + 1);
    Ok(Seat { notes, _starting: counting.downgrade() })
}

/// An error that says which executions were ended in vain.
pub(super) fn with_lost_notes(mut error: ToolError, notes: &[String]) -> ToolError {
    error.message = with_notes(error.message, notes);
    error
}

/// Whether it has exited and its children run. Its output is closed a moment after it.
pub(super) fn has_children(execution: &Execution) -> bool {
    const MOMENT_MS: u64 = 1000;
    execution.state.verdict().is_some_and(|verdict| {
        is_live(execution) && now_ms() > execution.started_at_ms + verdict.duration_ms + MOMENT_MS
    })
}

/// Whether it runs, or has exited and its children run.
pub(super) fn is_live(execution: &Execution) -> bool {
    !matches!(execution.state, ExecutionState::Closed { .. })
}

/// Those that must end so that one more fits: ended ones whose children still run first, then the least
/// recently used. `live` is ordered by use.
fn victims(live: &[Execution]) -> Vec<&Execution> {
    let excess = (live.len() + 1).saturating_sub(MAX_LIVE);
    let older = live.get(..live.len().saturating_sub(RECENT)).unwrap_or_default();
    let has_exited = |execution: &&Execution| execution.state.verdict().is_some();
    let running = older.iter().filter(|execution| !has_exited(execution));
    live.iter().filter(has_exited).chain(running).take(excess).collect()
}

async fn end(agent: &Agent, victim: &Execution) -> Result<(), ToolError> {
    let (client, id) = (agent.host().calls(), victim.id);
    // A call may wait for it: its result says why it ended.
    agent.memory().let_go(id);
    client.retry(|client| client.cancel(id, Some(GRACE))).await?;
    let ended = client.retry(|client| client.wait(id, END_PATIENCE, true)).await?;
    if is_live(&ended) {
        return Err(ToolError::new(format!(
            "limit of {MAX_LIVE} live commands: session {} does not end, so there is no room for one more",
            label(victim)
        ))
        .hint("End others with kill, or call the tool again in a moment"));
    }
    Ok(())
}

fn note(victim: &Execution) -> String {
    let ended = if victim.state.verdict().is_some() {
        format!("the children of session {} were", label(victim))
    } else {
        format!("session {} was", label(victim))
    };
    format!("limit of {MAX_LIVE} live commands: {ended} ended to make room; read_output still has its output")
}

#[cfg(test)]
mod tests {
    use headwater_protocol::{ExecutionId, Reason, Seq, SessionId, StartSpec, Verdict};

    use super::*;

    fn execution(state: ExecutionState) -> Execution {
        Execution {
            id: ExecutionId::random(),
            session_id: SessionId::random(),
            spec: StartSpec::shell("true"),
            state,
            started_at_ms: 0,
            stdout_bytes: 0,
            stderr_bytes: 0,
            output_bytes: 0,
            last_seq: Seq(0),
            log_removed: None,
        }
    }

    fn all(running: usize, exited_at: &[usize]) -> Vec<Execution> {
        let exited = || ExecutionState::Exited { verdict: Verdict::new(Reason::Exited) };
        let state = |n| if exited_at.contains(&n) { exited() } else { ExecutionState::Running { pid: 1 } };
        (0..running).map(|n| execution(state(n))).collect()
    }

    #[test]
    fn ended_ones_go_first_then_the_least_recently_used_and_never_the_most_recent_running_ones() {
        assert!(victims(&all(MAX_LIVE - 1, &[5])).is_empty());
        let live = all(MAX_LIVE, &[]);
        assert_eq!(victims(&live)[0].id, live[0].id);
        let live = all(MAX_LIVE, &[60]);
        assert_eq!(victims(&live).len(), 1);
        assert_eq!(victims(&live)[0].id, live[60].id);
        let live = all(MAX_LIVE + 1, &[3]);
        let ids: Vec<_> = victims(&live).iter().map(|victim| victim.id).collect();
        assert_eq!(ids, [live[3].id, live[0].id]);
        let most = all(200, &[]);
        let ended = victims(&most);
        assert_eq!(ended.len(), 200 + 1 - MAX_LIVE);
        assert!(most[192..].iter().all(|recent| ended.iter().all(|victim| victim.id != recent.id)));
    }
}
