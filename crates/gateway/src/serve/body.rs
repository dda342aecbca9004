//! A request's body that must keep coming: a client that stops in the middle is not waited for.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Sleep, sleep};

/// The body, with a clock that starts when something is waited for.
#[derive(Debug)]
pub(super) struct TimedBody {
    inner: Incoming,
    patience: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
}

impl TimedBody {
    pub(super) const fn new(inner: Incoming, patience: Duration) -> Self {
        Self { inner, patience, waiting: None }
    }
}

/// Why a body did not arrive.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError {
    #[error("nothing of the body came for {0:?}")]
    TooSlow(Duration),
    #[error(transparent)]
    Broken(#[from] hyper::Error),
}

impl Body for TimedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(cx) {
            self.waiting = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(BodyError::from)));
        }
        let patience = self.patience;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(patience)));
        match waiting.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Some(Err(BodyError::TooSlow(patience)))),
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
