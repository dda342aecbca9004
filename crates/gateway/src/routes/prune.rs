//! Removing logs of ended executions by rules: `POST /v1/prune`.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use headwater_contract::v1;
use headwater_protocol::api::{ErrorBody, PruneBody, PruneRequest};
use headwater_protocol::units::parse_duration;
use headwater_store::Role;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Identity, Need, authorise};
use crate::error::ApiError;
use crate::http::extract::{Json, NoQuery};
use crate::http::openapi::{Common, TakesJson};
use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(prune))
}

/// The owner whose logs are removed: the requested one for the operator, and oneself for everybody else.
fn whose(who: &Identity, requested: Option<String>) -> Result<Option<String>, ApiError> {
    authorise(who, Need::Write)?;
    match (who.role, requested) {
        (Role::Admin, requested) => Ok(requested),
        (_, Some(other)) if other != who.owner => {
            Err(ApiError::forbidden("only the operator may remove logs of other users", "leave `owner` out"))
        }
        _ => Ok(Some(who.owner.clone())),
    }
}

/// Removes logs of ended executions.
///
/// Without `older_than`, `keep` and `all`, the rules of the configuration (`[retention]`) are applied now.
/// Running executions and logs that are being read are never removed. Members remove their own logs, the
/// operator those of everybody.
#[utoipa::path(post, path = "/v1/prune",
    operation_id = "pruneLogs", tag = "executions", request_body = PruneRequest, responses(
        (status = 200, body = PruneBody), Common, TakesJson,
        (status = 404, body = ErrorBody, description = "no such session"),
))]
async fn prune(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Json(request): Json<PruneRequest>,
) -> Result<JsonBody<PruneBody>, ApiError> {
    let owner = whose(&who, request.owner)?;
    let session_id = match &request.session_id {
        Some(text) => Some(gateway.session_named(&who, Need::Own, text).await?.to_string()),
        None => None,
    };
    let older_than = request.older_than.as_deref().map(parse_duration).transpose();
    let older_than = older_than.map_err(|error| ApiError::invalid(format!("`older_than`: {error}")))?;
    let dry_run = request.dry_run;
    let call = v1::PruneRequest {
        owner,
        session_id,
        older_than_ms: older_than.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
        keep: request.keep,
        all: request.all,
        dry_run,
    };
    let (at, who) = (Arc::clone(&gateway), who.clone());
    let pruned = gateway
        .background
        .detached(async move {
            let pruned = at.worker.prune(call.clone()).await?;
            if !dry_run {
                at.quota.meter.outdate();
                at.recorder.note_removed_logs().await?;
                let object = call.owner.clone().unwrap_or_else(|| "all".to_owned());
                at.audit.record(
                    &who,
                    "prune",
                    object,
                    format!("logs={} bytes={}", pruned.logs, pruned.bytes),
                );
            }
            Ok(pruned)
        })
        .await?;
    let v1::PruneResponse { logs, bytes, execution_ids } = pruned;
    Ok(JsonBody(PruneBody { dry_run, logs, bytes, executions: execution_ids }))
}
