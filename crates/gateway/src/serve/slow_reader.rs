//! The write timeout of connections: if the client does not read a response, the connection ends and frees its memory.
//!
//! Live streams are exempt. They hold one small buffer, and their clients may continue to read later.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::http::{StatusCode, header};
use axum::response::Response;
use headwater_contract::WritePolicy;
use socket2::SockRef;
use tokio::net::TcpStream;

/// Marks a response that is a live stream although it is neither a `WebSocket` nor `text/event-stream`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Live;

/// Whether the response that a connection sends now is a live stream.
#[derive(Debug, Clone, Default)]
pub(super) struct IsLive(Arc<AtomicBool>);

impl IsLive {
    /// Sets the response that is sent next.
    pub(super) fn set(&self, response: &Response) {
        let kind = response.headers().get(header::CONTENT_TYPE);
        let is_live = response.status() == StatusCode::SWITCHING_PROTOCOLS
            || response.extensions().get::<Live>().is_some()
            || kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        self.0.store(is_live, Ordering::Relaxed);
    }
}

impl WritePolicy<TcpStream> for IsLive {
    fn is_exempt(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Discards what the kernel still holds, and so shows the client that its response is incomplete.
    fn on_timeout(&self, stream: &TcpStream) {
        let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
    }
}
