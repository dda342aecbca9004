//! The sweep: removes the logs that the policy names, and the folders of ended sessions that have no log left.
//!
//! A removal is recorded in the journal first, then the log is removed from the tables, then its folder. After a crash
//! the next worker completes the removal, so there is never a partial log.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use headwater_contract::{Fault, FaultKind, v1};
use headwater_protocol::{SessionId, now_ms};

use super::journal::Entry;
use super::policy::{self, Kept, Sum, Why};
use super::{Filter, lock};
use crate::engine::Engine;
use crate::executions::ended;
use crate::executions::execution::Execution;
use crate::sessions::end;

/// The time between two regular sweeps, for logs that become too old. Shorter if `age` is shorter.
const SWEEP_INTERVAL: Duration = Duration::from_mins(1);
/// The pause after a sweep that removed nothing although a bound is exceeded, because the logs are too new.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// A reader keeps a log from being removed, but no longer than this after the end.
const MAX_READER_HOLD_MS: u64 = 3_600_000;
/// The most ids in the response to a prune.
const MAX_NAMED_IDS: usize = 1_000;

/// Sweeps until the worker stops.
pub(crate) async fn run(engine: Arc<Engine>) {
    let every =
        engine.retention.rules.age.map_or(SWEEP_INTERVAL, |age| age.clamp(RETRY_PAUSE, SWEEP_INTERVAL));
    loop {
        if sweep(&engine).await.logs == 0 {
            tokio::select! {
                () = engine.stop.cancelled() => return,
                () = tokio::time::sleep(RETRY_PAUSE) => {}
            }
        }
        tokio::select! {
            () = engine.stop.cancelled() => return,
            () = engine.retention.wake.notified() => {}
            () = tokio::time::sleep(every) => {}
        }
    }
}

/// Applies the rules once. Returns what was removed.
async fn sweep(engine: &Arc<Engine>) -> Sum {
    let engine = Arc::clone(engine);
    let work = move || {
        let _turn = lock(&engine.retention.sweeping);
        let (executions, kept) = snapshot(&engine);
        let chosen = policy::choose(&kept, &engine.retention.rules, now_ms());
        let removed = remove(&engine, &executions, &kept, &chosen);
        end::remove_empty(&engine, engine.retention.rules.keep_at_least);
        removed
    };
    tokio::task::spawn_blocking(work).await.unwrap_or_default()
}

/// Removes what a caller names, or only reports it.
pub(crate) async fn prune(
    engine: &Arc<Engine>,
    filter: Filter,
    dry_run: bool,
) -> Result<v1::PruneResponse, Fault> {
    let engine = Arc::clone(engine);
    let work = move || {
        let _turn = lock(&engine.retention.sweeping);
        let (executions, kept) = snapshot(&engine);
        let chosen = policy::prune(&kept, &filter, &engine.retention.rules, now_ms());
        if !dry_run {
            remove(&engine, &executions, &kept, &chosen);
            end::remove_empty(&engine, Duration::ZERO);
        }
        v1::PruneResponse {
            logs: chosen.len() as u64,
            bytes: chosen.iter().map(|(n, _)| kept[*n].bytes).sum(),
            execution_ids: chosen.iter().take(MAX_NAMED_IDS).map(|(n, _)| kept[*n].id.to_string()).collect(),
        }
    };
    let stopping = |_| Fault::new(FaultKind::Internal, "the worker is stopping");
    tokio::task::spawn_blocking(work).await.map_err(stopping)
}

/// Refuses a start if there is no room for its log, even after a sweep.
pub(crate) async fn ensure_room_for_logs(engine: &Engine, session: SessionId) -> Result<(), Fault> {
    let owner = engine.sessions.with_spec(session, |spec| spec.owner().to_owned())?;
    if engine.retention.full(&owner).is_none() {
        return Ok(());
    }
    if let Some(engine) = engine.weak().upgrade() {
        sweep(&engine).await;
    }
    engine.retention.full(&owner).map_or(Ok(()), Err)
}

/// All logs as they are now.
fn snapshot(engine: &Engine) -> (Vec<Arc<Execution>>, Vec<Kept>) {
    let executions = engine.executions.list(None);
    let mut owners: HashMap<SessionId, Arc<str>> = HashMap::new();
    let now = now_ms();
    let mut kept = Vec::with_capacity(executions.len());
    for execution in &executions {
        let session = execution.session_id();
        let owner = owners.entry(session).or_insert_with(|| engine.sessions.owner(session));
        let ended_at_ms = execution.closed_at_ms();
        let is_recent = ended_at_ms.is_some_and(|at| now.saturating_sub(at) < MAX_READER_HOLD_MS);
        kept.push(Kept {
            id: execution.id(),
            session,
            owner: Arc::clone(owner),
            ended_at_ms,
            bytes: execution.log_bytes(),
            is_read: is_recent && execution.is_read(),
        });
    }
    (executions, kept)
}

/// Removes what was chosen.
fn remove(engine: &Engine, executions: &[Arc<Execution>], kept: &[Kept], chosen: &[(usize, Why)]) -> Sum {
    let mut total = Sum::default();
    if chosen.is_empty() {
        return total;
    }
    let retention = &engine.retention;
    lock(&retention.journal).add(chosen.iter().map(|(n, why)| Entry::new(&executions[*n].info(), *why)));
    let mut reasons: BTreeMap<Why, Sum> = BTreeMap::new();
    for (n, why) in chosen {
        if let Err(error) = ended::remove(engine, &executions[*n]) {
            tracing::warn!(execution = %kept[*n].id, %error, "cannot remove a log");
        }
        reasons.entry(*why).or_default().add(1, kept[*n].bytes);
        total.add(1, kept[*n].bytes);
    }
    let mut removed = lock(&retention.removed);
    let mut count = |why: Why| {
        let sum = reasons.get(&why).copied().unwrap_or_default();
        removed.entry(why).or_default().add(sum.logs, sum.bytes);
        sum.logs
    };
    tracing::info!(
        logs = total.logs,
        bytes = total.bytes,
        age = count(Why::Age),
        number = count(Why::Number),
        size = count(Why::Size),
        prune = count(Why::Prune),
        "removed logs of ended executions"
    );
    total
}
