//! Streams of events to clients: what a client may ask for, how events look as SSE, and the body that follows a log.

mod body;
mod frame;
mod gauge;
mod query;

use std::sync::Arc;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use headwater_contract::Follower;
use headwater_protocol::ExecutionId;

use self::body::EventBody;
pub(crate) use self::gauge::OpenStream;
pub(crate) use self::query::{EventQuery, Until};
use crate::state::Gateway;

/// The SSE answer that follows this log: heartbeats, `reconnect` when the server ends, and no `exited` before the store
/// has it.
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

/// The last of a text, no more than this many bytes: a tail of a log is cut at records, which can be long, and what is no
/// text becomes longer.
pub(crate) fn last(mut text: String, most: usize) -> String {
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
        let cut = last(format!("x{long}"), 100);
        assert!(cut.len() <= 100 && cut.len() > 96 && long.ends_with(&cut));
        assert_eq!(last("short".into(), 100), "short");
    }
}
