//! Quotas: what an owner may use, checked before something is made or started. What runs is never ended for a quota.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use headwater_contract::v1::OwnerDisk;
use headwater_protocol::Verdict;

use crate::error::ApiError;
use crate::now_ms;
use crate::quota::admission::{Permit, Refusal, Rules};
use crate::state::Gateway;

const DAY_MS: u64 = 86_400_000;
/// How old a look at the disk may be for an answer.
const FRESH: Duration = Duration::from_secs(1);
/// The most that an execution counts for before the next look: what is kept of it unless it asked for more.
const MOST_PRINTED: u64 = 256 << 20;

/// Bytes that an owner keeps on the disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Disk {
    pub(crate) workspace_bytes: u64,
    pub(crate) snapshot_bytes: u64,
    /// Of all logs, those of running executions included.
    pub(crate) log_bytes: u64,
    /// Logs of ended executions.
    pub(crate) logs: u64,
}

impl Disk {
    /// All of it.
    pub(crate) const fn total(&self) -> u64 {
        self.workspace_bytes.saturating_add(self.snapshot_bytes).saturating_add(self.log_bytes)
    }
}

#[derive(Debug, Default)]
struct Seen {
    /// Processor time of processes that live: what has ended is in the store.
    cpu_ms: HashMap<String, u64>,
    disk: HashMap<String, Disk>,
    /// When the disk was last looked at; `None` if something was removed since.
    looked_at: Option<Instant>,
}

/// What was last seen of everybody.
#[derive(Debug, Default)]
pub(crate) struct Meter(Mutex<Seen>);

impl Meter {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces what was seen of processors.
    pub(crate) fn set_cpu(&self, cpu_ms: HashMap<String, u64>) {
        self.seen().cpu_ms = cpu_ms;
    }

    /// Replaces what was seen of the disk.
    pub(crate) fn set_disk(&self, owners: Vec<OwnerDisk>) {
        let mut seen = self.seen();
        seen.disk = owners.into_iter().map(|one| (one.owner.clone(), disk(&one))).collect();
        seen.looked_at = Some(Instant::now());
    }

    /// Something was removed: the next look must not be answered from memory.
    pub(crate) fn outdate(&self) {
        self.seen().looked_at = None;
    }

    fn is_fresh(&self) -> bool {
        self.seen().looked_at.is_some_and(|at| at.elapsed() < FRESH)
    }

    /// An execution has printed this and ended: it counts before the next look.
    fn add_log(&self, owner: &str, bytes: u64) {
        self.seen().disk.entry(owner.to_owned()).or_default().log_bytes += bytes.min(MOST_PRINTED);
    }

    fn cpu_of(&self, owner: &str) -> u64 {
        self.seen().cpu_ms.get(owner).copied().unwrap_or_default()
    }

    /// What this owner was last seen to keep on the disk.
    pub(crate) fn disk_of(&self, owner: &str) -> Disk {
        self.seen().disk.get(owner).copied().unwrap_or_default()
    }
}

pub(crate) fn disk(told: &OwnerDisk) -> Disk {
    let OwnerDisk { workspace_bytes, snapshot_bytes, log_bytes, logs, .. } = *told;
    Disk { workspace_bytes, snapshot_bytes, log_bytes, logs }
}

/// The day that a moment is in, since 1970, in UTC.
pub(crate) const fn day(at_ms: u64) -> u64 {
    at_ms / DAY_MS
}

impl Gateway {
    /// Lets an owner make one more session, or tells why not.
    pub(crate) async fn may_make_session(&self, owner: &str) -> Result<(), ApiError> {
        let quota = self.config.quotas.of(owner);
        if let Some(most) = quota.sessions
            && self.store.count_sessions(owner).await? >= most
        {
            let message = format!("{most} sessions of `{owner}` are there already: that is the quota");
            return Err(exceeded(message, "delete one; `GET /v1/usage` tells what is used", None));
        }
        self.has_disk(owner).await
    }

    async fn has_disk(&self, owner: &str) -> Result<(), ApiError> {
        let Some(most) = self.config.quotas.of(owner).disk_bytes else {
            return Ok(());
        };
        if self.meter.disk_of(owner).total() < most {
            return Ok(());
        }
        // Before somebody is refused: some of it may be gone by now.
        self.look_at_disk().await?;
        let used = self.meter.disk_of(owner);
        if used.total() < most {
            return Ok(());
        }
        let message = format!(
            "`{owner}` keeps {} bytes on the disk (workspaces {}, snapshots {}, logs {}), and its quota is {most}",
            used.total(),
            used.workspace_bytes,
            used.snapshot_bytes,
            used.log_bytes
        );
        Err(exceeded(
            message,
            "remove files, snapshots or logs (`POST /v1/prune`), or delete a session",
            None,
        ))
    }

    /// Has the meter show the disk as it is, give or take a second.
    pub(crate) async fn look_at_disk(&self) -> Result<(), ApiError> {
        if self.meter.is_fresh() {
            return Ok(());
        }
        self.measure_disk().await
    }

    /// Has the meter and the metrics show the disk as it is.
    pub(crate) async fn measure_disk(&self) -> Result<(), ApiError> {
        let told = self.worker.disk().await?;
        self.metrics.disk(&told);
        self.meter.set_disk(told.owners);
        Ok(())
    }

    /// Lets an owner start one more execution, now or when its turn comes, or tells why not.
    pub(crate) async fn may_start(&self, owner: &str, what: &str) -> Result<Permit, ApiError> {
        let quotas = &self.config.quotas;
        let quota = quotas.of(owner);
        self.has_disk(owner).await?;
        if let Some(most) = quota.cpu_per_day
            && self.cpu_today(owner).await? >= most
        {
            let (seconds, wait) = (most.as_secs(), DAY_MS - now_ms() % DAY_MS);
            let message = format!("`{owner}` has used its {seconds} s of processor time of today");
            return Err(exceeded(
                message,
                "the next day begins at midnight UTC",
                Some(Duration::from_millis(wait)),
            ));
        }
        let rules = Rules {
            own: quota.executions,
            all: quotas.executions_of_all,
            queue_length: quotas.queue_length,
            patience: quotas.queue_wait,
        };
        self.admission.enter(owner, what, rules).await.map_err(|refusal| {
            let message = match refusal {
                Refusal::QueueFull(waiting) => format!("{waiting} starts of `{owner}` wait already"),
                Refusal::Waited(place) => {
                    format!("no place became free in time; this start was number {place} of the queue")
                }
            };
            let hint =
                "wait for something to end, or end something; `GET /v1/usage` tells what runs and waits";
            exceeded(message, hint, Some(Duration::from_secs(5)))
        })
    }

    /// An owner's processor time of today.
    pub(crate) async fn cpu_today(&self, owner: &str) -> Result<Duration, ApiError> {
        let ended = self.store.cpu_of_day(owner, day(now_ms())).await?;
        Ok(Duration::from_millis(ended + self.meter.cpu_of(owner)))
    }

    /// Counts what an execution has used, which has just ended.
    pub(crate) async fn count_usage(&self, owner: &str, verdict: &Verdict) {
        let printed = [verdict.stdout_bytes, verdict.stderr_bytes, verdict.output_bytes];
        self.meter.add_log(owner, printed.into_iter().fold(0, u64::saturating_add));
        if self.config.quotas.of(owner).cpu_per_day.is_none() || verdict.usage.cpu_ms == 0 {
            return;
        }
        if let Err(error) = self.store.add_cpu(owner, day(now_ms()), verdict.usage.cpu_ms).await {
            tracing::error!(%error, owner, "used processor time is not counted");
        }
    }
}

fn exceeded(message: String, hint: &'static str, retry_after: Option<Duration>) -> ApiError {
    let error = ApiError::new(StatusCode::TOO_MANY_REQUESTS, "quota_exceeded", message, hint);
    ApiError { retry_after, ..error }
}
