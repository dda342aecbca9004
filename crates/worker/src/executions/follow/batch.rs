//! Events on their way out in one message.

use bytes::{Bytes, BytesMut};
use headwater_contract::v1;
use headwater_protocol::{Event, EventKind, Seq, Stream};

use super::{MAX_BYTES, MAX_EVENTS};

/// Events are joined up to this size; larger ones are large enough, and copying them would cost more than it saves.
const JOIN_BYTES: usize = 16 << 10;

/// What goes out in one message.
#[derive(Default)]
pub(crate) struct Batch {
    events: Vec<v1::Event>,
    bytes: usize,
    /// The last event, while more may join it.
    open: Option<Open>,
}

/// Output of one stream that came in several events, as one.
struct Open {
    seq: Seq,
    at_ms: u64,
    stream: Stream,
    offset: u64,
    bytes: Joined,
}

/// Bytes that are copied only when there are more.
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
    /// Takes an event. Output that goes on where the event before ended becomes a part of it, so that whoever holds
    /// events back gets fewer of them.
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
                    && open.bytes.len() + bytes.len() <= JOIN_BYTES =>
            {
                (open.seq, open.at_ms) = (seq, at_ms);
                open.bytes.push(&bytes);
            }
            _ => {
                self.close();
                self.open = Some(Open { seq, at_ms, stream, offset, bytes: Joined::One(bytes) });
            }
        }
    }

    fn close(&mut self) {
        self.events.extend(self.open.take().map(|open| open.event().into()));
    }

    /// All of it.
    pub(crate) fn events(mut self) -> Vec<v1::Event> {
        self.close();
        self.events
    }

    /// Whether it must go out now; one that is held back goes out early when it has as much as was asked for.
    pub(crate) fn is_full(&self, batch_bytes: usize, held: bool) -> bool {
        let wanted = if held && batch_bytes > 0 { batch_bytes.min(MAX_BYTES) } else { MAX_BYTES };
        self.events.len() >= MAX_EVENTS || self.bytes >= wanted
    }
}
