//! The models of the configuration: `GET /v1/models`.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use headwater_protocol::api::ModelList;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Identity, Need, authorise};
use crate::error::ApiError;
use crate::http::extract::Query;
use crate::http::openapi::Common;
use crate::state::Gateway;

pub(super) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(list))
}

/// Options for a list of models.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ModelsQuery {
    /// Check whether they can be reached, unless that was checked within the last minute.
    check: Option<bool>,
}

/// Lists the models that agents can use. Keys are not shown.
#[utoipa::path(get, path = "/v1/models", operation_id = "listModels", tag = "conversations",
    params(ModelsQuery), responses((status = 200, body = ModelList), Common))]
async fn list(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Query(query): Query<ModelsQuery>,
) -> Result<JsonBody<ModelList>, ApiError> {
    authorise(&who, Need::Read)?;
    Ok(JsonBody(gateway.conversations.models.list(query.check == Some(true)).await))
}
