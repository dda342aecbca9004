//! Files that people add to a conversation.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use headwater_protocol::conversation::{Attachment, ConversationId};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::Identity;
use crate::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::{Common, Conflict, NotFound, WritesFiles};
use crate::state::Gateway;

pub(super) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(add))
}

/// Names a file.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct NameQuery {
    /// The name of the file, without folders.
    #[param(required = true, min_length = 1, max_length = 200)]
    // checked after access to the conversation
    name: Option<String>,
}

/// Writes a file into the folder `attachments` of the workspace, for a message that follows.
///
/// The body is used as it is. A file that is there already is kept: the new one gets a number.
#[utoipa::path(post, path = "/v1/conversations/{id}/attachments",
    operation_id = "addAttachment", tag = "conversations",
    params(("id" = String, Path, description = "the conversation"), NameQuery),
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "any bytes"),
    responses((status = 201, body = Attachment), Common, NotFound, Conflict, WritesFiles))]
async fn add(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ConversationId>,
    Query(query): Query<NameQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, JsonBody<Attachment>), ApiError> {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let attachment =
        gateway.add_attachment(&who, &id, query.name.as_deref().unwrap_or_default(), length, body).await?;
    Ok((StatusCode::CREATED, JsonBody(attachment)))
}
