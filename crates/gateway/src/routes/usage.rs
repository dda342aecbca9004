//! Quotas: an owner's limits and use, and its starts that are queued.

mod sessions;

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use headwater_store::Role;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::Identity;
use crate::config::Quota;
use crate::error::ApiError;
use crate::http::extract::NoQuery;
use crate::http::openapi::Common;
use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(usage)).merge(sessions::routes())
}

/// Amounts of limited resources. In `quota`, absent means unlimited.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ResourceAmounts)]
struct Amounts {
    /// Sessions that have not ended.
    sessions: Option<u64>,
    /// Concurrent executions.
    executions: Option<u64>,
    /// CPU time of today (UTC).
    cpu_ms: Option<u64>,
    /// Bytes on the disk: workspaces, snapshots and logs together.
    disk_bytes: Option<u64>,
}

/// Disk use by kind.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DiskUse)]
struct DiskBody {
    /// Bytes of all workspaces, when last measured.
    workspaces_bytes: u64,
    /// Bytes of all snapshots, when last measured.
    snapshots_bytes: u64,
    /// Allocated bytes of the logs of all executions, including ended one-shots.
    logs_bytes: u64,
    /// The number of logs of ended executions.
    logs: u64,
    /// All bytes together, which count towards the quota.
    total_bytes: u64,
}

/// A queued start.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = QueuedStart)]
struct WaitingBody {
    /// The position in the queue of all owners; 1 is the next.
    place: usize,
    /// The session it is for; `one-shot` for a dedicated one.
    session_id: String,
    /// How long it has been waiting.
    waiting_ms: u64,
}

/// The caller's quota and use.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OwnerUsage)]
struct UsageBody {
    /// The user whose quota it is.
    owner: String,
    /// The owner's quota.
    quota: Amounts,
    /// The current use; CPU time and workspaces may be a few seconds old.
    used: Amounts,
    /// Disk use by kind.
    disk: DiskBody,
    /// The owner's queued starts, the next one first.
    waiting: Vec<WaitingBody>,
}

fn allowed(quota: &Quota) -> Amounts {
    let ms = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    Amounts {
        sessions: quota.sessions,
        executions: quota.executions,
        cpu_ms: quota.cpu_per_day.map(ms),
        disk_bytes: quota.disk_bytes,
    }
}

/// Returns your quota, your use, and your queued starts.
#[utoipa::path(get, path = "/v1/usage",
    operation_id = "getUsage", tag = "server", responses((status = 200, body = UsageBody), Common))]
async fn usage(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
) -> Result<JsonBody<UsageBody>, ApiError> {
    if who.role == Role::Admin {
        gateway.reconciler.adopt_recent().await;
    }
    let owner = who.owner;
    gateway.quota.refresh_disk().await?;
    let kept = gateway.quota.meter.disk_of(&owner);
    let (sessions, cpu) =
        futures_util::future::join(gateway.store.count_sessions(&owner), gateway.quota.cpu_today(&owner))
            .await;
    let waiting = gateway.quota.admission.waiting(&owner).into_iter().map(|one| WaitingBody {
        place: one.position,
        session_id: one.what,
        waiting_ms: u64::try_from(one.since.elapsed().as_millis()).unwrap_or(u64::MAX),
    });
    let used = Amounts {
        sessions: Some(sessions?),
        executions: Some(gateway.quota.admission.running(&owner)),
        cpu_ms: Some(u64::try_from(cpu?.as_millis()).unwrap_or(u64::MAX)),
        disk_bytes: Some(kept.total()),
    };
    let disk = DiskBody {
        workspaces_bytes: kept.workspace_bytes,
        snapshots_bytes: kept.snapshot_bytes,
        logs_bytes: kept.log_bytes,
        logs: kept.logs,
        total_bytes: kept.total(),
    };
    let quota = allowed(&gateway.config.quotas.of(&owner));
    Ok(JsonBody(UsageBody { quota, used, disk, waiting: waiting.collect(), owner }))
}
