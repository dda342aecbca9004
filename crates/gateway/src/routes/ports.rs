//! The ports that programs of a session listen on, and previews of them.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use headwater_protocol::SessionId;
use headwater_protocol::api::{ErrorBody, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::http::extract::{Json, NoQuery, Path};
use crate::http::openapi::{Common, NamesSession, NotFound, TakesJson};
use crate::now_ms;
use crate::previews::label::{self, Target};
use crate::previews::{self, LIFETIME};
use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(preview))
}

/// A TCP port.
#[derive(Debug, Serialize, ToSchema)]
struct Port {
    /// Its number, in the session.
    #[schema(minimum = 1, maximum = 65_535)]
    port: u16,
}

/// The ports of a session.
#[derive(Debug, Serialize, ToSchema)]
struct PortList {
    /// Ascending.
    items: Vec<Port>,
}

/// A request for a preview.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(examples(json!({"port": 8000})))]
#[serde(deny_unknown_fields)]
struct PreviewRequest {
    /// The port, which a program need not listen on yet.
    #[schema(minimum = 1, maximum = 65_535)]
    port: u16,
}

/// A preview of a port.
#[derive(Debug, Serialize, ToSchema)]
struct Preview {
    /// The port that it shows.
    port: u16,
    /// The address of the preview. Whoever has it can use the port until it expires: it needs no credential.
    #[schema(examples("http://0a1b2c.localhost:8080/"))]
    url: String,
    expires_at: Timestamp,
}

/// Lists the TCP ports that programs of a session listen on now. A session that is hibernated or that uses the network
/// of the host has none.
#[utoipa::path(get, path = "/v1/sessions/{id}/ports", operation_id = "listPorts", tag = "sessions",
    params(("id" = String, Path, description = "the session")),
    responses((status = 200, body = PortList), Common, NotFound, NamesSession))]
async fn list(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
) -> Result<JsonBody<PortList>, ApiError> {
    gateway.auth.may_use_session(&who, Need::Read, id).await?;
    let listening = gateway.worker.listening_ports(id).await?;
    let ports = if listening.can_connect { listening.ports } else { Vec::new() };
    Ok(JsonBody(PortList { items: ports.into_iter().map(|port| Port { port }).collect() }))
}

/// Opens a port of a session as a web site on an origin of its own, for 12 hours. Requires write access to the session.
#[utoipa::path(post, path = "/v1/sessions/{id}/previews", operation_id = "createPreview", tag = "sessions",
    params(("id" = String, Path, description = "the session")), request_body = PreviewRequest,
    responses(
        (status = 201, body = Preview), Common, NotFound, NamesSession, TakesJson,
        (status = 409, body = ErrorBody, description = "no name for previews is configured, or the session has ended"),
))]
async fn preview(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
    headers: HeaderMap,
    Json(request): Json<PreviewRequest>,
) -> Result<impl IntoResponse, ApiError> {
    gateway.auth.may_use_session(&who, Need::Write, id).await?;
    if request.port == 0 {
        return Err(ApiError::invalid("`port` must be between 1 and 65535"));
    }
    // A session that has ended is refused here rather than by the preview.
    gateway.worker.listening_ports(id).await?;
    let expires_at = now_ms() / 1000 + LIFETIME.as_secs();
    let label = label::make(&gateway.auth.jwts, Target { session: id, port: request.port }, expires_at)?;
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let url = previews::url(gateway.config.preview_url.as_ref(), host, &label).ok_or_else(|| {
        ApiError::conflict(
            "previews need a name of their own, and none is configured",
            "set `[server] preview_url = \"https://*.preview.example.org\"` with a wildcard in DNS and in the \
             certificate, or use the server at `localhost`",
        )
    })?;
    let body = Preview { port: request.port, url, expires_at: Timestamp(expires_at * 1000) };
    Ok((StatusCode::CREATED, JsonBody(body)))
}
