//! Cuts output events: at the bytes that a client already has, and at those that its credit allows.

use headwater_protocol::{Event, EventKind, Seq};

/// Leaves out bytes at the beginning of an output event that the client has, and counts them off `skip`.
pub(crate) fn skip_bytes(event: &mut Event, skip: &mut u64) {
    if let EventKind::Output { offset, bytes, .. } = &mut event.kind {
        let known = usize::try_from(*skip).unwrap_or(usize::MAX).min(bytes.len());
        let _ = bytes.split_to(known);
        *offset += known as u64;
        *skip -= known as u64;
    }
}

/// The first `bytes` bytes of an output event, if there are any, and the rest.
pub(crate) fn divide(event: Event, bytes: usize, position: Seq) -> (Option<Event>, Event) {
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

/// How many of the first `at_most` bytes end with a complete character, if there is one; else all of them.
pub(crate) fn whole_characters(bytes: &[u8], at_most: usize) -> usize {
    let begins = |at: &usize| bytes.get(*at).is_none_or(|byte| byte & 0xC0 != 0x80);
    let border = (at_most.saturating_sub(3)..=at_most).rev().find(begins);
    border.filter(|border| *border > 0).unwrap_or(at_most)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
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
