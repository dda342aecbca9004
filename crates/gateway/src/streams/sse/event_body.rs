//! The body of an SSE response: it follows a log at the pace of its reader.
//!
//! It has no task and no queue: the connection asks for the next chunk once the previous one was sent, and
//! only then is the worker asked for more. All events available by then go out as one chunk.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use headwater_contract::Follower;
use headwater_protocol::api::EventViews;
use headwater_protocol::{Event, EventKind, ExecutionId, Seq};
use http_body::{Body, Frame};
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::{ReusableBoxFuture, WaitForCancellationFutureOwned};

use super::frame::{HEARTBEAT, RETRY_FRAME, write_error, write_frame, write_reconnect};
use super::gauge::OpenStream;
use crate::error::ApiError;
use crate::state::Gateway;

/// The maximum size of a chunk, which is what a client that does not read holds in memory.
const CHUNK_BYTES: usize = 64 << 10;
/// How long an incomplete character waits for its rest.
const CHARACTER_HOLD: Duration = Duration::from_millis(50);

type Next = Result<Option<Event>, ApiError>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimerIsFor {
    Rest,
    Heartbeat,
}

/// The body of an SSE response.
pub(crate) struct EventBody {
    /// Waits for the next event, and returns the follower with it.
    next: Option<ReusableBoxFuture<'static, (Box<Follower>, Next)>>,
    id: ExecutionId,
    open: OpenStream,
    views: EventViews,
    /// The last event that was sent, after which the client can continue.
    after: Seq,
    chunk: Vec<u8>,
    stopping: Pin<Box<WaitForCancellationFutureOwned>>,
    timer: Pin<Box<Sleep>>,
    /// What the timer was set for since the last event: the rest of a character, or the heartbeat.
    timer_is_for: Option<TimerIsFor>,
    hold: Duration,
}

impl EventBody {
    pub(crate) fn new(gateway: &Arc<Gateway>, id: ExecutionId, follower: Follower) -> Self {
        let after = follower.position();
        // The worker may hold the rest back, as it does with all output.
        let hold = CHARACTER_HOLD + Duration::from_millis(follower.options().batch_ms.into());
        let beat = Instant::now() + gateway.config.heartbeat;
        Self {
            next: Some(ReusableBoxFuture::new(next(Arc::clone(gateway), id, Box::new(follower)))),
            id,
            views: EventViews::default(),
            after,
            chunk: RETRY_FRAME.to_vec(),
            stopping: Box::pin(gateway.background.stopping.clone().cancelled_owned()),
            timer: Box::pin(sleep_until(beat)),
            timer_is_for: Some(TimerIsFor::Heartbeat),
            hold,
            open: OpenStream::new(gateway, "sse"),
        }
    }

    /// Adds events to the chunk until it is full; then pending, or ready at the end of the stream.
    fn gather(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.chunk.len() < CHUNK_BYTES {
            let Some(waiting) = &mut self.next else {
                return Poll::Ready(());
            };
            let (follower, event) = std::task::ready!(waiting.poll(cx));
            match event {
                Ok(Some(event)) => {
                    waiting.set(next(Arc::clone(self.open.gateway()), self.id, follower));
                    self.take(event);
                }
                Ok(None) => self.end(|_, _| ()),
                Err(error) => self.end(|body, chunk| {
                    let json = serde_json::to_vec(&error.body()).unwrap_or_default();
                    if error.retry_after.is_some() {
                        write_reconnect(body.after, chunk);
                    } else {
                        write_error(&json, chunk);
                    }
                }),
            }
        }
        Poll::Pending
    }

    fn take(&mut self, event: Event) {
        self.timer_is_for = None;
        for event in self.views.push(event) {
            self.write(&event);
        }
    }

    fn write(&mut self, event: &Event) {
        if let EventKind::Output { bytes, .. } = &event.kind {
            self.open.sent(bytes.len());
        }
        self.after = event.seq;
        write_frame(event, &mut self.chunk);
    }

    /// Ends the stream, after the output that was held back and with these last frames.
    fn end(&mut self, last_words: impl FnOnce(&Self, &mut Vec<u8>)) {
        if let Some(event) = self.views.flush() {
            self.write(&event);
        }
        let mut chunk = std::mem::take(&mut self.chunk);
        last_words(self, &mut chunk);
        self.chunk = chunk;
        self.next = None;
    }

    fn poll_timer(&mut self, cx: &mut Context<'_>) {
        loop {
            let wanted = if self.views.holds() { TimerIsFor::Rest } else { TimerIsFor::Heartbeat };
            if self.timer_is_for.replace(wanted) != Some(wanted) {
                let heartbeat = self.open.gateway().config.heartbeat;
                let after = if wanted == TimerIsFor::Rest { self.hold } else { heartbeat };
                self.timer.as_mut().reset(Instant::now() + after);
            }
            if self.timer.as_mut().poll(cx).is_pending() {
                return;
            }
            self.timer_is_for = None;
            match self.views.flush() {
                Some(event) => self.write(&event),
                None => self.chunk.extend_from_slice(HEARTBEAT),
            }
        }
    }
}

/// The next event. The store records an end before the client is sent it.
async fn next(gateway: Arc<Gateway>, id: ExecutionId, mut follower: Box<Follower>) -> (Box<Follower>, Next) {
    let mut event = follower.next().await.map_err(ApiError::from);
    if let Ok(Some(next)) = &event
        && let Err(error) = gateway.recorder.note_event(id, next).await
    {
        event = Err(error);
    }
    (follower, event)
}

impl Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let body = self.get_mut();
        if body.next.is_some() && body.stopping.as_mut().poll(cx).is_ready() {
            // Held-back output is sent again by the next server.
            body.views = EventViews::default();
            body.end(|body, chunk| write_reconnect(body.after, chunk));
        }
        if body.gather(cx).is_pending() && body.chunk.is_empty() {
            body.poll_timer(cx);
        }
        if !body.chunk.is_empty() {
            let chunk = Bytes::from(std::mem::take(&mut body.chunk));
            return Poll::Ready(Some(Ok(Frame::data(chunk))));
        }
        if body.next.is_none() { Poll::Ready(None) } else { Poll::Pending }
    }

    fn is_end_stream(&self) -> bool {
        self.next.is_none() && self.chunk.is_empty()
    }
}
