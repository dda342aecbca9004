//! A body whose frames are read through a function. Its length remains known.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};

/// One frame of a body, its end, or an error.
pub(crate) type PolledFrame = Poll<Option<Result<Frame<Bytes>, axum::Error>>>;

/// Returns `inner` with each frame read through `poll`.
pub(crate) fn wrapped(
    inner: Body,
    poll: impl FnMut(Pin<&mut Body>, &mut Context<'_>) -> PolledFrame + Send + Unpin + 'static,
) -> Body {
    Body::new(Wrapped { inner, poll })
}

struct Wrapped<F> {
    inner: Body,
    poll: F,
}

impl<F> http_body::Body for Wrapped<F>
where
    F: FnMut(Pin<&mut Body>, &mut Context<'_>) -> PolledFrame + Unpin,
{
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> PolledFrame {
        let Self { inner, poll } = &mut *self;
        poll(Pin::new(inner), cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
