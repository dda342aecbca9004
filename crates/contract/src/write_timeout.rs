//! A timeout for writes to a connection: a client that stops reading loses it, because it holds memory and permits that
//! all clients share.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Adapts the timeout to a kind of stream.
pub trait WritePolicy<S> {
    /// Whether the timeout does not apply to what is sent now.
    fn is_exempt(&self) -> bool {
        false
    }

    /// Runs before the write fails with a timeout.
    fn on_timeout(&self, _stream: &S) {}
}

impl<S> WritePolicy<S> for () {}

/// A stream whose writes fail if the other end accepts no bytes for a time.
#[derive(Debug)]
pub struct WriteTimeout<S, P = ()> {
    stream: S,
    limit: Duration,
    policy: P,
    /// Runs while a write is pending.
    timeout: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    /// A stream with this limit.
    pub const fn new(stream: S, limit: Duration) -> Self {
        Self::with_policy(stream, limit, ())
    }
}

impl<S, P> WriteTimeout<S, P> {
    /// A stream with this limit and policy.
    pub const fn with_policy(stream: S, limit: Duration, policy: P) -> Self {
        Self { stream, limit, policy, timeout: None }
    }
}

impl<S, P: WritePolicy<S>> WriteTimeout<S, P> {
    /// Starts, stops or applies the timeout after an attempt to write.
    fn check<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() || self.policy.is_exempt() {
            self.timeout = None;
            return written;
        }
        let limit = self.limit;
        let timeout = self.timeout.get_or_insert_with(|| Box::pin(sleep(limit)));
        if timeout.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        self.policy.on_timeout(&self.stream);
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the other end does not read")))
    }
}

impl<S: AsyncRead + Unpin, P: Unpin> AsyncRead for WriteTimeout<S, P> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin, P: WritePolicy<S> + Unpin> AsyncWrite for WriteTimeout<S, P> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.check(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.check(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_stalled_reader_is_dropped_and_a_slow_one_is_not() {
        let limit = Duration::from_secs(10);
        let (ours, mut theirs) = duplex(4);
        let mut stream = WriteTimeout::new(ours, limit);
        let slow = tokio::spawn(async move {
            let mut piece = [0; 4];
            for _ in 0..5 {
                sleep(limit / 2).await;
                theirs.read_exact(&mut piece).await.unwrap();
            }
            theirs
        });
        stream.write_all(&[0; 20]).await.unwrap();
        let _theirs = slow.await.unwrap();
        let timeout = stream.write_all(&[0; 20]).await.unwrap_err();
        assert_eq!(timeout.kind(), io::ErrorKind::TimedOut);
    }
}
