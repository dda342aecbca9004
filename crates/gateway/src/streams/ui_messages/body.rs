//! A stream as server-sent events, as `DefaultChatTransport` reads it.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::FutureExt;
use tokio::time::{Instant, sleep_until};

use super::stream::{Item, UiStream};
use crate::state::Gateway;
use crate::streams::sse::OpenStream;

/// The maximum size of a piece of the body, give or take one chunk.
const PIECE_BYTES: usize = 64 << 10;

/// The SSE response with this stream.
///
/// A body whose rest cannot be sent now is broken off: the client sees an error of the network, and resumes.
pub(crate) fn ui_response(gateway: &Arc<Gateway>, stream: UiStream) -> Response {
    let open = OpenStream::new(gateway, "ui");
    // The first piece lets the client know that its request was accepted.
    let body = UiBody { stream, open, text: ": stream-open\n\n".to_owned(), state: State::Open };
    let pieces = futures_util::stream::try_unfold(body, |mut body| async move {
        let piece = body.piece().await?;
        Ok::<_, io::Error>(piece.map(|piece| (Bytes::from(piece), body)))
    });
    let headers = [
        (header::CONTENT_TYPE.as_str(), "text/event-stream"),
        (header::CACHE_CONTROL.as_str(), "no-cache"),
        (header::CONNECTION.as_str(), "keep-alive"),
        ("x-vercel-ai-ui-message-stream", "v1"),
        ("x-accel-buffering", "no"),
    ];
    (headers, Body::from_stream(pieces)).into_response()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Over,
    Broken,
}

struct UiBody {
    stream: UiStream,
    open: OpenStream,
    text: String,
    state: State,
}

impl UiBody {
    /// The next piece: all available chunks, or the first one to come.
    async fn piece(&mut self) -> io::Result<Option<String>> {
        let heartbeat = Instant::now() + self.open.gateway().config.heartbeat;
        let stopping = self.open.gateway().background.stopping.clone();
        while self.state == State::Open && self.text.len() < PIECE_BYTES {
            if self.text.is_empty() {
                tokio::select! {
                    biased;
                    () = stopping.cancelled() => self.state = State::Broken,
                    item = self.stream.next() => self.add(item),
                    () = sleep_until(heartbeat) => self.text += ": keep-alive\n\n",
                }
            } else {
                match self.stream.next().now_or_never() {
                    Some(item) => self.add(item),
                    None => break,
                }
            }
        }
        if !self.text.is_empty() {
            return Ok(Some(std::mem::take(&mut self.text)));
        }
        match self.state {
            State::Broken => Err(io::Error::other("the rest of the stream cannot be sent now")),
            State::Open | State::Over => Ok(None),
        }
    }

    fn add(&mut self, item: Item) {
        match item {
            Item::Chunk(chunk) => {
                // Writing to memory does not fail.
                let data = serde_json::to_string(&chunk).unwrap_or_default();
                self.open.sent(data.len());
                if let Some(seq) = self.stream.position().filter(|_| !chunk.is_progress()) {
                    let _ = writeln!(self.text, "id: {seq}");
                }
                let _ = write!(self.text, "data: {data}\n\n");
            }
            Item::End => {
                self.state = State::Over;
                self.text += "data: [DONE]\n\n";
            }
            Item::Broken => self.state = State::Broken,
        }
    }
}
