//! Batches of events in one message.

use bytes::{Bytes, BytesMut};
use headwater_contract::v1;
use headwater_protocol::{Event, EventKind, Seq, Stream};

use super::{JOIN, MAX_EVENT_BYTES, MAX_EVENTS};

/// Events are joined up to this size: copying larger ones would cost more than it saves.
const JOIN_BYTES: usize = 16 << 10;

/// The events of one message.
#[derive(Default)]
pub(crate) struct Batch {
    events: Vec<v1::Event>,
    bytes: usize,
    /// The last event, to which more output may be joined.
    open: Option<Open>,
}

/// Output of one stream, joined from several events.
struct Open {
    seq: Seq,
    /// The time of the first bytes.
    first_ms: u64,
    at_ms: u64,
    stream: Stream,
    offset: u64,
    bytes: Joined,
}

/// Bytes that are copied only when more are joined.
enum Joined {
    One(Bytes),
    More(BytesMut),
}

impl Joined {
    fn len(&self) -> usize {
        match self {
            Self::One(bytes) => bytes.len(),
            Self::More(bytes) => bytes.len(),
        }
    }

    fn push(&mut self, more: &[u8]) {
        if let Self::One(first) = self {
            let mut bytes = BytesMut::with_capacity(2 * (first.len() + more.len()));
            bytes.extend_from_slice(first);
            *self = Self::More(bytes);
        }
        if let Self::More(bytes) = self {
            bytes.extend_from_slice(more);
        }
    }
}

impl Open {
    fn event(self) -> Event {
        let bytes = match self.bytes {
            Joined::One(bytes) => bytes,
            Joined::More(bytes) => bytes.freeze(),
        };
        let kind = EventKind::Output { stream: self.stream, offset: self.offset, bytes };
        Event { seq: self.seq, at_ms: self.at_ms, kind }
    }
}

impl Batch {
    /// Adds an event. Output that continues the previous event is joined to it, so that a client that batches gets fewer
    /// events.
    pub(crate) fn add(&mut self, event: Event) {
        let Event { seq, at_ms, kind } = event;
        let EventKind::Output { stream, offset, bytes } = kind else {
            self.close();
            self.events.push(Event { seq, at_ms, kind }.into());
            return;
        };
        self.bytes += bytes.len();
        match &mut self.open {
            Some(open)
                if open.stream == stream
                    && open.offset + open.bytes.len() as u64 == offset
                    && u128::from(at_ms.saturating_sub(open.first_ms)) < JOIN.as_millis()
                    && open.bytes.len() + bytes.len() <= JOIN_BYTES =>
            {
                (open.seq, open.at_ms) = (seq, at_ms);
                open.bytes.push(&bytes);
            }
            _ => {
                self.close();
                self.open =
                    Some(Open { seq, first_ms: at_ms, at_ms, stream, offset, bytes: Joined::One(bytes) });
            }
        }
    }

    fn close(&mut self) {
        self.events.extend(self.open.take().map(|open| open.event().into()));
    }

    pub(crate) fn events(mut self) -> Vec<v1::Event> {
        self.close();
        self.events
    }

    pub(crate) const fn has_output(&self) -> bool {
        self.bytes > 0
    }

    /// Whether to send the batch now; one that is held back is sent early when it has `batch_bytes`.
    pub(crate) fn is_full(&self, batch_bytes: usize, held: bool) -> bool {
        let wanted = if held && batch_bytes > 0 { batch_bytes.min(MAX_EVENT_BYTES) } else { MAX_EVENT_BYTES };
        self.events.len() >= MAX_EVENTS || self.bytes >= wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(seq: u64, at_ms: u64, offset: u64, text: &'static str) -> Event {
        let kind =
            EventKind::Output { stream: Stream::Stdout, offset, bytes: Bytes::from_static(text.as_bytes()) };
        Event { seq: Seq(seq), at_ms, kind }
    }

    #[test]
    fn output_is_joined_only_if_it_was_written_at_about_the_same_time() {
        let mut batch = Batch::default();
        for (n, at_ms) in [0, 40, 99, 100, 130, 5_000].into_iter().enumerate() {
            let n = n as u64;
            batch.add(output(n + 1, 1_000 + at_ms, 2 * n, "ab"));
        }
        let events: Vec<(u64, u64)> = batch.events().iter().map(|event| (event.seq, event.at_ms)).collect();
        assert_eq!(events, [(3, 1_099), (5, 1_130), (6, 6_000)]);
    }
}
