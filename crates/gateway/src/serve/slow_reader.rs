//! A connection whose client must read: an answer that the client does not take ends after a while, with what it holds.
//!
//! Live streams are exempt. They hold one small buffer, and their clients may come back to them later.

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

/// Marks an answer that is a live stream although it is neither a `WebSocket` nor `text/event-stream`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Live;

/// Whether the answer that a connection sends now is a live stream.
#[derive(Debug, Clone, Default)]
pub(super) struct IsLive(Arc<AtomicBool>);

impl IsLive {
    /// Notes what is sent next.
    pub(super) fn note(&self, answer: &Response) {
        let kind = answer.headers().get(header::CONTENT_TYPE);
        let is_live = answer.status() == StatusCode::SWITCHING_PROTOCOLS
            || answer.extensions().get::<Live>().is_some()
            || kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        self.0.store(is_live, Ordering::Relaxed);
    }
}

/// The connection, with a clock that runs while the client takes nothing.
#[derive(Debug)]
pub(super) struct Patient {
    stream: TcpStream,
    patience: Duration,
    is_live: IsLive,
    waiting: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    pub(super) const fn new(stream: TcpStream, patience: Duration, is_live: IsLive) -> Self {
        Self { stream, patience, is_live, waiting: None }
    }

    /// What became of an attempt to write.
    fn written<T>(&mut self, cx: &mut Context<'_>, attempt: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if attempt.is_ready() || self.is_live.0.load(Ordering::Relaxed) {
            self.waiting = None;
            return attempt;
        }
        let patience = self.patience;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(patience)));
        if waiting.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        // What is left in the kernel goes, too, and the client sees that its answer is not whole.
        let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read its answer")))
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let attempt = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.written(cx, attempt)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let attempt = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.written(cx, attempt)
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
