//! Sends events to a client as frames, immediately, as far as its credit allows.
//!
//! With credits, an output event that is larger than the credit is divided. All its parts but the last carry
//! the `seq` of the event *before* it, so a client that continues after the last seq that it saw misses
//! nothing: the divided event is sent again, from its beginning, or with `skip=` without the bytes that it
//! has. (Waiting for a credit for the whole event would never end if the client waits for bytes before it
//! grants more; sending it whole would exceed the credit.)

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use bytes::{Bytes, BytesMut};
use futures_util::stream::SplitSink;
use futures_util::{FutureExt, SinkExt};
use headwater_contract::{Follower, Snapshot};
use headwater_protocol::api::EventViews;
use headwater_protocol::{Event, EventKind, ExecutionId, Seq, Stream};
use tokio::time::{Instant, sleep_until};

use super::divide::{divide, skip_bytes, whole_characters};
use super::notice::{Notice, SnapshotHead};
use super::shared::Shared;
use crate::error::ApiError;
use crate::streams::sse::OpenStream;

/// How long an incomplete character waits for its rest.
const CHARACTER_HOLD: Duration = Duration::from_millis(50);
/// Output that waits for more is sent once it has this size.
const SMALL_BYTES: usize = 4 << 10;

/// Replaces missing bytes: a screen, and a follower that continues after it.
pub(crate) type Screen = (Snapshot, Follower);

/// An event of another execution than the one that the socket follows.
#[derive(Debug)]
pub(crate) struct OtherEvent {
    pub(crate) id: ExecutionId,
    pub(crate) event: Event,
    /// The execution's last event that was sent completely.
    pub(crate) before: Seq,
}

/// What an encoder adds to the events of the log.
#[derive(Debug)]
pub(crate) enum More {
    Notice(Notice),
    Other(Box<OtherEvent>),
}

/// Encodes events and notices for a client.
pub(crate) trait Encoder: Send {
    /// Whether output is sent as text, and therefore cut only between characters.
    fn is_text(&self) -> bool;

    /// How long small output waits for more after output was sent. The first output after a pause is sent
    /// immediately.
    fn pace(&self) -> Duration {
        Duration::ZERO
    }

    /// An event as a message, if this client receives such events.
    fn event(&self, event: &Event) -> Option<Message>;

    /// A notice as a message, if this client receives such notices.
    fn notice(&self, notice: &Notice) -> Option<Message>;

    /// An event of another execution as a message, if this client receives such events. `position`: the last
    /// event of the log that was sent.
    fn other(&self, other: &OtherEvent, position: Seq) -> Option<Message> {
        let _ = (other, position);
        None
    }

    /// Another notice, now that everything up to `position` was sent, or with `output` an event of another
    /// execution. Cancel-safe.
    fn more(&mut self, position: Seq, output: bool) -> impl Future<Output = More> + Send {
        let _ = (position, output);
        pending()
    }

    /// The replacement for bytes that are missing after `position`; None: a gap is reported.
    fn instead_of_gap(
        &mut self,
        position: Seq,
    ) -> impl Future<Output = Result<Option<Screen>, ApiError>> + Send {
        let _ = position;
        std::future::ready(Ok(None))
    }
}

/// Why nothing more is sent.
#[derive(Debug)]
pub(crate) enum Ending {
    /// The last event was sent.
    Done,
    /// The server is shutting down.
    Stopping,
    /// The client is disconnected.
    Gone,
    /// The rest of the log cannot be read.
    Failed(ApiError),
}

/// An item to send.
#[derive(Debug)]
pub(crate) enum Due {
    Event(Event),
    Notice(Notice),
    Other(Box<OtherEvent>),
}

impl Due {
    /// A screen: its header and its bytes.
    pub(crate) fn screen(snapshot: Snapshot) -> [Self; 2] {
        let head = Notice::Snapshot(SnapshotHead::of(&snapshot));
        let kind = EventKind::Output { stream: Stream::Output, offset: 0, bytes: snapshot.data };
        [Self::Notice(head), Self::Event(Event { seq: snapshot.seq, at_ms: 0, kind })]
    }
}

/// The sending half of a socket.
pub(crate) struct Outgoing<D> {
    pub(crate) id: ExecutionId,
    pub(crate) sink: SplitSink<WebSocket, Message>,
    pub(crate) follower: Follower,
    pub(crate) shared: Arc<Shared>,
    pub(crate) encoder: D,
    pub(crate) views: EventViews,
    /// The last event that was sent completely.
    pub(crate) position: Seq,
    /// The number of bytes of output that the client already has.
    pub(crate) skip: u64,
    pub(crate) heartbeat: Duration,
    pub(crate) open: OpenStream,
    pub(crate) due: VecDeque<Due>,
    /// Small output waits until this time for more.
    pub(crate) paced_until: Instant,
    /// Whether an event of another execution is sent next, if there is one: a flood of one delays no other.
    pub(crate) is_others_turn: bool,
}

/// Why the next item is not sent now.
enum Holdup {
    /// All items were sent.
    None,
    /// The client's credit is used up.
    Credit,
    /// Small output waits for more.
    Pace,
}

/// The next step.
enum Turn {
    /// Check everything again.
    Again,
    Event(Result<Option<Event>, ApiError>),
    More(More),
    Ping,
    Stop,
}

impl<D: Encoder> Outgoing<D> {
    /// Sends events until there is a reason to stop.
    pub(crate) async fn run(&mut self) -> Ending {
        match self.send_events().await {
            Ok(ending) => ending,
            // The error of a broken socket is of no use.
            Err(_) => Ending::Gone,
        }
    }

    async fn send_events(&mut self) -> Result<Ending, axum::Error> {
        let mut ping_at = Instant::now() + self.heartbeat;
        let mut rest_at: Option<Instant> = None;
        let mut last_came = false;
        loop {
            while let Some(notice) = self.shared.next_notice() {
                self.send_notice(&notice).await?;
            }
            let holdup = self.send_due(last_came).await?;
            if last_came && self.due.is_empty() {
                self.sink.flush().await?;
                return Ok(Ending::Done);
            }
            let wake_at = match holdup {
                Holdup::Pace => Some(rest_at.map_or(self.paced_until, |at| at.min(self.paced_until))),
                _ => rest_at,
            };
            let no_event = last_came || matches!(holdup, Holdup::Credit);
            match self.turn(no_event, ping_at, wake_at).await? {
                Turn::Again => {}
                Turn::Stop => return Ok(Ending::Stopping),
                Turn::Ping => {
                    self.sink.send(Message::Ping(Bytes::new())).await?;
                    ping_at = Instant::now() + self.heartbeat;
                }
                Turn::More(More::Notice(notice)) => self.send_notice(&notice).await?,
                Turn::More(More::Other(other)) => self.due.push_back(Due::Other(other)),
                Turn::Event(Ok(Some(event))) => {
                    if let Err(error) = self.take_up(event).await {
                        return Ok(Ending::Failed(error));
                    }
                    rest_at = None;
                }
                Turn::Event(Ok(None)) => {
                    self.flush_views();
                    last_came = true;
                }
                Turn::Event(Err(error)) => return Ok(Ending::Failed(error)),
            }
            if rest_at.is_some_and(|at| at <= Instant::now()) {
                self.flush_views();
            }
            rest_at = self.views.holds().then(|| rest_at.unwrap_or_else(|| Instant::now() + CHARACTER_HOLD));
        }
    }

    /// The next step: an event that is already available; otherwise flushes the socket and waits.
    async fn turn(
        &mut self,
        no_event: bool,
        ping_at: Instant,
        wake_at: Option<Instant>,
    ) -> Result<Turn, axum::Error> {
        let gateway = Arc::clone(self.open.gateway());
        if gateway.background.stopping.is_cancelled() {
            return Ok(Turn::Stop);
        }
        if Instant::now() >= ping_at {
            return Ok(Turn::Ping);
        }
        if !no_event {
            if std::mem::take(&mut self.is_others_turn)
                && let Some(more) = self.encoder.more(self.position, true).now_or_never()
            {
                return Ok(Turn::More(more));
            }
            if let Some(event) = self.follower.next().now_or_never() {
                self.is_others_turn = true;
                return Ok(Turn::Event(event.map_err(ApiError::from)));
            }
        }
        self.sink.flush().await?;
        let wake = async {
            match wake_at {
                Some(at) => sleep_until(at).await,
                None => pending().await,
            }
        };
        Ok(tokio::select! {
            biased;
            () = gateway.background.stopping.cancelled() => Turn::Stop,
            () = self.shared.changed() => Turn::Again,
            event = self.follower.next(), if !no_event => Turn::Event(event.map_err(ApiError::from)),
            more = self.encoder.more(self.position, !no_event) => Turn::More(more),
            () = wake => Turn::Again,
            () = sleep_until(ping_at) => Turn::Ping,
        })
    }

    /// Takes an event. The store records an end before the client is sent it, and a screen replaces missing
    /// output.
    async fn take_up(&mut self, event: Event) -> Result<(), ApiError> {
        self.open.gateway().recorder.note_event(self.id, &event).await?;
        if matches!(event.kind, EventKind::Gap { .. })
            // Rare futures are boxed: thousands of sockets wait, and each holds its largest state.
            && let Some(screen) = Box::pin(self.encoder.instead_of_gap(self.position)).await?
        {
            self.jump(screen);
            return Ok(());
        }
        self.take(event);
        Ok(())
    }

    /// Continues with a screen, in place of everything that was to be sent before it.
    fn jump(&mut self, (snapshot, follower): Screen) {
        self.due.retain(|due| !matches!(due, Due::Event(_)));
        self.views = EventViews::default();
        self.skip = 0;
        self.follower = follower;
        self.due.extend(Due::screen(snapshot));
    }

    /// Skips bytes that the client already has, and cuts text only between characters.
    fn take(&mut self, mut event: Event) {
        skip_bytes(&mut event, &mut self.skip);
        if self.encoder.is_text() {
            for event in self.views.push(event) {
                self.put(event);
            }
        } else {
            // The client may have switched to binary frames while something was held back.
            self.flush_views();
            self.put(event);
        }
    }

    fn flush_views(&mut self) {
        if let Some(event) = self.views.flush() {
            self.put(event);
        }
    }

    /// Joins output that is waiting for more.
    fn put(&mut self, event: Event) {
        if let (Some(Due::Event(last)), EventKind::Output { stream, bytes, .. }) =
            (self.due.back_mut(), &event.kind)
            && let EventKind::Output { stream: same, bytes: before, .. } = &mut last.kind
            && same == stream
            && before.len() + bytes.len() <= SMALL_BYTES
        {
            let mut joined = BytesMut::with_capacity(before.len() + bytes.len());
            joined.extend_from_slice(before);
            joined.extend_from_slice(bytes);
            *before = joined.freeze();
            (last.seq, last.at_ms) = (event.seq, event.at_ms);
            return;
        }
        self.due.push_back(Due::Event(event));
    }

    /// Whether the only item is small output that may wait for more.
    fn may_wait(&self) -> bool {
        let is_small = |due: &Due| match due {
            Due::Event(Event { kind: EventKind::Output { bytes, .. }, .. }) => bytes.len() < SMALL_BYTES,
            _ => false,
        };
        self.due.len() == 1 && self.due.iter().all(is_small) && Instant::now() < self.paced_until
    }

    /// Sends items, as far as the credit and the pace allow.
    async fn send_due(&mut self, at_once: bool) -> Result<Holdup, axum::Error> {
        if !at_once && self.may_wait() {
            return Ok(Holdup::Pace);
        }
        while let Some(due) = self.due.pop_front() {
            let rest = match due {
                Due::Notice(notice) => {
                    self.send_notice(&notice).await?;
                    None
                }
                Due::Event(event) => {
                    let (part, rest) = self.within_credit(event, self.position);
                    if let Some(part) = part {
                        self.send(&part).await?;
                    }
                    rest.map(Due::Event)
                }
                Due::Other(other) => self.send_other(*other).await?.map(Due::Other),
            };
            if let Some(rest) = rest {
                self.due.push_front(rest);
                return Ok(Holdup::Credit);
            }
        }
        Ok(Holdup::None)
    }

    /// The part of an event that the credit allows, and the rest, if any. The last event before it is `before`.
    fn within_credit(&self, event: Event, before: Seq) -> (Option<Event>, Option<Event>) {
        let EventKind::Output { bytes, .. } = &event.kind else {
            return (Some(event), None);
        };
        let length = bytes.len();
        let granted = self.shared.take(length);
        let may = if self.encoder.is_text() { whole_characters(bytes, granted) } else { granted };
        self.shared.give_back(granted - may);
        self.open.sent(may);
        if may == length {
            return (Some(event), None);
        }
        let (part, rest) = divide(event, may, before);
        (part, Some(rest))
    }

    /// Sends an event of another execution, as far as the credit allows; returns the rest.
    async fn send_other(&mut self, other: OtherEvent) -> Result<Option<Box<OtherEvent>>, axum::Error> {
        let OtherEvent { id, event, before } = other;
        let (part, rest) = self.within_credit(event, before);
        if let Some(event) = part
            && let Some(message) = self.encoder.other(&OtherEvent { id, event, before }, self.position)
        {
            self.sink.feed(message).await?;
        }
        Ok(rest.map(|event| Box::new(OtherEvent { id, event, before })))
    }

    async fn send(&mut self, event: &Event) -> Result<(), axum::Error> {
        self.position = self.position.max(event.seq);
        let pace = self.encoder.pace();
        if !pace.is_zero() && matches!(event.kind, EventKind::Output { .. }) {
            self.paced_until = Instant::now() + pace;
        }
        match self.encoder.event(event) {
            Some(message) => self.sink.feed(message).await,
            None => Ok(()),
        }
    }

    /// Sends a notice to the client.
    pub(crate) async fn send_notice(&mut self, notice: &Notice) -> Result<(), axum::Error> {
        match self.encoder.notice(notice) {
            Some(message) => self.sink.feed(message).await,
            None => Ok(()),
        }
    }
}
