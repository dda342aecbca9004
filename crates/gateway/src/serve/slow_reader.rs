//! A write timeout for connections: if the client does not read a response, the connection ends and frees its memory.
//!
//! Live streams are exempt. They hold one small buffer, and their clients may continue to read later.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::{StatusCode, header};
use axum::response::Response;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

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

/// A connection with a timeout that runs while the client reads nothing.
#[derive(Debug)]
pub(super) struct WriteTimeoutStream {
    stream: TcpStream,
    timeout: Duration,
    is_live: IsLive,
    waiting: Option<Pin<Box<Sleep>>>,
}

impl WriteTimeoutStream {
    pub(super) const fn new(stream: TcpStream, timeout: Duration, is_live: IsLive) -> Self {
        Self { stream, timeout, is_live, waiting: None }
    }

    /// The result of an attempt to write, or the timeout.
    fn check<T>(&mut self, cx: &mut Context<'_>, attempt: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if attempt.is_ready() || self.is_live.0.load(Ordering::Relaxed) {
            self.waiting = None;
            return attempt;
        }
        let timeout = self.timeout;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(timeout)));
        if waiting.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        // Discards what the kernel still holds, and shows the client that its response is incomplete.
        let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read the response")))
    }
}

impl AsyncRead for WriteTimeoutStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for WriteTimeoutStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let attempt = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.check(cx, attempt)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let attempt = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.check(cx, attempt)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
