//! The bodies of feeds (SSE) and of tool results (JSON).

use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::FutureExt;
use tokio::time::{Instant, sleep_until};

use super::dialect::Frame;
use super::merge::{Feed, FeedItem};
use super::result::ToolResult;
use super::result_body::ResultBody;
use crate::error::ApiError;
use crate::state::Gateway;
use crate::streams::sse::{OpenStream, sse_response};

/// The maximum size of a chunk.
const CHUNK_BYTES: usize = 64 << 10;

/// The SSE response that sends this feed.
pub(crate) fn feed_response(gateway: &Arc<Gateway>, feed: Feed) -> Response {
    // The start position, so that a client that is disconnected before the first event misses nothing after `now`.
    let begins = feed.cursor().map(|cursor| format!("id: {cursor}\n")).unwrap_or_default();
    stream_response(State {
        feed,
        result: None,
        chunk: format!("retry: 1000\n{begins}\n"),
        open: OpenStream::new(gateway, "feed"),
        is_over: false,
    })
}

/// The JSON response with this result.
pub(crate) fn result_response(gateway: &Arc<Gateway>, result: ToolResult) -> Response {
    let body = ResultBody::new(Arc::clone(gateway), result);
    let chunks = futures_util::stream::try_unfold(body, |mut body| async move {
        // An incomplete response is broken off, so that it is not taken for the whole.
        let chunk = body.next().await.map_err(|error| std::io::Error::other(error.message.into_owned()))?;
        Ok::<_, std::io::Error>(chunk.map(|chunk| (Bytes::from(chunk), body)))
    });
    ([(header::CONTENT_TYPE, "application/json")], Body::from_stream(chunks)).into_response()
}

fn stream_response(state: State) -> Response {
    let chunks = futures_util::stream::unfold(state, |mut state| async move {
        let chunk = state.chunk().await?;
        Some((Ok::<_, Infallible>(Bytes::from(chunk)), state))
    });
    sse_response(Body::from_stream(chunks))
}

struct State {
    feed: Feed,
    /// The result that is being sent.
    result: Option<ResultBody>,
    chunk: String,
    open: OpenStream,
    is_over: bool,
}

impl State {
    /// The next chunk of the body: all available frames, or the first one to come.
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

    /// Adds the next frame, or the next part of one. Cancel-safe.
    async fn advance(&mut self) {
        let advanced = match &mut self.result {
            Some(result) => result.next().await.map(|chunk| self.result_goes_on(chunk)),
            None => self.feed.next().await.map(|item| self.add(item)),
        };
        if let Err(error) = advanced {
            self.fail(&error);
        }
    }

    fn add(&mut self, item: Option<FeedItem>) {
        match item {
            None => self.is_over = true,
            Some(FeedItem::Frame(Frame::Whole { name, data })) => {
                self.open.sent(data.len());
                self.begin(name);
                // It was just written as JSON.
                self.chunk += &String::from_utf8_lossy(&data);
                self.end();
            }
            Some(FeedItem::Frame(Frame::Result(result))) => {
                self.begin(Some("TOOL_RESULT"));
                self.result = Some(ResultBody::new(Arc::clone(self.open.gateway()), *result));
            }
            Some(FeedItem::Broken(broken)) => {
                let (subject, error) = *broken;
                self.begin(Some("error"));
                let mut body = serde_json::json!(error.body());
                body["execution_id"] = subject.execution_id().into();
                self.chunk += &body.to_string();
                self.end();
            }
        }
    }

    fn result_goes_on(&mut self, chunk: Option<String>) {
        if let Some(chunk) = chunk {
            self.open.sent(chunk.len());
            self.chunk += &chunk;
        } else {
            self.result = None;
            self.end();
        }
    }

    fn begin(&mut self, name: Option<&str>) {
        if let Some(name) = name {
            // Writing to memory does not fail.
            let _ = writeln!(self.chunk, "event: {name}");
        }
        self.chunk += "data: ";
    }

    /// The `id` comes last: a client that received only part of an event must not move its position.
    fn end(&mut self) {
        if let Some(cursor) = self.feed.cursor() {
            let _ = write!(self.chunk, "\nid: {cursor}");
        }
        self.chunk += "\n\n";
    }

    /// Adds the request to reconnect, without an `id`, which would move the client's position.
    fn reconnect(&mut self) {
        self.is_over = true;
        if self.result.is_none() {
            let after = self.feed.cursor().map(ToString::to_string);
            let execution = self.feed.one().map(|id| id.to_string());
            let data = match after {
                Some(after) => serde_json::json!({ "after": after }),
                // An execution that a POST started can be followed under its own URL.
                None => serde_json::json!({ "execution_id": execution }),
            };
            let _ = write!(self.chunk, "event: reconnect\ndata: {data}\n\n");
        }
    }

    fn fail(&mut self, error: &ApiError) {
        if error.retry_after.is_some() {
            return self.reconnect();
        }
        self.is_over = true;
        // In the middle of a result, the only possible report is the missing end.
        if self.result.is_none() {
            let body = serde_json::json!(error.body());
            let _ = write!(self.chunk, "event: error\ndata: {body}\n\n");
        }
    }
}
