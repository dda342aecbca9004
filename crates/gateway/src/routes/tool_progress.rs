//! The output of a conversation's tools, for a panel beside a chat: `GET /tool-progress/{conversation_id}`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::Identity;
use crate::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::{Common, LastEventId, NotFound};
use crate::routes::feeds::{FeedQuery, conversation, open};
use crate::state::Gateway;
use crate::streams::feed::{Dialect, ToolProgress};

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    // The document lists it once; `/api/tool-progress/...` is rewritten to the second spelling.
    OpenApiRouter::new()
        .routes(routes!(tool_progress))
        .route("/v1/tool-progress/{conversation_id}", axum::routing::get(tool_progress))
}

/// The query parameters.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ProgressQuery {
    /// The position to continue after: the `id` of an event, which is opaque, or `now` for new events only.
    /// If absent, the stream starts with the first call. The header `Last-Event-ID` takes precedence.
    after: Option<String>,
    /// After a call's first output, hold its output back for up to this long to send fewer, larger events:
    /// 100 if absent.
    #[param(maximum = 10_000)]
    batch_ms: Option<u32>,
    /// Send held-back output early once this many bytes have accumulated: 4096 if absent.
    #[param(minimum = 1, maximum = 1_048_576)]
    batch_bytes: Option<u32>,
    /// A token or ticket, where no header can be set. The guard has read it.
    #[serde(rename = "token")]
    _token: Option<String>,
}

/// Follows the output of a conversation's tools, as text.
///
/// Each event is `id: <opaque>` and `data: <json>`, without `event:`, so that `EventSource.onmessage`
/// receives it. A call begins with the status `running` and ends with its result: `exited 0`, `timed out
/// after 5 s`, `cancelled`. Binary output is not sent: one status reports it, and its bytes are at
/// `/v1/executions/{id}/output`. A client that falls behind or connects late gets the last 50 KB of a call's
/// output, and a status that says how much was skipped; the result has everything. A call's id is the
/// `tool_call_id` in the execution's metadata, or the execution's id. This route is also at
/// `/v1/tool-progress/{conversation_id}`.
#[utoipa::path(get, path = "/tool-progress/{conversation_id}",
    operation_id = "followToolProgress", tag = "tools",
    params(
        ("conversation_id" = String, Path, description = "as in the metadata of executions"),
        LastEventId,
        ProgressQuery,
    ),
    responses(
        (status = 200, description = "the events", content_type = "text/event-stream", body = ToolProgress),
        Common, NotFound,
))]
async fn tool_progress(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<String>,
    Query(query): Query<ProgressQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let ProgressQuery { after, batch_ms, batch_bytes, .. } = query;
    let dialect = Some(Dialect::ToolProgress);
    let query = FeedQuery { dialect, after, batch_ms, batch_bytes, ..FeedQuery::default() };
    let topic = conversation(&gateway, &who, id).await?;
    open(&gateway, topic, query, &headers).await
}
