//! A feed as SSE.

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
use super::merge::{Feed, Told};
use super::result::{ResultBody, ToolResult};
use crate::error::ApiError;
use crate::state::Gateway;
use crate::streams::sse::OpenStream;

/// A piece goes out when it has so much, whatever else is there.
const PIECE_BYTES: usize = 64 << 10;

/// The SSE answer that tells this feed.
pub(crate) fn feed_response(gateway: &Arc<Gateway>, feed: Feed) -> Response {
    // Where it begins, so that a client that lost the connection before the first event misses nothing after `now`.
    let begins = feed.token().map(|token| format!("id: {token}\n")).unwrap_or_default();
    stream_response(State {
        feed,
        result: None,
        piece: format!("retry: 1000\n{begins}\n"),
        open: OpenStream::new(gateway, "feed"),
        is_over: false,
    })
}

/// The JSON answer that is this result.
pub(crate) fn result_response(gateway: &Arc<Gateway>, result: ToolResult) -> Response {
    let body = ResultBody::new(Arc::clone(gateway), result);
    let pieces = futures_util::stream::try_unfold(body, |mut body| async move {
        // Half an answer is broken off, so that nobody takes it for the whole.
        let piece = body.next().await.map_err(|error| std::io::Error::other(error.message.into_owned()))?;
        Ok::<_, std::io::Error>(piece.map(|piece| (Bytes::from(piece), body)))
    });
    ([(header::CONTENT_TYPE, "application/json")], Body::from_stream(pieces)).into_response()
}

fn stream_response(state: State) -> Response {
    let headers = [
        (header::CONTENT_TYPE.as_str(), "text/event-stream"),
        (header::CACHE_CONTROL.as_str(), "no-store"),
        // nginx would otherwise hold events back until it has a buffer full.
        ("x-accel-buffering", "no"),
    ];
    let pieces = futures_util::stream::unfold(state, |mut state| async move {
        let piece = state.piece().await?;
        Some((Ok::<_, Infallible>(Bytes::from(piece)), state))
    });
    (headers, Body::from_stream(pieces)).into_response()
}

struct State {
    feed: Feed,
    /// A result that is going out.
    result: Option<ResultBody>,
    piece: String,
    open: OpenStream,
    is_over: bool,
}

impl State {
    /// The next piece of the body: all that is there, or the first that comes.
    async fn piece(&mut self) -> Option<String> {
        let heartbeat = Instant::now() + self.open.gateway().config.heartbeat;
        let stopping = self.open.gateway().background.stopping.clone();
        while !self.is_over && self.piece.len() < PIECE_BYTES {
            if self.piece.is_empty() {
                tokio::select! {
                    biased;
                    () = stopping.cancelled() => self.reconnect(),
                    () = self.advance() => {}
                    () = sleep_until(heartbeat) => self.piece += ": hb\n\n",
                }
            } else if self.advance().now_or_never().is_none() {
                break;
            }
        }
        let piece = std::mem::take(&mut self.piece);
        (!piece.is_empty()).then_some(piece)
    }

    /// Adds the next frame, or the next piece of one. Dropping the future loses nothing.
    async fn advance(&mut self) {
        let advanced = match &mut self.result {
            Some(result) => result.next().await.map(|piece| self.result_goes_on(piece)),
            None => self.feed.next().await.map(|told| self.tell(told)),
        };
        if let Err(error) = advanced {
            self.fail(&error);
        }
    }

    fn tell(&mut self, told: Option<Told>) {
        match told {
            None => self.is_over = true,
            Some(Told::Frame(Frame::Whole { name, data })) => {
                self.open.sent(data.len());
                self.begin(name);
                // It was written as JSON just now.
                self.piece += &String::from_utf8_lossy(&data);
                self.end();
            }
            Some(Told::Frame(Frame::Result(result))) => {
                self.begin(Some("TOOL_RESULT"));
                self.result = Some(ResultBody::new(Arc::clone(self.open.gateway()), *result));
            }
            Some(Told::Broken(broken)) => {
                let (subject, error) = *broken;
                self.begin(Some("error"));
                let mut body = serde_json::json!(error.body());
                body["execution_id"] = subject.execution_id().into();
                self.piece += &body.to_string();
                self.end();
            }
        }
    }

    fn result_goes_on(&mut self, piece: Option<String>) {
        if let Some(piece) = piece {
            self.open.sent(piece.len());
            self.piece += &piece;
        } else {
            self.result = None;
            self.end();
        }
    }

    fn begin(&mut self, name: Option<&str>) {
        if let Some(name) = name {
            // Writing to memory does not fail.
            let _ = writeln!(self.piece, "event: {name}");
        }
        self.piece += "data: ";
    }

    /// The `id` comes last: a client that did not get all of an event has not got its place either.
    fn end(&mut self) {
        if let Some(token) = self.feed.token() {
            let _ = write!(self.piece, "\nid: {token}");
        }
        self.piece += "\n\n";
    }

    /// The word that the client shall come back: without an `id`, which would move its position.
    fn reconnect(&mut self) {
        self.is_over = true;
        if self.result.is_none() {
            let after = self.feed.token().map(ToString::to_string);
            let execution = self.feed.one().map(|id| id.to_string());
            let data = match after {
                Some(after) => serde_json::json!({ "after": after }),
                // What a POST began can be followed under its own address.
                None => serde_json::json!({ "execution_id": execution }),
            };
            let _ = write!(self.piece, "event: reconnect\ndata: {data}\n\n");
        }
    }

    fn fail(&mut self, error: &ApiError) {
        if error.retry_after.is_some() {
            return self.reconnect();
        }
        self.is_over = true;
        // In the middle of a result nothing can be said but that it ends here.
        if self.result.is_none() {
            let body = serde_json::json!(error.body());
            let _ = write!(self.piece, "event: error\ndata: {body}\n\n");
        }
    }
}
