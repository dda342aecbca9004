//! Quotas: what an owner may use, checked before something is made or started. What runs is never ended for a quota.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use headwater_protocol::Verdict;

use crate::admission::{Permit, Refusal, Rules};
use crate::error::ApiError;
use crate::now_ms;
use crate::state::Gateway;

const DAY_MS: u64 = 86_400_000;

/// What was last seen of an owner's sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Live {
    /// Processor time of processes that live: what has ended is in the store.
    pub(crate) cpu_ms: u64,
    /// Bytes of all workspaces.
    pub(crate) disk_bytes: u64,
}

/// What was last seen of everybody.
#[derive(Debug, Default)]
pub(crate) struct Meter(Mutex<HashMap<String, Live>>);

impl Meter {
    /// Replaces what was seen.
    pub(crate) fn set(&self, seen: HashMap<String, Live>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = seen;
    }

    /// What was last seen of this owner.
    pub(crate) fn of(&self, owner: &str) -> Live {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(owner).copied().unwrap_or_default()
    }
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
        self.has_disk(owner)
    }

    fn has_disk(&self, owner: &str) -> Result<(), ApiError> {
        match self.config.quotas.of(owner).disk_bytes {
            Some(most) if self.meter.of(owner).disk_bytes >= most => {
                let message =
                    format!("the workspaces of `{owner}` hold {most} bytes or more: that is the quota");
                Err(exceeded(message, "remove files or delete a session", None))
            }
            _ => Ok(()),
        }
    }

    /// Lets an owner start one more execution, now or when its turn comes, or tells why not.
    pub(crate) async fn may_start(&self, owner: &str, what: &str) -> Result<Permit, ApiError> {
        let quotas = &self.config.quotas;
        let quota = quotas.of(owner);
        self.has_disk(owner)?;
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
        Ok(Duration::from_millis(ended + self.meter.of(owner).cpu_ms))
    }

    /// Counts what an execution has used, which has just ended.
    pub(crate) async fn count_usage(&self, owner: &str, verdict: &Verdict) {
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
