//! Quotas: what an owner may use, and uses; and the queue of its starts that wait.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
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
    OpenApiRouter::new().routes(routes!(usage))
}

/// Amounts of what is limited. In `quota`, absent means any amount.
#[derive(Debug, Serialize, ToSchema)]
struct Amounts {
    /// Sessions that have not ended.
    sessions: Option<u64>,
    /// Executions at once.
    executions: Option<u64>,
    /// Processor time of today (UTC).
    cpu_ms: Option<u64>,
    /// Bytes on the disk: of workspaces, snapshots and logs together.
    disk_bytes: Option<u64>,
}

/// What is kept on the disk, part by part.
#[derive(Debug, Serialize, ToSchema)]
struct DiskBody {
    /// Bytes of all workspaces, as they were measured last.
    workspaces_bytes: u64,
    /// Bytes of all snapshots, as they were measured last.
    snapshots_bytes: u64,
    /// Allocated bytes of the logs of all executions, those of ended one-shots included.
    logs_bytes: u64,
    /// Logs of ended executions.
    logs: u64,
    /// All bytes together: what counts towards the quota.
    total_bytes: u64,
}

/// A start that waits.
#[derive(Debug, Serialize, ToSchema)]
struct WaitingBody {
    /// 1 is the next of all that wait, whosever they are.
    place: usize,
    /// The session it is for; `one-shot` if it gets one of its own.
    session_id: String,
    /// For how long it has waited.
    waiting_ms: u64,
}

/// What the caller may use, and uses.
#[derive(Debug, Serialize, ToSchema)]
struct UsageBody {
    /// Whose.
    owner: String,
    /// What it may use.
    quota: Amounts,
    /// What it uses; processor time and workspaces as they were a few seconds ago.
    used: Amounts,
    /// What it keeps on the disk, part by part.
    disk: DiskBody,
    /// Its starts that wait, the next one first.
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

/// Tells what you may use, what you use, and which of your starts wait.
#[utoipa::path(get, path = "/v1/usage", tag = "server", responses((status = 200, body = UsageBody), Common))]
async fn usage(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
) -> Result<JsonBody<UsageBody>, ApiError> {
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
