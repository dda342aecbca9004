//! What running sessions use: `GET /v1/usage/sessions`.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use headwater_contract::v1;
use headwater_protocol::SessionId;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::http::extract::Query;
use crate::http::openapi::{Common, NamesSession};
use crate::state::Gateway;

/// The maximum number of sessions in one request.
const MAX_SESSIONS: usize = 100;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(session_usage))
}

/// What one running session uses.
#[derive(Debug, Serialize, ToSchema)]
struct RunningUsageBody {
    /// The session.
    session_id: String,
    /// CPU time of all programs since the session was created or resumed.
    cpu_ms: u64,
    /// Memory; 0 where the host does not count it.
    memory_bytes: u64,
    /// The number of processes.
    processes: usize,
    /// Bytes of the workspace and its snapshots, when last measured.
    disk_bytes: u64,
    /// Of these, bytes of the snapshots.
    snapshot_bytes: u64,
    /// Allocated bytes of the logs of its executions.
    log_bytes: u64,
}

impl From<v1::SessionUsage> for RunningUsageBody {
    fn from(used: v1::SessionUsage) -> Self {
        Self {
            session_id: used.session_id,
            cpu_ms: used.cpu_ms,
            memory_bytes: used.memory_bytes,
            processes: used.processes.len(),
            disk_bytes: used.disk_bytes,
            snapshot_bytes: used.snapshot_bytes,
            log_bytes: used.log_bytes,
        }
    }
}

/// What running sessions use.
#[derive(Debug, Serialize, ToSchema)]
struct RunningUsageList {
    /// The sessions that are running.
    items: Vec<RunningUsageBody>,
}

/// Selects sessions.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct SessionsQuery {
    /// Up to 100 sessions, separated by commas: ids, names or unique prefixes of ids. All of your own if absent.
    sessions: Option<String>,
}

/// Returns what your running sessions use now. Hibernated sessions use only disk space, and are left out.
#[utoipa::path(get, path = "/v1/usage/sessions",
    operation_id = "listSessionUsage", tag = "server", params(SessionsQuery),
    responses((status = 200, body = RunningUsageList), Common, NamesSession))]
async fn session_usage(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Query(query): Query<SessionsQuery>,
) -> Result<JsonBody<RunningUsageList>, ApiError> {
    let wanted = match &query.sessions {
        Some(text) => Some(named(&gateway, &who, text).await?),
        None => None,
    };
    let mut items = Vec::new();
    for used in gateway.worker.usage().await? {
        let Ok(id) = used.session_id.parse::<SessionId>() else { continue };
        let is_wanted = match &wanted {
            Some(wanted) => wanted.contains(&id),
            None => gateway.auth.owner_of(id).await?.is_some_and(|owner| owner == who.owner),
        };
        if is_wanted && gateway.auth.may_use_session(&who, Need::Read, id).await.is_ok() {
            items.push(used.into());
        }
    }
    Ok(JsonBody(RunningUsageList { items }))
}

async fn named(gateway: &Gateway, who: &Identity, text: &str) -> Result<Vec<SessionId>, ApiError> {
    let texts: Vec<_> = text.split(',').filter(|text| !text.is_empty()).collect();
    if texts.len() > MAX_SESSIONS {
        return Err(ApiError::invalid(format!("`sessions` must have at most {MAX_SESSIONS} entries")));
    }
    gateway.sessions_named(who, Need::Read, &texts).await
}
