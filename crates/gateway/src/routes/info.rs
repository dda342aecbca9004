//! Information about the server: `/v1/info`, `/v1/languages`, the OpenAPI document and the page that shows
//! it.

use std::sync::{Arc, LazyLock};

use axum::extract::State;
use axum::http::header;
use axum::response::{Html, IntoResponse};
use axum::{Extension, Json};
use bytes::Bytes;
use headwater_protocol::SandboxKind;
use headwater_protocol::api::{InfoBody, LanguagesBody, Timestamp};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::Identity;
use crate::error::ApiError;
use crate::http::openapi::{Guarded, Public};
use crate::http::response_memory::Pulled;
use crate::routes::router::openapi_json;
use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new()
        .routes(routes!(info))
        .routes(routes!(languages))
        .routes(routes!(openapi))
        .route("/docs", axum::routing::get(docs))
        .route("/docs/style.css", axum::routing::get(docs_style))
        .route("/docs/script.js", axum::routing::get(docs_script))
}

/// Returns the server's versions, its isolation layers, and how each limit is enforced on this host.
#[utoipa::path(get, path = "/v1/info",
    operation_id = "getServerInfo", tag = "server", responses((status = 200, body = InfoBody), Guarded))]
async fn info(_: Identity, State(gateway): State<Arc<Gateway>>) -> Result<Json<InfoBody>, ApiError> {
    let worker = gateway.worker.info().await?;
    Ok(Json(InfoBody {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        worker_version: worker.version,
        started_at: Timestamp(gateway.started_at_ms),
        sandbox: if worker.sandbox == "none" { SandboxKind::None } else { SandboxKind::Full },
        sessions: worker.sessions,
        running: worker.running,
        prepared: worker.prepared,
        enforcement: worker.enforcement.into_iter().collect(),
    }))
}

/// Lists the languages that the server knows: those that are installed, and those whose tool is missing, with
/// the package that provides it.
#[utoipa::path(get, path = "/v1/languages", operation_id = "listLanguages", tag = "server",
    responses((status = 200, body = LanguagesBody), Guarded))]
async fn languages(
    _: Identity,
    State(gateway): State<Arc<Gateway>>,
) -> Result<Json<LanguagesBody>, ApiError> {
    Ok(Json(LanguagesBody { languages: gateway.list_languages().await? }))
}

/// The document never changes: it is created once, and all responses share it.
static OPENAPI: LazyLock<Bytes> = LazyLock::new(|| openapi_json().into());

/// Returns this document. Needs no credential, so that tools can read it.
#[utoipa::path(get, path = "/openapi.json", operation_id = "getOpenapi", tag = "server", security(()),
    responses((status = 200, body = Object, description = "the OpenAPI document"), Public))]
async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], Extension(Pulled), OPENAPI.clone())
}

async fn docs(_: Identity) -> impl IntoResponse {
    let policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; \
                  form-action 'none'; frame-ancestors 'none'";
    ([(header::CONTENT_SECURITY_POLICY, policy)], Html(include_str!("docs.html")))
}

async fn docs_style(_: Identity) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], include_str!("docs.css"))
}

async fn docs_script(_: Identity) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], include_str!("docs.js"))
}
