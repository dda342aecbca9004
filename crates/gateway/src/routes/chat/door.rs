//! The routes of AI SDK front ends: `POST /v1/chat`, `GET /v1/chat/{id}/stream`, `POST /v1/chat/{id}/stop`.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use headwater_protocol::api::StopBody;
use headwater_protocol::conversation::ConversationId;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::request::ChatRequest;
use super::respond;
use crate::auth::{AT_START, Identity, LAST_EVENT_ID};
use crate::error::ApiError;
use crate::http::extract::{Json, NoQuery, Path, Query};
use crate::http::openapi::{Common, Conflict, LastEventId, NotFound, TakesJson, WritesFiles};
use crate::state::Gateway;
use crate::streams::ui_messages::{ProgressMode, ui_response};

pub(super) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(send)).routes(routes!(stream)).routes(routes!(stop))
}

/// Sends what an AI SDK front end sends, and streams the response: `api` of `DefaultChatTransport` and `useChat`.
///
/// Only the new message is taken; the conversation's own history is the truth, and outputs of tools that a client sends are
/// ignored. The conversation is created if it does not exist. The response is a UI message stream: `data: <chunk>`, at the
/// end `data: [DONE]`. The turn goes on if the client disconnects. A stream that waits for consent ends with the
/// `finishReason` `tool-calls`; the next request, with the answer in its message, continues it.
#[utoipa::path(post, path = "/v1/chat", operation_id = "sendUiMessage", tag = "chat",
    request_body = ChatRequest,
    responses(
        (status = 200, description = "the UI message stream: chunks of the AI SDK as events", content_type = "text/event-stream", body = UiMessageEvent),
        Common, NotFound, Conflict, TakesJson, WritesFiles,
))]
async fn send(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Json(request): Json<ChatRequest>,
) -> Result<Response, ApiError> {
    let stream = respond::respond(&gateway, &who, request).await?;
    Ok(ui_response(&gateway, stream))
}

/// Selects what is sent.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct StreamQuery {
    /// How much of the output of running calls is sent: `full` if absent.
    #[serde(default)]
    #[param(inline)]
    progress: ProgressMode,
    /// Only what comes after this `id` of the stream, for a client that keeps the response: `resumeStreamIsReplay: false`.
    after: Option<u64>,
    /// A token or ticket, where no header can be set. The guard has read it.
    #[serde(rename = "token")]
    _token: Option<String>,
}

/// Returns the response that the agent is writing, from its beginning, and goes on with it; 204 if nothing runs.
#[utoipa::path(get, path = "/v1/chat/{id}/stream", operation_id = "resumeUiStream", tag = "chat",
    params(("id" = String, Path, description = "the conversation"), LastEventId, StreamQuery),
    responses(
        (status = 200, description = "the UI message stream: chunks of the AI SDK as events", content_type = "text/event-stream", body = UiMessageEvent),
        (status = 204, description = "no turn runs"),
        Common, NotFound,
))]
async fn stream(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ConversationId>,
    Query(query): Query<StreamQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let header = headers.get(LAST_EVENT_ID).map(|value| value.to_str().unwrap_or("?").trim());
    let after = match header.filter(|text| !text.is_empty() && *text != AT_START) {
        None => query.after,
        Some(text) => Some(text.parse().map_err(|_| {
            ApiError::invalid("the header `Last-Event-ID` is not a number")
                .hint("send the `id` of the last event, or leave the header out")
        })?),
    };
    let stream = respond::resume(&gateway, &who, &id, (after, query.progress)).await?;
    Ok(match stream {
        Some(stream) => ui_response(&gateway, stream),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

/// An event of a UI message stream.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what `ui_response` writes")]
struct UiMessageEvent {
    /// A chunk of the AI SDK 7 as JSON; at the end `[DONE]`.
    data: String,
}

/// Which response is to be stopped.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = StopUiStreamRequest, examples(json!({"streamId": "turn_0123456789abcdef0123456789abcdef"})))]
#[serde(default, deny_unknown_fields)]
struct StopRequest {
    /// Only this one: `streamId` of the message's metadata. So a late stop does not meet the next response.
    #[serde(rename = "streamId", alias = "stream_id")]
    stream_id: Option<String>,
}

/// Stops the response that the agent is writing. What it has written and what its programs have printed is kept.
#[utoipa::path(post, path = "/v1/chat/{id}/stop", operation_id = "stopUiStream", tag = "chat",
    params(("id" = String, Path, description = "the conversation")),
    request_body(content = Option<StopRequest>, description = "optional"),
    responses((status = 200, body = StopBody), Common, NotFound, TakesJson))]
async fn stop(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ConversationId>,
    Json(request): Json<StopRequest>,
) -> Result<JsonBody<StopBody>, ApiError> {
    let was_running = gateway.stop_turn(&who, &id, request.stream_id.as_deref()).await?;
    Ok(JsonBody(StopBody { was_running }))
}
