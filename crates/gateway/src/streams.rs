//! Streams to clients: one log as SSE, many logs as a feed, sockets.

pub(crate) mod feed;
pub(crate) mod socket;
pub(crate) mod sse;
pub(crate) mod ui_messages;
