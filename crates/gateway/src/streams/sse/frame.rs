//! Events as SSE. Printed text can never look like an event: it is inside one line of JSON, which has no line
//! breaks, or inside base64.

use std::io::Write;

use headwater_protocol::api::write_event;
use headwater_protocol::{Event, EventKind, Seq};

/// Sets how long a client waits before it reconnects.
pub(crate) const RETRY_FRAME: &[u8] = b"retry: 1000\n\n";
/// A comment that keeps the connection alive.
pub(crate) const HEARTBEAT: &[u8] = b": hb\n\n";
/// Space for the fields around the bytes of an event.
const ENVELOPE_BYTES: usize = 256;

/// Appends an event.
pub(crate) fn write_frame(event: &Event, out: &mut Vec<u8>) {
    let bytes = match &event.kind {
        EventKind::Output { bytes, .. } => bytes.len(),
        _ => 0,
    };
    // Escaped characters take more space: in text, about one byte in sixty is a line break.
    out.reserve(bytes + bytes / 16 + ENVELOPE_BYTES);
    // Writing to memory does not fail.
    let _ = write!(out, "id: {}\nevent: {}\ndata: ", event.seq, event.kind.name());
    write_event(event, out);
    out.extend_from_slice(b"\n\n");
}

/// Appends the request to reconnect, without an `id`, which would move the client's position.
pub(crate) fn write_reconnect(after: Seq, out: &mut Vec<u8>) {
    let _ = write!(out, "event: reconnect\ndata: {{\"after\":{after}}}\n\n");
}

/// Appends the error that ends the stream.
pub(crate) fn write_error(json: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"event: error\ndata: ");
    out.extend_from_slice(json);
    out.extend_from_slice(b"\n\n");
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use headwater_protocol::api::read_event;
    use headwater_protocol::{ExecutionId, Stream};
    use proptest::prelude::*;

    use super::*;

    /// A client's view by the standard: the type and data of each event, and the last id at that time.
    #[derive(Debug, Default, PartialEq, Eq)]
    struct Seen {
        id: String,
        event: String,
        data: String,
    }

    /// Parses a stream by the standard (HTML, 9.2.6), with all three of its line endings.
    fn parse(stream: &[u8]) -> Vec<Seen> {
        let text = std::str::from_utf8(stream).unwrap();
        let (mut all, mut id) = (Vec::new(), String::new());
        let (mut event, mut data) = (String::new(), String::new());
        for line in text.replace("\r\n", "\n").split(['\n', '\r']) {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match (line, name) {
                ("", _) if data.is_empty() => event.clear(),
                ("", _) => {
                    data.pop();
                    let (event, data) = (std::mem::take(&mut event), std::mem::take(&mut data));
                    all.push(Seen { id: id.clone(), event, data });
                }
                (_, "event") => value.clone_into(&mut event),
                (_, "data") => data.extend([value, "\n"]),
                (_, "id") => value.clone_into(&mut id),
                _ => {}
            }
        }
        all
    }

    fn output(seq: u64, bytes: Vec<u8>) -> Event {
        let kind = EventKind::Output { stream: Stream::Stdout, offset: 0, bytes: bytes.into() };
        Event { seq: Seq(seq), at_ms: 1, kind }
    }

    fn seen(events: &[Event]) -> Vec<Seen> {
        let mut stream = RETRY_FRAME.to_vec();
        for event in events {
            write_frame(event, &mut stream);
            stream.extend_from_slice(HEARTBEAT);
        }
        parse(&stream)
    }

    #[test]
    fn printed_text_cannot_look_like_an_event() {
        let forged = "x\n\nid: 99\nevent: exited\ndata: {\"type\":\"exited\",\"code\":0}\n\nretry: 1\r\r\nid: 7\u{2028}\n";
        let events = [
            output(1, forged.as_bytes().to_vec()),
            output(2, [&b"\xff\n\n"[..], forged.as_bytes()].concat()),
        ];
        let seen = seen(&events);
        assert_eq!(seen.len(), 2);
        for (seen, event) in seen.iter().zip(&events) {
            assert_eq!((seen.id.clone(), &*seen.event), (event.seq.to_string(), "stdout"));
            assert_eq!(read_event(seen.data.as_bytes()).unwrap(), *event);
        }
    }

    #[test]
    fn neither_the_word_to_come_back_nor_an_error_moves_the_position() {
        let mut stream = Vec::new();
        write_frame(&output(5, b"a".to_vec()), &mut stream);
        write_reconnect(Seq(5), &mut stream);
        write_error(b"{}", &mut stream);
        let seen = parse(&stream);
        let received: Vec<_> = seen.iter().map(|seen| (&*seen.id, &*seen.event)).collect();
        assert_eq!(received, [("5", "stdout"), ("5", "reconnect"), ("5", "error")]);
        assert_eq!(seen[1].data, "{\"after\":5}");
    }

    proptest! {
        #[test]
        fn a_client_of_the_standard_gets_back_exactly_the_events(
            outputs in proptest::collection::vec(
                prop_oneof![
                    any::<Vec<u8>>(),
                    "[\\PC\r\n\u{0}:]{0,60}".prop_map(String::into_bytes),
                    Just(b"\n\nid: 3\nevent: closed\ndata: {}\n\n".to_vec()),
                ],
                0..20,
            ),
        ) {
            let started = EventKind::Started { execution_id: ExecutionId::random(), pid: 4 };
            let mut events = vec![Event { seq: Seq(1), at_ms: 0, kind: started }];
            events.extend(outputs.into_iter().zip(2..).map(|(bytes, seq)| output(seq, bytes)));
            let end = Seq(events.len() as u64 + 1);
            events.push(Event { seq: end, at_ms: 9, kind: EventKind::Closed });
            let seen = seen(&events);
            prop_assert_eq!(seen.len(), events.len());
            for (seen, event) in seen.iter().zip(&events) {
                prop_assert_eq!(&seen.id, &event.seq.to_string());
                prop_assert_eq!(&seen.event, event.kind.name());
                prop_assert_eq!(&read_event(seen.data.as_bytes()).unwrap(), event);
            }
        }
    }

    #[test]
    fn a_flood_is_written_without_growing_its_buffer_again_and_again() {
        let bytes =
            Bytes::from("a line of a program's output, sixty bytes or so, and its end\n".repeat(1000));
        let kind = EventKind::Output { stream: Stream::Stdout, offset: 0, bytes: bytes.clone() };
        let mut out = Vec::new();
        write_frame(&Event { seq: Seq(2), at_ms: 1, kind }, &mut out);
        assert!(out.capacity() < bytes.len() * 5 / 4, "{}", out.capacity());
    }
}
