//! What the tools of a conversation print, for a panel beside a chat: `GET /tool-progress/{conversation_id}`.

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
use crate::http::openapi::{Common, NotFound};
use crate::routes::feeds::{FeedQuery, conversation, open};
use crate::state::Gateway;
use crate::streams::feed::{Dialect, ToolProgress};

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    // The document has it once; `/api/tool-progress/...` leads to the second spelling.
    OpenApiRouter::new()
        .routes(routes!(tool_progress))
        .route("/v1/tool-progress/{conversation_id}", axum::routing::get(tool_progress))
}

/// The query string.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ProgressQuery {
    /// Where to go on: the `id` of an event, which is opaque; `now`: with what happens next. If absent, with the first
    /// call that there was. The header `Last-Event-ID` wins over it.
    after: Option<String>,
    /// After a call's first output, hold its output back up to this long to send fewer, larger events: 100 if absent.
    #[param(maximum = 10_000)]
    batch_ms: Option<u32>,
    /// ... but no longer than until this many bytes are there: 4096 if absent.
    #[param(minimum = 1, maximum = 1_048_576)]
    batch_bytes: Option<u32>,
    /// A token or ticket, where no header can be set. The guard has read it.
    token: Option<String>,
}

/// Follows what the tools of a conversation print, as text.
///
/// Each event is `id: <opaque>` and `data: <json>`, without an `event:`, so that `EventSource.onmessage` gets it. A call
/// begins with the status `running` and ends with how it ended: `exited 0`, `timed out after 5 s`, `cancelled`. Output
/// that is binary is not sent: a status says so once, and its bytes are at `/v1/executions/{id}/output`. Who falls
/// behind, or comes late, is sent the last 50 KB of a call's output, and a status says how much was skipped; all of it
/// stays in the result. Which calls: `tool_call_id` of an execution's metadata, else the execution's id.
/// Also at `/v1/tool-progress/{conversation_id}`.
#[utoipa::path(get, path = "/tool-progress/{conversation_id}", tag = "tools",
    params(
        ("conversation_id" = String, Path, description = "as in the metadata of executions"),
        ("Last-Event-ID" = Option<String>, Header, description = "go on after this event; wins over `after`"),
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
    let ProgressQuery { after, batch_ms, batch_bytes, token } = query;
    let query = FeedQuery { dialect: Some(Dialect::ToolProgress), after, batch_ms, batch_bytes, token };
    open(&gateway, conversation(&who, id)?, query, &headers).await
}
