//! The bodies of raw output: kept bytes by their positions, and live output by its events. Each reads the
//! next chunk once the previous one was sent.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use headwater_contract::{ContractError, Follower, OutputReader, OutputSelector};
use headwater_protocol::{EventKind, Stream};
use http_body::{Body, Frame, SizeHint};
use tokio_util::sync::{CancellationToken, ReusableBoxFuture};

use crate::state::Gateway;
use crate::streams::sse::OpenStream;

/// Why a body breaks off, so that the client notices that it is incomplete.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutputError {
    #[error(transparent)]
    Worker(#[from] ContractError),
    #[error("the bytes from `{0}` to `{1}` were dropped before they could be sent")]
    Dropped(u64, u64),
    #[error("the server is shutting down")]
    Stopping,
}

/// Bytes that the response has already reported as missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) stream: Stream,
    pub(crate) from_byte: u64,
    pub(crate) to_byte: u64,
}

/// The source of the next bytes.
enum Source {
    Kept(Box<KeptSource>),
    Live(Box<LiveSource>),
}

/// Ranges of kept bytes, one after the other.
struct KeptSource {
    gateway: Arc<Gateway>,
    output: OutputSelector,
    ranges: VecDeque<(u64, u64)>,
    reader: Option<OutputReader>,
}

/// The log as it grows, with the gaps that were already reported.
struct LiveSource {
    follower: Follower,
    stated: Vec<Gap>,
    stopping: CancellationToken,
}

impl KeptSource {
    async fn next(&mut self) -> Result<Option<Bytes>, OutputError> {
        loop {
            if let Some(reader) = &mut self.reader
                && let Some(bytes) = reader.next().await?
            {
                return Ok(Some(bytes));
            }
            let Some((from, to)) = self.ranges.pop_front() else {
                return Ok(None);
            };
            self.reader = Some(self.gateway.worker.read(self.output, from, to));
        }
    }
}

impl LiveSource {
    async fn next(&mut self) -> Result<Option<Bytes>, OutputError> {
        loop {
            let event = tokio::select! {
                event = self.follower.next() => event?,
                () = self.stopping.cancelled() => return Err(OutputError::Stopping),
            };
            match event.map(|event| event.kind) {
                None => return Ok(None),
                Some(EventKind::Output { bytes, .. }) => return Ok(Some(bytes)),
                Some(EventKind::Gap { stream, from_byte, to_byte }) => {
                    if !self.stated.contains(&Gap { stream, from_byte, to_byte }) {
                        return Err(OutputError::Dropped(from_byte, to_byte));
                    }
                }
                Some(_) => {}
            }
        }
    }
}

type Next = (Source, Result<Option<Bytes>, OutputError>);

async fn next(mut source: Source) -> Next {
    let bytes = match &mut source {
        Source::Kept(kept) => kept.next().await,
        Source::Live(live) => live.next().await,
    };
    (source, bytes)
}

/// The body of a response with raw output.
pub(crate) struct OutputBody {
    next: Option<ReusableBoxFuture<'static, Next>>,
    /// The number of bytes left to send, if known.
    left: Option<u64>,
    open: OpenStream,
}

impl OutputBody {
    /// The kept bytes at these positions of an output.
    pub(crate) fn kept(gateway: &Arc<Gateway>, output: OutputSelector, ranges: Vec<(u64, u64)>) -> Self {
        let left = ranges.iter().map(|(from, to)| to - from).sum();
        let source = Source::Kept(Box::new(KeptSource {
            gateway: Arc::clone(gateway),
            output,
            ranges: ranges.into(),
            reader: None,
        }));
        Self::new(gateway, source, Some(left))
    }

    /// All output of this follower.
    pub(crate) fn live(gateway: &Arc<Gateway>, follower: Follower, stated: Vec<Gap>) -> Self {
        let stopping = gateway.background.stopping.clone();
        Self::new(gateway, Source::Live(Box::new(LiveSource { follower, stated, stopping })), None)
    }

    fn new(gateway: &Arc<Gateway>, source: Source, left: Option<u64>) -> Self {
        let next = Some(ReusableBoxFuture::new(next(source)));
        Self { next, left, open: OpenStream::new(gateway, "raw") }
    }
}

impl Body for OutputBody {
    type Data = Bytes;
    type Error = OutputError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, OutputError>>> {
        let body = self.get_mut();
        let Some(waiting) = &mut body.next else {
            return Poll::Ready(None);
        };
        let (source, bytes) = ready!(waiting.poll(cx));
        match bytes {
            Ok(Some(bytes)) => {
                waiting.set(next(source));
                body.open.sent(bytes.len());
                body.left = body.left.map(|left| left.saturating_sub(bytes.len() as u64));
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Ok(None) => {
                body.next = None;
                Poll::Ready(None)
            }
            Err(error) => {
                body.next = None;
                tracing::warn!(%error, "the response with raw output broke off");
                Poll::Ready(Some(Err(error)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.next.is_none() || self.left == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
