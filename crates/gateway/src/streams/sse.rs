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
    sse_response(Body::new(EventBody::new(gateway, id, follower)))
}

/// The response with this body of events.
pub(crate) fn sse_response(body: Body) -> Response {
    let headers = [
        (header::CONTENT_TYPE.as_str(), "text/event-stream"),
        (header::CACHE_CONTROL.as_str(), "no-store"),
        // nginx would otherwise hold events back until it has a buffer full.
        ("x-accel-buffering", "no"),
    ];
    (headers, body).into_response()
}
