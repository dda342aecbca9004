//! The position of a reader: the seq to resume after, and the end of each stream. It decides which events are
//! new.

use headwater_protocol::{Event, EventKind, Seq, Stream};

/// The position of a reader.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Position {
    seq: Seq,
    /// The end of each stream, by its number.
    ends: [u64; 4],
}

impl Position {
    pub(crate) const fn after(seq: Seq) -> Self {
        Self { seq, ends: [0; 4] }
    }

    /// The last event that was delivered, after which to continue.
    pub(crate) const fn seq(&self) -> Seq {
        self.seq
    }

    /// The position of the next byte of this stream, as far as it is known.
    pub(crate) fn end(&self, stream: Stream) -> u64 {
        self.ends[usize::from(stream as u8)]
    }

    /// Advances by a part of the next event; returns the position of its bytes.
    pub(crate) fn pass_part(&mut self, stream: Stream, bytes: usize) -> u64 {
        let end = &mut self.ends[usize::from(stream as u8)];
        let offset = *end;
        *end += bytes as u64;
        offset
    }

    /// Advances to this event and returns it, if it is new.
    ///
    /// The seq of a gap is the one before the first event after it, which may be the one that was resumed
    /// after. So its seq may repeat; it is new if it covers bytes after the known end.
    pub(crate) fn pass(&mut self, mut event: Event) -> Option<Event> {
        let is_new = match &mut event.kind {
            EventKind::Gap { stream, from_byte, to_byte } => {
                let end = &mut self.ends[usize::from(*stream as u8)];
                *from_byte = (*from_byte).max(*end);
                let is_new = event.seq >= self.seq && to_byte > from_byte;
                *end = (*end).max(*to_byte);
                is_new
            }
            EventKind::Output { stream, offset, bytes } if event.seq > self.seq => {
                self.ends[usize::from(*stream as u8)] = *offset + bytes.len() as u64;
                true
            }
            _ => event.seq > self.seq,
        };
        self.seq = self.seq.max(event.seq);
        is_new.then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(seq: u64, offset: u64, text: &'static str) -> Event {
        let kind = EventKind::Output { stream: Stream::Stdout, offset, bytes: text.into() };
        Event { seq: Seq(seq), at_ms: 0, kind }
    }

    fn gap(seq: u64, from_byte: u64, to_byte: u64) -> Event {
        Event { seq: Seq(seq), at_ms: 0, kind: EventKind::Gap { stream: Stream::Stdout, from_byte, to_byte } }
    }

    #[test]
    fn earlier_events_are_not_new() {
        let mut position = Position::after(Seq(3));
        assert!(position.pass(output(3, 0, "a")).is_none());
        assert!(position.pass(output(5, 0, "abc")).is_some());
        assert!(position.pass(output(5, 0, "abc")).is_none());
        assert!(position.pass(output(4, 0, "abc")).is_none());
        assert_eq!((position.seq(), position.end(Stream::Stdout)), (Seq(5), 3));
    }

    #[test]
    fn a_gap_with_the_seq_before_it_is_returned_once() {
        let mut position = Position::default();
        assert!(position.pass(output(2, 0, "abc")).is_some());
        assert!(position.pass(gap(2, 3, 10)).is_some());
        assert!(position.pass(gap(2, 3, 10)).is_none());
        assert_eq!(position.pass(gap(7, 3, 12)), Some(gap(7, 10, 12)));
        assert!(position.pass(gap(6, 3, 20)).is_none());
    }
}
