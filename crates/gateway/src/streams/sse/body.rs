//! The body of an SSE answer: it follows a log at the pace of whoever reads it.
//!
//! No task and no queue: the connection asks for the next piece when the one before is on its way, and only then is more
//! asked of the worker. What is there by then goes out as one piece.

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

use super::frame::{HEARTBEAT, RETRY, write_error, write_frame, write_reconnect};
use super::gauge::OpenStream;
use crate::error::ApiError;
use crate::state::Gateway;

/// A piece goes out when it has so much, whatever else is there: it is what a client that does not read holds here.
const PIECE_BYTES: usize = 64 << 10;
/// A part of a character waits so long for the rest.
const HOLD: Duration = Duration::from_millis(50);

type Next = Result<Option<Event>, ApiError>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimerIsFor {
    Rest,
    Heartbeat,
}

/// The body.
pub(crate) struct EventBody {
    /// Waits for the next event, and gives the follower back with it.
    next: Option<ReusableBoxFuture<'static, (Box<Follower>, Next)>>,
    id: ExecutionId,
    open: OpenStream,
    views: EventViews,
    /// Where the client can go on: the last event that it was sent.
    after: Seq,
    piece: Vec<u8>,
    stopping: Pin<Box<WaitForCancellationFutureOwned>>,
    timer: Pin<Box<Sleep>>,
    /// What the timer was set for since the last event: the rest of a character, or the heartbeat.
    timer_is_for: Option<TimerIsFor>,
    hold: Duration,
}

impl EventBody {
    pub(crate) fn new(gateway: &Arc<Gateway>, id: ExecutionId, follower: Follower) -> Self {
        let after = follower.position();
        // The rest may be held back by the worker, as all output is.
        let hold = HOLD + Duration::from_millis(follower.options().batch_ms.into());
        let beat = Instant::now() + gateway.config.heartbeat;
        Self {
            next: Some(ReusableBoxFuture::new(next(Arc::clone(gateway), id, Box::new(follower)))),
            id,
            views: EventViews::default(),
            after,
            piece: RETRY.to_vec(),
            stopping: Box::pin(gateway.background.stopping.clone().cancelled_owned()),
            timer: Box::pin(sleep_until(beat)),
            timer_is_for: Some(TimerIsFor::Heartbeat),
            hold,
            open: OpenStream::new(gateway, "sse"),
        }
    }

    /// Takes up events as long as there are any and the piece has room; then pending, or ready at the stream's end.
    fn gather(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.piece.len() < PIECE_BYTES {
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
                Err(error) => self.end(|body, piece| {
                    let json = serde_json::to_vec(&error.body()).unwrap_or_default();
                    if error.retry_after.is_some() {
                        write_reconnect(body.after, piece);
                    } else {
                        write_error(&json, piece);
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
        write_frame(event, &mut self.piece);
    }

    /// Ends the stream, after what was held back and with these last words.
    fn end(&mut self, last_words: impl FnOnce(&Self, &mut Vec<u8>)) {
        if let Some(event) = self.views.flush() {
            self.write(&event);
        }
        let mut piece = std::mem::take(&mut self.piece);
        last_words(self, &mut piece);
        self.piece = piece;
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
                None => self.piece.extend_from_slice(HEARTBEAT),
            }
        }
    }
}

/// The next event; the store has an end before anybody is told of it.
async fn next(gateway: Arc<Gateway>, id: ExecutionId, mut follower: Box<Follower>) -> (Box<Follower>, Next) {
    let mut event = follower.next().await.map_err(ApiError::from);
    if let Ok(Some(told)) = &event
        && let Err(error) = gateway.recorder.note_event(id, told).await
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
            // What is held back is sent again by the server that comes next.
            body.views = EventViews::default();
            body.end(|body, piece| write_reconnect(body.after, piece));
        }
        if body.gather(cx).is_pending() && body.piece.is_empty() {
            body.poll_timer(cx);
        }
        if !body.piece.is_empty() {
            let piece = Bytes::from(std::mem::take(&mut body.piece));
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        if body.next.is_none() { Poll::Ready(None) } else { Poll::Pending }
    }

    fn is_end_stream(&self) -> bool {
        self.next.is_none() && self.piece.is_empty()
    }
}
