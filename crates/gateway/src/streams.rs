//! Streams to clients: one log as SSE, many logs as a feed, sockets.

pub(crate) mod feed;
pub(crate) mod socket;
pub(crate) mod sse;
#[allow(dead_code, unused_imports, reason = "the routes that use it follow")]
pub(crate) mod ui_messages;
