//! A conversation as a file: `GET /v1/conversations/{id}/export`.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use headwater_agent::export::ExportFormat;
use headwater_protocol::conversation::ConversationId;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::Identity;
use crate::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::{Common, NotFound};
use crate::state::Gateway;

/// The bytes that are sent at once.
const CHUNK_BYTES: usize = 64 << 10;

pub(super) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(export))
}

/// The format of an export.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Format {
    #[default]
    Markdown,
    Json,
    Ipynb,
}

impl From<Format> for ExportFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Markdown => Self::Markdown,
            Format::Json => Self::Json,
            Format::Ipynb => Self::Notebook,
        }
    }
}

/// Selects the format of an export.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ExportQuery {
    /// `markdown` (the default): the current branch, to read. `json`: the messages of all branches, and the log. `ipynb`: the current
    /// branch as a Jupyter notebook, whose cells are the code that ran and its outputs.
    #[param(inline)]
    format: Option<Format>,
}

/// Returns a conversation as a file, as it is now.
///
/// Everybody who may read it may export it, with a link, too. What a provider wants to get back with an answer (signatures,
/// encrypted reasoning) is left out.
#[utoipa::path(get, path = "/v1/conversations/{id}/export", operation_id = "exportConversation",
    tag = "conversations",
    params(("id" = String, Path, description = "the conversation"), ExportQuery),
    responses(
        (status = 200, description = "the file, as an attachment with a name", content(
            (String = "text/markdown; charset=utf-8"), (Object = "application/json"),
            (Object = "application/x-ipynb+json"),
        )),
        Common, NotFound,
))]
async fn export(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ConversationId>,
    Query(query): Query<ExportQuery>,
) -> Result<Response, ApiError> {
    let format = ExportFormat::from(query.format.unwrap_or_default());
    let exported = gateway.export_conversation(&who, &id, format).await?;
    let headers = [
        (header::CONTENT_TYPE, format.media_type().to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{}\"", exported.name)),
        (header::CONTENT_LENGTH, exported.text.len().to_string()),
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    // In pieces, so that a client that stops reading is noticed, and the permit is held until the last one.
    let (permit, text) = (exported.permit, exported.text);
    let body = stream::unfold((permit, text), |(permit, mut text)| async move {
        let length = text.len().min(CHUNK_BYTES);
        let piece: Bytes = text.split_to(length);
        (length > 0).then_some((Ok::<_, Infallible>(piece), (permit, text)))
    });
    Ok((headers, Body::from_stream(body)).into_response())
}
