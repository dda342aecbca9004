//! Whether the server lives and works; and what it counts.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use headwater_protocol::api::ErrorBody;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Identity, Need, authorise};
use crate::error::ApiError;
use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(healthz)).routes(routes!(readyz)).routes(routes!(metrics))
}

/// Whether the process lives.
#[utoipa::path(get, path = "/healthz", tag = "server", security(()), responses((status = 200, body = String, content_type = "text/plain")))]
async fn healthz() -> &'static str {
    "ok\n"
}

/// Whether it can do its work: the store and the worker answer.
#[utoipa::path(get, path = "/readyz", tag = "server", security(()), responses(
    (status = 200, body = String, content_type = "text/plain"),
    (status = 503, body = ErrorBody),
))]
async fn readyz(State(gateway): State<Arc<Gateway>>) -> Result<&'static str, ApiError> {
    gateway.store.ping().await?;
    gateway.worker.calls().info().await?;
    if gateway.stopping.is_cancelled() {
        return Err(ApiError::unavailable("the server is shutting down", "ask the next one"));
    }
    Ok("ready\n")
}

/// What the server counts, for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "server", responses(
    (status = 200, body = String, content_type = "application/openmetrics-text"),
    (status = 401, body = ErrorBody), (status = 403, body = ErrorBody), (status = 429, body = ErrorBody),
))]
async fn metrics(who: Identity, State(gateway): State<Arc<Gateway>>) -> Result<impl IntoResponse, ApiError> {
    authorise(&who, Need::Admin, None, || ApiError::not_found("route", "/metrics"))?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok((StatusCode::OK, [(header::CONTENT_TYPE, kind)], gateway.metrics.text()))
}
