//! One log as SSE: the query parameters of a client, the frames, and the body that follows the log.

mod event_body;
mod frame;
mod gauge;
mod query;

use std::sync::Arc;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use headwater_contract::Follower;
use headwater_protocol::ExecutionId;

use self::event_body::EventBody;
pub(crate) use self::gauge::OpenStream;
pub(crate) use self::query::{EventQuery, Until};
use crate::state::Gateway;

/// The SSE response that follows this log: with heartbeats, with `reconnect` when the server shuts down, and
/// with no `exited` before the store has it.
pub(crate) fn sse(gateway: &Arc<Gateway>, id: ExecutionId, follower: Follower) -> Response {
    let body = EventBody::new(gateway, id, follower);
    let headers = [
        (header::CONTENT_TYPE.as_str(), "text/event-stream"),
        (header::CACHE_CONTROL.as_str(), "no-store"),
        // nginx would otherwise hold events back until it has a buffer full.
        ("x-accel-buffering", "no"),
    ];
    (headers, Body::new(body)).into_response()
}

/// The end of a text, at most this many bytes: the tail of a log is cut at records, which can be long, and
/// invalid UTF-8 becomes longer.
pub(crate) fn text_tail(mut text: String, most: usize) -> String {
    let excess = text.len().saturating_sub(most);
    let from = (excess..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    text.drain(..from);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_a_text_begins_with_a_whole_character() {
        let long = "é".repeat(1000);
        let cut = text_tail(format!("x{long}"), 100);
        assert!(cut.len() <= 100 && cut.len() > 96 && long.ends_with(&cut));
        assert_eq!(text_tail("short".into(), 100), "short");
    }
}
