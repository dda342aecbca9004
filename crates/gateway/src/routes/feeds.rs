//! The executions of a session or a conversation in one stream: `GET /v1/sessions/{id}/events` and
//! `GET /v1/conversations/{conversation_id}/events`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use headwater_contract::FollowOptions;
use headwater_protocol::SessionId;
use headwater_protocol::api::EventBody;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{AT_START, Identity, Need, authorise};
use crate::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::{Common, NotFound};
use crate::state::Gateway;
use crate::streams::feed::{Dialect, Feed, From, Topic, feed_response};
use crate::streams::sse::EventQuery;

const LAST_EVENT_ID: &str = "last-event-id";
/// Longer names of conversations are refused.
const MAX_CONVERSATION: usize = 512;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(session_events)).routes(routes!(conversation_events))
}

/// The query string of a feed.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FeedQuery {
    /// How the events look: `native` if absent.
    #[param(inline)]
    pub(crate) dialect: Option<Dialect>,
    /// Where to go on: the `id` of an event, which is opaque; `now`: with what happens next. If absent, with the first
    /// execution that there was. The header `Last-Event-ID` wins over it.
    pub(crate) after: Option<String>,
    /// After an execution's first output, hold its output back up to this long to send fewer, larger events: 100 if
    /// absent; a program that wants everything at once says 0.
    #[param(maximum = 10_000)]
    pub(crate) batch_ms: Option<u32>,
    /// ... but no longer than until this many bytes are there: 4096 if absent.
    #[param(minimum = 1, maximum = 1_048_576)]
    pub(crate) batch_bytes: Option<u32>,
    /// A token or ticket, where no header can be set. The guard has read it.
    #[allow(dead_code)] // it may be there
    pub(crate) token: Option<String>,
}

impl FeedQuery {
    /// Where the feed begins.
    pub(crate) fn from(&self, headers: &HeaderMap) -> Result<From, ApiError> {
        let header = headers.get(LAST_EVENT_ID).map(|value| value.to_str().unwrap_or("?").trim());
        match header.filter(|text| !text.is_empty() && *text != AT_START).or(self.after.as_deref()) {
            None | Some("") => Ok(From::Start),
            Some("now") => Ok(From::Now),
            Some(text) => text.parse().map(From::Token).map_err(|_| {
                ApiError::invalid("`after` (or `Last-Event-ID`) is not a position in this stream")
                    .hint("send the `id` of the last event as it came, or `now`, or leave it out")
            }),
        }
    }

    /// How logs are followed.
    pub(crate) fn batch(&self) -> Result<FollowOptions, ApiError> {
        let (batch_ms, batch_bytes) = (self.batch_ms, self.batch_bytes);
        EventQuery { batch_ms, batch_bytes, ..EventQuery::default() }.into_options()
    }
}

/// Follows all executions of a session: as they start, print and end.
///
/// Each event is one of an execution, as `GET /v1/executions/{id}/events` tells it, with `execution_id` (and
/// `tool_call_id`, `conversation_id`, where its metadata names them) besides. What comes first is told first; the
/// events of one execution are in order, and each comes once, however often the client comes back with the last `id`.
/// Up to 64 executions are followed at once; those that started later wait until one of these has closed. The stream
/// does not end by itself. Besides there are `reconnect` (the server is about to end: come back with the last `id`),
/// `error` (one log, named by `execution_id`, cannot be read any further) and comments that say that the stream lives.
///
/// With `dialect=tool_calls` the events are `TOOL_CALL_START`, `CODE_EXECUTION_OUTPUT` and `TOOL_RESULT`, as
/// `POST /v1/tools/code_execution` tells them; with `dialect=tool_progress` those of
/// `GET /tool-progress/{conversation_id}`. Go on in the dialect that the `id` came from.
#[utoipa::path(get, path = "/v1/sessions/{id}/events", tag = "streams",
    params(
        ("id" = String, Path, description = "the session"),
        ("Last-Event-ID" = Option<String>, Header, description = "go on after this event; wins over `after`"),
        FeedQuery,
    ),
    responses(
        (status = 200, description = "the events", content_type = "text/event-stream", body = EventBody),
        Common, NotFound,
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

/// Follows all executions of a conversation: those whose metadata have its `conversation_id`.
///
/// As `GET /v1/sessions/{id}/events`. Conversations need not be made: each owner's executions that name one are in it,
/// whichever session they run in. One that nothing has been started for is a stream without events, for now.
#[utoipa::path(get, path = "/v1/conversations/{conversation_id}/events", tag = "streams",
    params(
        ("conversation_id" = String, Path, description = "as in the metadata of executions"),
        ("Last-Event-ID" = Option<String>, Header, description = "go on after this event; wins over `after`"),
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
    open(&gateway, conversation(&who, id)?, query, &headers).await
}

/// The conversation that whoever asks calls so: everybody sees their own.
pub(crate) fn conversation(who: &Identity, id: String) -> Result<Topic, ApiError> {
    authorise(who, Need::Read)?;
    if who.bounds.sessions.is_some() {
        let hint = "use `GET /v1/sessions/{id}/events`";
        return Err(ApiError::forbidden("this token is for using certain sessions only", hint));
    }
    if id.len() > MAX_CONVERSATION {
        return Err(ApiError::invalid(format!("a conversation's name has at most {MAX_CONVERSATION} bytes")));
    }
    Ok(Topic::Conversation { owner: who.owner.clone(), id })
}

/// The stream of a topic.
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
