//! The log of a conversation, page by page or as a stream: `GET /v1/conversations/{id}/log`.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::Arc;

use axum::Json as JsonBody;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::FutureExt;
use headwater_protocol::api::{ErrorCode, LogPage};
use headwater_protocol::conversation::{ConversationId, LogEntry};
use serde::Deserialize;
use tokio::time::{Instant, sleep_until};
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::conversations::no_conversation;
use crate::auth::{AT_START, Identity, LAST_EVENT_ID, Need};
use crate::conversations::LogReader;
use crate::error::ApiError;
use crate::http::extract::{Path, Query, wants_events};
use crate::http::openapi::{Common, LastEventId, NotFound};
use crate::state::Gateway;
use crate::streams::sse::{OpenStream, sse_response};

/// The number of events on a page if the request has no `limit`, and the most.
const PAGE: u32 = 1000;
/// The maximum size of a chunk of a stream, give or take one event.
const CHUNK_BYTES: usize = 64 << 10;

pub(super) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(log))
}

/// Selects events.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct LogQuery {
    /// Events after this `seq`, which must not be after the last one; 0 or absent: all. The header `Last-Event-ID` takes
    /// precedence.
    after: Option<u64>,
    /// The maximum number of events on a page: 1000 if absent. A stream has no pages.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// A token or ticket, where no header can be set. The guard has read it.
    #[serde(rename = "token")]
    _token: Option<String>,
}

impl LogQuery {
    fn position(&self, headers: &HeaderMap) -> Result<u64, ApiError> {
        let header = headers.get(LAST_EVENT_ID).map(|value| value.to_str().unwrap_or("?").trim());
        match header.filter(|text| !text.is_empty() && *text != AT_START) {
            None => Ok(self.after.unwrap_or(0)),
            Some(text) => text.parse().map_err(|_| {
                ApiError::invalid("the header `Last-Event-ID` is not a number")
                    .hint("send the `id` of the last event, or leave the header out")
            }),
        }
    }
}

/// Returns the log of a conversation: everything that was said and done, in order.
///
/// With `Accept: text/event-stream` the response is a stream that goes on with what happens: each event is `id: <seq>`,
/// `event: entry`, `data: <json>`. A client that reconnects with the last `id` gets everything exactly once. Text arrives
/// as deltas; the event at its end has the whole text, and the deltas may be missing from then on. The server also sends
/// `reconnect` (it is shutting down: reconnect with the last `id`), `error` (the conversation was deleted), and comments
/// as heartbeats. The stream does not end by itself.
#[utoipa::path(get, path = "/v1/conversations/{id}/log", operation_id = "followConversationLog",
    tag = "conversations",
    params(
        ("id" = String, Path, description = "the conversation"),
        LastEventId,
        LogQuery,
        ("Accept" = Option<String>, Header, description = "`text/event-stream` for a stream"),
    ),
    responses(
        (status = 200, description = "the events, or the stream if requested", content(
            (LogPage = "application/json"), (LogEntry = "text/event-stream"),
        )),
        Common, NotFound,
))]
async fn log(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<ConversationId>,
    Query(query): Query<LogQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let row = gateway.auth.may_use_conversation(&who, Need::Read, &id).await?;
    let after = query.position(&headers)?;
    let limit = query.limit.unwrap_or(PAGE);
    if !(1..=PAGE).contains(&limit) {
        return Err(ApiError::invalid(format!("`limit` is `{limit}`: it must be from 1 to {PAGE}")));
    }
    let live = gateway.conversations.of(&row).await?;
    let last_seq = live.fold().last_seq;
    if after > last_seq {
        let message = format!("the last event has the `seq` {last_seq}, not {after}");
        return Err(ApiError::new(ErrorCode::AfterPastEnd, message, "read the conversation again"));
    }
    if wants_events(&headers) {
        let state = Stream {
            reader: LogReader::new(live, after),
            open: OpenStream::new(&gateway, "chat"),
            chunk: RETRY.to_owned(),
            is_over: false,
        };
        return Ok(state.response());
    }
    let items = gateway.store.conversation_log(row.number, after, limit).await?;
    let next_after = items.last().map(|entry| entry.seq).filter(|seq| *seq < last_seq);
    Ok(JsonBody(LogPage { items, next_after }).into_response())
}

/// The beginning of a stream: how long a client waits before it reconnects.
const RETRY: &str = "retry: 1000\n\n";

/// A log that is being streamed, at the pace of its reader: the next entries are asked for when the last ones were sent.
struct Stream {
    reader: LogReader,
    open: OpenStream,
    chunk: String,
    is_over: bool,
}

impl Stream {
    fn response(self) -> Response {
        let chunks = futures_util::stream::unfold(self, |mut stream| async move {
            let chunk = stream.chunk().await?;
            Some((Ok::<_, Infallible>(Bytes::from(chunk)), stream))
        });
        sse_response(Body::from_stream(chunks))
    }

    /// The next chunk of the body: all available events, or the first one to come.
    async fn chunk(&mut self) -> Option<String> {
        let heartbeat = Instant::now() + self.open.gateway().config.heartbeat;
        let stopping = self.open.gateway().background.stopping.clone();
        while !self.is_over && self.chunk.len() < CHUNK_BYTES {
            if self.chunk.is_empty() {
                tokio::select! {
                    biased;
                    () = stopping.cancelled() => self.reconnect(),
                    () = self.advance() => {}
                    () = sleep_until(heartbeat) => self.chunk += ": hb\n\n",
                }
            } else if self.advance().now_or_never().is_none() {
                break;
            }
        }
        let chunk = std::mem::take(&mut self.chunk);
        (!chunk.is_empty()).then_some(chunk)
    }

    /// Adds the next events. Cancel-safe.
    async fn advance(&mut self) {
        match self.reader.next().await {
            Ok(Some(entries)) => entries.iter().for_each(|entry| self.add(entry)),
            Ok(None) => self.fail(&no_conversation(&self.reader.live().row().id)),
            Err(error) => self.fail(&error),
        }
    }

    fn add(&mut self, entry: &LogEntry) {
        // What was read from JSON can be written as JSON, and writing to memory does not fail.
        let data = serde_json::to_string(entry).unwrap_or_default();
        self.open.sent(data.len());
        let _ = write!(self.chunk, "id: {}\nevent: entry\ndata: {data}\n\n", entry.seq);
    }

    /// Adds the request to reconnect, without an `id`, which would move the client's position.
    fn reconnect(&mut self) {
        self.is_over = true;
        let _ = write!(self.chunk, "event: reconnect\ndata: {{\"after\":{}}}\n\n", self.reader.position());
    }

    fn fail(&mut self, error: &ApiError) {
        if error.retry_after.is_some() {
            return self.reconnect();
        }
        self.is_over = true;
        let _ = write!(self.chunk, "event: error\ndata: {}\n\n", serde_json::json!(error.body()));
    }
}
