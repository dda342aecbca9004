//! Quotas: what an owner may use, checked before something is created or started. Running programs are never ended
//! because of a quota.

pub(crate) mod admission;
mod meter;
pub(crate) mod owner_permits;
pub(crate) mod rates;
pub(crate) mod watchdog;

use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater_protocol::Verdict;
use headwater_protocol::api::ErrorCode;
use headwater_store::Store;

use crate::config::Quotas;
use crate::error::ApiError;
use crate::metrics::Metrics;
use crate::now_ms;
use crate::quota::admission::{Admission, Permit, Refusal, Rules};
use crate::quota::meter::Meter;
use crate::quota::owner_permits::OwnerPermits;
use crate::worker::Worker;

const DAY_MS: u64 = 86_400_000;
/// Lists that are assembled at once, in all: each may read many MiB from the store.
const MAX_LISTS: usize = 8;
/// Lists of one owner that are assembled at once.
const MAX_LISTS_OF_OWNER: usize = 2;

/// The quotas of all owners, and what counts towards them.
#[derive(Debug)]
pub(crate) struct Quota {
    limits: Quotas,
    store: Arc<dyn Store>,
    worker: Arc<Worker>,
    metrics: Arc<Metrics>,
    /// Executions that run or wait.
    pub(crate) admission: Admission,
    /// What owners use, by the last measurement.
    pub(crate) meter: Meter,
    /// Permits for lists.
    pub(crate) lists: OwnerPermits,
}

/// The day of a moment, in days since 1970 (UTC).
pub(crate) const fn day(at_ms: u64) -> u64 {
    at_ms / DAY_MS
}

impl Quota {
    /// Quotas with these limits.
    pub(crate) fn new(
        limits: Quotas,
        store: Arc<dyn Store>,
        worker: Arc<Worker>,
        metrics: Arc<Metrics>,
    ) -> Self {
        let lists = OwnerPermits::new(MAX_LISTS, MAX_LISTS_OF_OWNER);
        Self {
            limits,
            store,
            worker,
            metrics,
            admission: Admission::default(),
            meter: Meter::default(),
            lists,
        }
    }

    /// Whether an owner may create one more session.
    pub(crate) async fn may_create_session(&self, owner: &str) -> Result<(), ApiError> {
        let quota = self.limits.of(owner);
        if let Some(most) = quota.sessions
            && self.store.count_sessions(owner).await? >= most
        {
            let message = format!("`{owner}` has {most} sessions, which is its quota");
            return Err(exceeded(message, "delete one; `GET /v1/usage` shows what is used", None));
        }
        self.has_disk(owner).await
    }

    async fn has_disk(&self, owner: &str) -> Result<(), ApiError> {
        let Some(most) = self.limits.of(owner).disk_bytes else {
            return Ok(());
        };
        if self.meter.disk_of(owner).total() < most {
            return Ok(());
        }
        // Measured again before the refusal: files may have been removed since.
        self.refresh_disk().await?;
        let used = self.meter.disk_of(owner);
        if used.total() < most {
            return Ok(());
        }
        let message = format!(
            "`{owner}` uses {} bytes of disk (workspaces {}, snapshots {}, logs {}); its quota is {most}",
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

    /// Measures the disk, unless the last measurement is younger than a second.
    pub(crate) async fn refresh_disk(&self) -> Result<(), ApiError> {
        if self.meter.is_fresh() {
            return Ok(());
        }
        self.measure_disk().await
    }

    /// Measures the disk, for the quotas and the metrics.
    pub(crate) async fn measure_disk(&self) -> Result<(), ApiError> {
        let disk = self.worker.disk().await?;
        self.metrics.figures.set_report(&disk);
        self.meter.set_disk(disk.owners);
        Ok(())
    }

    /// Waits until an owner may start one more execution. The permit counts it while it runs.
    pub(crate) async fn may_start(&self, owner: &str, what: &str) -> Result<Permit, ApiError> {
        let quotas = &self.limits;
        let quota = quotas.of(owner);
        self.has_disk(owner).await?;
        if let Some(most) = quota.cpu_per_day
            && self.cpu_today(owner).await? >= most
        {
            let (seconds, wait) = (most.as_secs(), DAY_MS - now_ms() % DAY_MS);
            let message = format!("`{owner}` has used its {seconds} s of CPU time of today");
            return Err(exceeded(
                message,
                "the quota is renewed at midnight UTC",
                Some(Duration::from_millis(wait)),
            ));
        }
        let rules = Rules {
            own: quota.executions,
            all: quotas.executions_of_all,
            queue_length: quotas.queue_length,
            max_wait: quotas.queue_wait,
        };
        let began = Instant::now();
        let entered = self.admission.enter(owner, what, rules).await;
        self.metrics.queued(began.elapsed(), entered.as_ref().err());
        entered.map_err(|refusal| {
            let message = match refusal {
                Refusal::QueueFull(waiting) => {
                    format!("{waiting} starts of `{owner}` are already in the queue")
                }
                Refusal::TimedOut(position) => {
                    format!("the start timed out in the queue, at position {position}")
                }
            };
            let hint =
                "wait for an execution to end, or cancel one; `GET /v1/usage` lists what runs and waits";
            exceeded(message, hint, Some(Duration::from_secs(5)))
        })
    }

    /// The CPU time of today (UTC) of an owner, live processes included.
    pub(crate) async fn cpu_today(&self, owner: &str) -> Result<Duration, ApiError> {
        let ended = self.store.cpu_of_day(owner, day(now_ms())).await?;
        Ok(Duration::from_millis(ended + self.meter.cpu_of(owner)))
    }

    /// Counts the CPU time and the log of an execution that has just ended.
    pub(crate) async fn count_usage(&self, owner: &str, verdict: &Verdict) {
        let printed = [verdict.stdout_bytes, verdict.stderr_bytes, verdict.output_bytes];
        self.meter.add_log(owner, printed.into_iter().fold(0, u64::saturating_add));
        if verdict.usage.cpu_ms == 0 {
            return;
        }
        if let Err(error) = self.store.add_cpu(owner, day(now_ms()), verdict.usage.cpu_ms).await {
            tracing::error!(%error, owner, "the CPU time of an execution was not counted");
        }
    }
}

/// A quota is reached (429).
pub(crate) fn exceeded(message: String, hint: &'static str, retry_after: Option<Duration>) -> ApiError {
    let error = ApiError::new(ErrorCode::QuotaExceeded, message, hint);
    ApiError { retry_after, ..error }
}
