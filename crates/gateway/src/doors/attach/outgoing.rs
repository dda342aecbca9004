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

use axum::extract::ws::{Message, Utf8Bytes, WebSocket};
use bytes::Bytes;
use futures_util::stream::SplitSink;
use futures_util::{FutureExt, SinkExt};
use headwater_contract::Follower;
use headwater_protocol::api::{EventViews, write_event};
use headwater_protocol::{Event, EventKind, ExecutionId, Seq};
use tokio::time::{Instant, sleep_until};

use super::Mode;
use super::frames::{binary_event, binary_json, error_json};
use super::shared::Shared;
use crate::error::ApiError;
use crate::stream::OpenStream;

/// A part of a character waits so long for the rest.
const HOLD: Duration = Duration::from_millis(50);

/// Why nothing more is sent.
#[derive(Debug)]
pub(super) enum Ending {
    /// The last event has been sent.
    Done,
    /// The server ends.
    Stopping,
    /// The client takes nothing more.
    Gone,
    /// The log cannot be followed any further.
    Failed(ApiError),
}

/// The sending half of a socket.
pub(super) struct Outgoing {
    pub(super) id: ExecutionId,
    pub(super) sink: SplitSink<WebSocket, Message>,
    pub(super) follower: Follower,
    pub(super) shared: Arc<Shared>,
    pub(super) mode: Mode,
    pub(super) views: EventViews,
    /// The last event that was sent as a whole.
    pub(super) position: Seq,
    /// So many bytes of output the client has already.
    pub(super) skip: u64,
    pub(super) heartbeat: Duration,
    pub(super) open: OpenStream,
}

/// What to do next.
enum Turn {
    /// Look again.
    Again,
    Event(Result<Option<Event>, ApiError>),
    Ping,
    Rest,
    Stop,
}

impl Outgoing {
    /// Sends events until there is a reason to stop.
    pub(super) async fn run(&mut self) -> Ending {
        match self.send_events().await {
            Ok(ending) => ending,
            // What a broken socket says is of no use to anybody.
            Err(_) => Ending::Gone,
        }
    }

    async fn send_events(&mut self) -> Result<Ending, axum::Error> {
        let mut due = VecDeque::new();
        let mut ping_at = Instant::now() + self.heartbeat;
        let mut rest_at = None;
        let mut last_came = false;
        loop {
            while let Some(error) = self.shared.error() {
                self.say(&error).await?;
            }
            let lacks_credit = self.send_due(&mut due).await?;
            if last_came && due.is_empty() {
                self.sink.flush().await?;
                return Ok(Ending::Done);
            }
            match self.turn(lacks_credit || last_came, ping_at, rest_at).await? {
                Turn::Again => {}
                Turn::Stop => return Ok(Ending::Stopping),
                Turn::Ping => {
                    self.sink.send(Message::Ping(Bytes::new())).await?;
                    ping_at = Instant::now() + self.heartbeat;
                }
                Turn::Rest => due.extend(self.views.flush()),
                Turn::Event(Ok(Some(event))) => {
                    if let Err(error) = self.note(&event).await {
                        return Ok(Ending::Failed(error));
                    }
                    self.take(event, &mut due);
                    rest_at = None;
                }
                Turn::Event(Ok(None)) => {
                    due.extend(self.views.flush());
                    last_came = true;
                }
                Turn::Event(Err(error)) => return Ok(Ending::Failed(error)),
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
        rest_at: Option<Instant>,
    ) -> Result<Turn, axum::Error> {
        let gateway = Arc::clone(self.open.gateway());
        if gateway.stopping.is_cancelled() {
            return Ok(Turn::Stop);
        }
        if Instant::now() >= ping_at {
            return Ok(Turn::Ping);
        }
        if !no_event && let Some(event) = self.follower.next().now_or_never() {
            return Ok(Turn::Event(event.map_err(ApiError::from)));
        }
        self.sink.flush().await?;
        let rest = async {
            match rest_at {
                Some(at) => sleep_until(at).await,
                None => pending().await,
            }
        };
        Ok(tokio::select! {
            biased;
            () = gateway.stopping.cancelled() => Turn::Stop,
            () = self.shared.changed() => Turn::Again,
            event = self.follower.next(), if !no_event => Turn::Event(event.map_err(ApiError::from)),
            () = rest => Turn::Rest,
            () = sleep_until(ping_at) => Turn::Ping,
        })
    }

    /// The store has an end before anybody is told of it.
    async fn note(&self, event: &Event) -> Result<(), ApiError> {
        self.open.gateway().note_event(self.id, event).await
    }

    /// Takes up an event: what the client has is left out, and in JSON it is cut on the borders of characters.
    fn take(&mut self, mut event: Event, due: &mut VecDeque<Event>) {
        if let EventKind::Output { offset, bytes, .. } = &mut event.kind
            && self.skip > 0
        {
            let known = usize::try_from(self.skip).unwrap_or(usize::MAX).min(bytes.len());
            let _ = bytes.split_to(known);
            *offset += known as u64;
            self.skip -= known as u64;
        }
        match self.mode {
            Mode::Binary => due.push_back(event),
            Mode::Json => due.extend(self.views.push(event)),
        }
    }

    /// Sends what is due, as far as the credit goes; whether it does not go far enough.
    async fn send_due(&mut self, due: &mut VecDeque<Event>) -> Result<bool, axum::Error> {
        while let Some(event) = due.pop_front() {
            let EventKind::Output { bytes, .. } = &event.kind else {
                self.send(&event).await?;
                continue;
            };
            let length = bytes.len();
            let granted = self.shared.take(length);
            let may = if self.mode == Mode::Json { whole_characters(bytes, granted) } else { granted };
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
            due.push_front(rest);
            return Ok(true);
        }
        Ok(false)
    }

    async fn send(&mut self, event: &Event) -> Result<(), axum::Error> {
        let message = match self.mode {
            Mode::Binary => Message::Binary(binary_event(event)),
            Mode::Json => {
                let mut json = Vec::new();
                write_event(event, &mut json);
                text(json)
            }
        };
        self.position = self.position.max(event.seq);
        self.sink.feed(message).await
    }

    /// Tells the client what went wrong.
    pub(super) async fn say(&mut self, error: &ApiError) -> Result<(), axum::Error> {
        let json = error_json(error);
        let message = match self.mode {
            Mode::Binary => Message::Binary(binary_json(&json)),
            Mode::Json => text(json),
        };
        self.sink.send(message).await
    }
}

fn text(json: Vec<u8>) -> Message {
    // JSON is UTF-8.
    Message::Text(Utf8Bytes::try_from(Bytes::from(json)).unwrap_or_default())
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
