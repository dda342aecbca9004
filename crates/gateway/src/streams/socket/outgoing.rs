//! What a client is sent: events as frames, at once, as far as its credit goes.
//!
//! With credits, an output event that is larger than what may be sent is divided. Its parts but the last carry the `seq`
//! of the event *before* it, so whoever goes on after the last seq that it saw misses nothing: it is sent the divided
//! event again, from the beginning, or with `skip=` without the bytes that it has. (To wait for a credit of the whole
//! event would never end where the client waits for bytes before it grants more; to send it whole would break the
//! promise that no more comes than was granted.)

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

use super::note::{Note, SnapshotHead};
use super::shared::Shared;
use crate::error::ApiError;
use crate::streams::sse::OpenStream;

/// A part of a character waits so long for the rest.
const HOLD: Duration = Duration::from_millis(50);
/// Output that waits for more goes out when there is so much.
const SMALL_BYTES: usize = 4 << 10;

/// What is put in the place of bytes that are missing: a screen, and who goes on after it.
pub(crate) type Screen = (Snapshot, Follower);

/// How a client is told of events and of what else there is.
pub(crate) trait Dialect: Send {
    /// Whether output goes out as text, and so is cut on the borders of characters.
    fn is_text(&self) -> bool;

    /// After output went out, small output waits so long for more. The first after a rest goes out at once.
    fn pace(&self) -> Duration {
        Duration::ZERO
    }

    /// An event as a message, if this client is told of such.
    fn event(&self, event: &Event) -> Option<Message>;

    /// The same for what is no event.
    fn note(&self, note: &Note) -> Option<Message>;

    /// Something else that is to be told, now that all up to `position` has been. Dropping the future loses nothing.
    fn more(&mut self, position: Seq) -> impl Future<Output = Note> + Send {
        let _ = position;
        pending()
    }

    /// What is shown in the place of bytes that are missing after `position`; none: that they are.
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
    /// The last event has been sent.
    Done,
    /// The server ends.
    Stopping,
    /// The client takes nothing more.
    Gone,
    /// The log cannot be followed any further.
    Failed(ApiError),
}

/// What is to be sent.
#[derive(Debug)]
pub(crate) enum Due {
    Event(Event),
    Note(Note),
}

impl Due {
    /// A screen: what there is to say of it, and its bytes.
    pub(crate) fn screen(snapshot: Snapshot) -> [Self; 2] {
        let head = Note::Snapshot(SnapshotHead::of(&snapshot));
        let kind = EventKind::Output { stream: Stream::Output, offset: 0, bytes: snapshot.data };
        [Self::Note(head), Self::Event(Event { seq: snapshot.seq, at_ms: 0, kind })]
    }
}

/// The sending half of a socket.
pub(crate) struct Outgoing<D> {
    pub(crate) id: ExecutionId,
    pub(crate) sink: SplitSink<WebSocket, Message>,
    pub(crate) follower: Follower,
    pub(crate) shared: Arc<Shared>,
    pub(crate) dialect: D,
    pub(crate) views: EventViews,
    /// The last event that was sent as a whole.
    pub(crate) position: Seq,
    /// So many bytes of output the client has already.
    pub(crate) skip: u64,
    pub(crate) heartbeat: Duration,
    pub(crate) open: OpenStream,
    pub(crate) due: VecDeque<Due>,
    /// Small output waits until then for more.
    pub(crate) paced_until: Instant,
}

/// Why something that is due is not sent now.
enum Holdup {
    /// There is none: all was sent.
    None,
    /// The client has granted no more.
    Credit,
    /// More may join it.
    Pace,
}

/// What to do next.
enum Turn {
    /// Look again.
    Again,
    Event(Result<Option<Event>, ApiError>),
    Note(Note),
    Ping,
    Stop,
}

impl<D: Dialect> Outgoing<D> {
    /// Sends events until there is a reason to stop.
    pub(crate) async fn run(&mut self) -> Ending {
        match self.send_events().await {
            Ok(ending) => ending,
            // What a broken socket says is of no use to anybody.
            Err(_) => Ending::Gone,
        }
    }

    async fn send_events(&mut self) -> Result<Ending, axum::Error> {
        let mut ping_at = Instant::now() + self.heartbeat;
        let mut rest_at: Option<Instant> = None;
        let mut last_came = false;
        loop {
            while let Some(note) = self.shared.next_note() {
                self.say(&note).await?;
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
                Turn::Note(note) => self.say(&note).await?,
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
            rest_at = self.views.holds().then(|| rest_at.unwrap_or_else(|| Instant::now() + HOLD));
        }
    }

    /// The next thing to do: an event that is there, else all that was written is sent on its way and something waited
    /// for.
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
        if !no_event && let Some(event) = self.follower.next().now_or_never() {
            return Ok(Turn::Event(event.map_err(ApiError::from)));
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
            note = self.dialect.more(self.position) => Turn::Note(note),
            () = wake => Turn::Again,
            () = sleep_until(ping_at) => Turn::Ping,
        })
    }

    /// Takes up an event: the store has an end before anybody is told of it, and a screen stands in for what is missing.
    async fn take_up(&mut self, event: Event) -> Result<(), ApiError> {
        self.open.gateway().recorder.note_event(self.id, &event).await?;
        if matches!(event.kind, EventKind::Gap { .. })
            // What is rare is boxed: thousands of sockets wait, and each carries the largest of all ways.
            && let Some(screen) = Box::pin(self.dialect.instead_of_gap(self.position)).await?
        {
            self.jump(screen);
            return Ok(());
        }
        self.take(event);
        Ok(())
    }

    /// Goes on with a screen, in the place of all that was to come before it.
    fn jump(&mut self, (snapshot, follower): Screen) {
        self.due.retain(|due| matches!(due, Due::Note(_)));
        self.views = EventViews::default();
        self.skip = 0;
        self.follower = follower;
        self.due.extend(Due::screen(snapshot));
    }

    /// What the client has is left out, and text is cut on the borders of characters.
    fn take(&mut self, mut event: Event) {
        skip_bytes(&mut event, &mut self.skip);
        if self.dialect.is_text() {
            for event in self.views.push(event) {
                self.put(event);
            }
        } else {
            // The client may have changed its dialect with something held back.
            self.flush_views();
            self.put(event);
        }
    }

    fn flush_views(&mut self) {
        if let Some(event) = self.views.flush() {
            self.put(event);
        }
    }

    /// What waits for more is joined by it.
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

    /// Whether what is due is little and may wait for more.
    fn may_wait(&self) -> bool {
        let is_small = |due: &Due| match due {
            Due::Event(Event { kind: EventKind::Output { bytes, .. }, .. }) => bytes.len() < SMALL_BYTES,
            _ => false,
        };
        self.due.len() == 1 && self.due.iter().all(is_small) && Instant::now() < self.paced_until
    }

    /// Sends what is due, as far as the credit and the pace go.
    async fn send_due(&mut self, at_once: bool) -> Result<Holdup, axum::Error> {
        if !at_once && self.may_wait() {
            return Ok(Holdup::Pace);
        }
        while let Some(due) = self.due.pop_front() {
            let event = match due {
                Due::Note(note) => {
                    self.say(&note).await?;
                    continue;
                }
                Due::Event(event) => event,
            };
            let EventKind::Output { bytes, .. } = &event.kind else {
                self.send(&event).await?;
                continue;
            };
            let length = bytes.len();
            let granted = self.shared.take(length);
            let may = if self.dialect.is_text() { whole_characters(bytes, granted) } else { granted };
            self.shared.give_back(granted - may);
            self.open.sent(may);
            if may == length {
                self.send(&event).await?;
                continue;
            }
            let (part, rest) = divide(event, may, self.position);
            if let Some(part) = part {
                self.send(&part).await?;
            }
            self.due.push_front(Due::Event(rest));
            return Ok(Holdup::Credit);
        }
        Ok(Holdup::None)
    }

    async fn send(&mut self, event: &Event) -> Result<(), axum::Error> {
        self.position = self.position.max(event.seq);
        let pace = self.dialect.pace();
        if !pace.is_zero() && matches!(event.kind, EventKind::Output { .. }) {
            self.paced_until = Instant::now() + pace;
        }
        match self.dialect.event(event) {
            Some(message) => self.sink.feed(message).await,
            None => Ok(()),
        }
    }

    /// Tells the client what is no event.
    pub(crate) async fn say(&mut self, note: &Note) -> Result<(), axum::Error> {
        match self.dialect.note(note) {
            Some(message) => self.sink.feed(message).await,
            None => Ok(()),
        }
    }
}

/// Leaves out bytes at the beginning of an output event that the client has, and counts them off `skip`.
fn skip_bytes(event: &mut Event, skip: &mut u64) {
    if let EventKind::Output { offset, bytes, .. } = &mut event.kind {
        let known = usize::try_from(*skip).unwrap_or(usize::MAX).min(bytes.len());
        let _ = bytes.split_to(known);
        *offset += known as u64;
        *skip -= known as u64;
    }
}

/// The first `bytes` bytes of an output event, if there are any, and the rest.
fn divide(event: Event, bytes: usize, position: Seq) -> (Option<Event>, Event) {
    let Event { seq, at_ms, kind } = event;
    let EventKind::Output { stream, offset, bytes: mut all } = kind else {
        return (None, Event { seq, at_ms, kind });
    };
    let part = all.split_to(bytes.min(all.len()));
    let rest = EventKind::Output { stream, offset: offset + part.len() as u64, bytes: all };
    let has_part = !part.is_empty();
    let part = Event { seq: position, at_ms, kind: EventKind::Output { stream, offset, bytes: part } };
    (has_part.then_some(part), Event { seq, at_ms, kind: rest })
}

/// As many of the first `at_most` bytes as end with a whole character, if there is one; else all of them.
fn whole_characters(bytes: &[u8], at_most: usize) -> usize {
    let begins = |at: &usize| bytes.get(*at).is_none_or(|byte| byte & 0xC0 != 0x80);
    let border = (at_most.saturating_sub(3)..=at_most).rev().find(begins);
    border.filter(|border| *border > 0).unwrap_or(at_most)
}

#[cfg(test)]
mod tests {
    use headwater_protocol::Stream;

    use super::*;

    fn output(seq: u64, offset: u64, bytes: &'static [u8]) -> Event {
        let kind = EventKind::Output { stream: Stream::Stdout, offset, bytes: Bytes::from_static(bytes) };
        Event { seq: Seq(seq), at_ms: 3, kind }
    }

    #[test]
    fn a_client_that_comes_back_within_an_event_gets_the_rest_of_it() {
        let mut skip = 4;
        let mut events = [output(9, 100, b"abc"), output(10, 103, b"def"), output(11, 106, b"gh")];
        for event in &mut events {
            skip_bytes(event, &mut skip);
        }
        assert_eq!(events, [output(9, 103, b""), output(10, 104, b"ef"), output(11, 106, b"gh")]);
        let mut closed = Event { seq: Seq(12), at_ms: 3, kind: EventKind::Closed };
        skip = 5;
        skip_bytes(&mut closed, &mut skip);
        assert_eq!((closed.kind, skip), (EventKind::Closed, 5), "only output counts");
    }

    #[test]
    fn the_parts_of_a_divided_event_are_its_bytes_and_only_the_last_has_its_seq() {
        let (part, rest) = divide(output(9, 100, b"abcdef"), 4, Seq(7));
        assert_eq!((part, rest.clone()), (Some(output(7, 100, b"abcd")), output(9, 104, b"ef")));
        assert_eq!(whole_characters("a€b".as_bytes(), 5), 5);
        assert_eq!([1, 2, 3, 4].map(|n| whole_characters("a€b".as_bytes(), n)), [1, 1, 1, 4]);
        assert_eq!(
            [0, 1, 2, 3].map(|n| whole_characters("€".as_bytes(), n)),
            [0, 1, 2, 3],
            "nothing else would do"
        );
        assert_eq!(divide(rest, 0, Seq(7)), (None, output(9, 104, b"ef")));
    }
}
