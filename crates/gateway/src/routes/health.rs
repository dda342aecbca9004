//! Health, readiness and metrics of the server.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use headwater_contract::process_usage;
use headwater_protocol::api::ErrorBody;
use tokio::time::timeout;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Identity, authorise_metrics};
use crate::error::ApiError;
use crate::http::openapi::{Guarded, Public};
use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(healthz)).routes(routes!(readyz)).routes(routes!(metrics))
}

/// Returns whether the process is running.
#[utoipa::path(get, path = "/healthz", operation_id = "getHealth", tag = "server", security(()), responses(
    (status = 200, body = String, content_type = "text/plain", description = "`ok`"), Public,
))]
async fn healthz() -> &'static str {
    "ok\n"
}

/// How long the store and the worker may take to respond, both at the same time: `/readyz` responds within
/// two seconds.
const READY_TIMEOUT: Duration = Duration::from_millis(1500);

/// Waits for a response for at most [`READY_TIMEOUT`].
async fn in_time<E: Into<ApiError>>(
    what: &'static str,
    response: impl Future<Output = Result<(), E>>,
) -> Result<(), ApiError> {
    match timeout(READY_TIMEOUT, response).await {
        Ok(response) => response.map_err(Into::into),
        Err(_) => Err(ApiError::unavailable(
            format!("the {what} does not respond"),
            format!(
                "check whether the {what} has stopped or the host is overloaded; the server's log may say more"
            ),
        )),
    }
}

/// Returns whether the server can do its work: the store and the worker respond within two seconds. With a
/// full disk the server is ready, because reading and deleting work; a second line reports the full disk.
#[utoipa::path(get, path = "/readyz", operation_id = "getReadiness", tag = "server", security(()), responses(
    (status = 200, body = String, content_type = "text/plain", description = "`ready`"), Public,
    (status = 503, body = ErrorBody, description = "the store or the worker does not respond"),
))]
async fn readyz(State(gateway): State<Arc<Gateway>>) -> Result<String, ApiError> {
    let worker = async { gateway.worker.once().info().await.map(drop) };
    let (store, worker) = tokio::join!(in_time("store", gateway.store.ping()), in_time("worker", worker));
    store?;
    worker?;
    if gateway.background.stopping.is_cancelled() {
        return Err(ApiError::unavailable("the server is shutting down", "try again"));
    }
    let shortage = gateway.shortage().await;
    Ok(shortage.map_or_else(
        || "ready\n".to_owned(),
        |shortage| format!("ready\n{shortage}: nothing new can be started\n"),
    ))
}

/// How long the worker may take to report its figures: less than the timeout of Prometheus, which is 10 s by default.
const SCRAPE_TIMEOUT: Duration = Duration::from_secs(5);

/// Reads the figures that are not counted as they change. If the worker does not respond, its last known figures are
/// reported.
async fn measure(gateway: &Gateway) {
    let figures = &gateway.metrics.figures;
    let worker = async {
        let info = timeout(SCRAPE_TIMEOUT, gateway.worker.once().info()).await.ok().and_then(Result::ok);
        if info.is_some() {
            let _ = timeout(SCRAPE_TIMEOUT, gateway.quota.measure_disk()).await;
        }
        figures.set_worker(info.as_ref());
    };
    let usage = tokio::task::spawn_blocking(process_usage);
    let ((), shortage, usage) = tokio::join!(worker, gateway.shortage(), usage);
    figures.set_disk(shortage.is_some(), gateway.config.store_bytes());
    let queued = gateway.quota.admission.queue_length();
    figures.set_conversations(gateway.conversations.count_live());
    figures.set_server(gateway.started_at_ms, &usage.unwrap_or_default(), queued);
}

/// Returns the server's metrics, for Prometheus. For operators, and for their tokens with the scope `metrics:read`.
#[utoipa::path(get, path = "/metrics", operation_id = "getMetrics", tag = "server",
    responses(
        (status = 200, body = String, content_type = "application/openmetrics-text", description = "OpenMetrics"),
        Guarded,
    ))]
async fn metrics(who: Identity, State(gateway): State<Arc<Gateway>>) -> Result<impl IntoResponse, ApiError> {
    authorise_metrics(&who)?;
    measure(&gateway).await;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok((StatusCode::OK, [(header::CONTENT_TYPE, kind)], gateway.metrics.text()))
}
