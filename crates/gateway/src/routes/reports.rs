//! The doctor's findings and the configuration, for the operator.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Identity, Need, authorise};
use crate::error::ApiError;
use crate::http::openapi::Common;
use crate::reports::{DoctorReport, Setting};
use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(doctor)).routes(routes!(settings))
}

/// All settings.
#[derive(Debug, Serialize, ToSchema)]
struct Settings {
    /// By their paths.
    items: Vec<Setting>,
}

fn unavailable(message: String) -> ApiError {
    ApiError::unavailable(message, "run `headwater doctor` or `headwater config` on the host")
}

/// Checks what the host can isolate and limit, as `headwater doctor` does. Takes some seconds. For administrators.
#[utoipa::path(get, path = "/v1/doctor", operation_id = "checkHost", tag = "server",
    responses((status = 200, body = DoctorReport), Common))]
async fn doctor(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
) -> Result<JsonBody<DoctorReport>, ApiError> {
    authorise(&who, Need::Admin)?;
    // The checks create namespaces and cgroups: one at a time.
    let _turn = gateway.report_turn.lock().await;
    gateway.reports.doctor().await.map(JsonBody).map_err(unavailable)
}

/// Every setting with its value, its default and where the value comes from, as `headwater config` shows them. For
/// administrators.
#[utoipa::path(get, path = "/v1/settings", operation_id = "listSettings", tag = "server",
    responses((status = 200, body = Settings), Common))]
async fn settings(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
) -> Result<JsonBody<Settings>, ApiError> {
    authorise(&who, Need::Admin)?;
    let _turn = gateway.report_turn.lock().await;
    let items = gateway.reports.settings().await.map_err(unavailable)?;
    Ok(JsonBody(Settings { items }))
}
