//! The events of all executions of a session or a conversation in one stream: `GET /v1/sessions/{id}/events`
//! and
//! `GET /v1/conversations/{conversation_id}/events`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use headwater_contract::FollowOptions;
use headwater_protocol::SessionId;
use headwater_protocol::api::{ErrorCode, EventBody};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{AT_START, Identity, LAST_EVENT_ID, Need, authorise};
use crate::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::{Common, LastEventId, NamesSession, NotFound};
use crate::state::Gateway;
use crate::streams::feed::{Dialect, Feed, From, Topic, feed_response};
use crate::streams::sse::EventQuery;

/// The maximum length of a conversation's id, in bytes.
const MAX_CONVERSATION_BYTES: usize = 512;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(session_events)).routes(routes!(conversation_events))
}

/// The query string of a feed.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FeedQuery {
    /// The format of the events: `native` if absent.
    #[param(inline)]
    pub(crate) dialect: Option<Dialect>,
    /// The position to continue after: the `id` of an event, which is opaque, or `now` for new events only.
    /// If absent, the feed starts with the first execution. The header `Last-Event-ID` takes precedence.
    pub(crate) after: Option<String>,
    /// After an execution's first output, hold its output back for up to this long to send fewer, larger
    /// events: 100 if absent; 0 sends everything immediately.
    #[param(maximum = 10_000)]
    pub(crate) batch_ms: Option<u32>,
    /// Send held-back output early once this many bytes have accumulated: 4096 if absent.
    #[param(minimum = 1, maximum = 1_048_576)]
    pub(crate) batch_bytes: Option<u32>,
    /// A token or ticket, where no header can be set. The guard has read it.
    #[serde(rename = "token")]
    pub(crate) _token: Option<String>,
}

impl FeedQuery {
    /// The position at which the feed starts.
    pub(crate) fn from(&self, headers: &HeaderMap) -> Result<From, ApiError> {
        let header = headers.get(LAST_EVENT_ID).map(|value| value.to_str().unwrap_or("?").trim());
        match header.filter(|text| !text.is_empty() && *text != AT_START).or(self.after.as_deref()) {
            None | Some("") => Ok(From::Start),
            Some("now") => Ok(From::Now),
            Some(text) => text.parse().map(From::Cursor).map_err(|_| {
                ApiError::invalid("`after` (or `Last-Event-ID`) is not a valid position")
                    .hint("send the unchanged `id` of the last event, or `now`, or leave it out")
            }),
        }
    }

    /// The options for following the logs.
    pub(crate) fn batch(&self) -> Result<FollowOptions, ApiError> {
        let (batch_ms, batch_bytes) = (self.batch_ms, self.batch_bytes);
        EventQuery { batch_ms, batch_bytes, ..EventQuery::default() }.into_options()
    }
}

/// Follows all executions of a session, as they start, print and end.
///
/// Each event is an event of one execution, as in `GET /v1/executions/{id}/events`, with `execution_id`
/// added, and with `tool_call_id` and `conversation_id` if its metadata has them. Events are sent in order of
/// arrival. The events of one execution are in order, and each is sent once, however often the client
/// reconnects with the last `id`. Up to 64 executions are followed at once; later ones wait until one of
/// these has closed. The stream does not end by itself. The server also sends `reconnect` (it is shutting
/// down: reconnect with the last `id`), `error` (the rest of the log of `execution_id` cannot be read), and
/// comments as heartbeats.
///
/// With `dialect=tool_calls` the events are `TOOL_CALL_START`, `CODE_EXECUTION_OUTPUT` and `TOOL_RESULT`, as
/// in `POST /v1/tools/code_execution`, with their fields in `payload`; with `dialect=tool_calls_flat` the fields are
/// beside `type`. With `dialect=tool_progress` they are those of `GET /tool-progress/{conversation_id}`. An `id` is
/// only valid in the dialect that it came from.
#[utoipa::path(get, path = "/v1/sessions/{id}/events", operation_id = "followSession", tag = "streams",
    params(
        ("id" = String, Path, description = "the session"),
        LastEventId,
        FeedQuery,
    ),
    responses(
        (status = 200, description = "the events", content_type = "text/event-stream", body = EventBody),
        Common, NamesSession,
))]
async fn session_events(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
    Query(query): Query<FeedQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    gateway.auth.may_use_session(&who, Need::Read, id).await?;
    open(&gateway, Topic::Session(id), query, &headers).await
}

/// Follows all executions of a conversation: those with its `conversation_id` in their metadata.
///
/// Works as `GET /v1/sessions/{id}/events`. The id may be that of a conversation that the caller may read, or any other
/// text: then it selects the caller's executions that name it, in any session. The stream of an unknown id has no events
/// until something is started for it.
#[utoipa::path(get, path = "/v1/conversations/{conversation_id}/events",
    operation_id = "followConversation", tag = "streams",
    params(
        ("conversation_id" = String, Path, description = "as in the metadata of executions"),
        LastEventId,
        FeedQuery,
    ),
    responses(
        (status = 200, description = "the events", content_type = "text/event-stream", body = EventBody),
        Common, NotFound,
))]
async fn conversation_events(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<String>,
    Query(query): Query<FeedQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let topic = conversation(&gateway, &who, id).await?;
    open(&gateway, topic, query, &headers).await
}

/// The conversation with this id, if the caller may read it. Other ids are names in the metadata of executions: each owner
/// has their own.
pub(crate) async fn conversation(gateway: &Gateway, who: &Identity, id: String) -> Result<Topic, ApiError> {
    authorise(who, Need::Read)?;
    if let Ok(known) = id.parse() {
        match gateway.auth.may_use_conversation(who, Need::Read, &known).await {
            Ok(row) => return Ok(Topic::Conversation { owner: row.owner, id }),
            Err(error) if error.code == ErrorCode::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    if who.bounds.sessions.is_some() {
        let hint = "use `GET /v1/sessions/{id}/events`";
        return Err(ApiError::forbidden("this token is restricted to certain sessions", hint));
    }
    if id.len() > MAX_CONVERSATION_BYTES {
        return Err(ApiError::invalid(format!(
            "a conversation id may have at most {MAX_CONVERSATION_BYTES} bytes"
        )));
    }
    Ok(Topic::Conversation { owner: who.owner.clone(), id })
}

/// Opens the stream of a topic.
pub(crate) async fn open(
    gateway: &Arc<Gateway>,
    topic: Topic,
    query: FeedQuery,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let (from, batch) = (query.from(headers)?, query.batch()?);
    let feed = Feed::of_topic(gateway, topic, query.dialect.unwrap_or_default(), from, batch).await?;
    Ok(feed_response(gateway, feed))
}
