//! Events as lines of JSON, in the shape of the native API.
//!
//! Two promises pull in different directions: text is cut on the borders of characters, and whoever goes on after a
//! `seq` misses nothing. So a chunk that ends inside a character is held back as a whole, until the next chunk of its
//! stream completes it (they become one event, with the later `seq`); if anything else happens first, it goes out as
//! it is, as base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use headwater_protocol::{Event, EventKind, Stream};
use serde::Serialize;
use serde_json::{Value, json};

/// The most that is held back.
const HOLD_BYTES: usize = 4 << 20;

#[derive(Debug)]
struct Chunk {
    stream: Stream,
    seq: u64,
    at_ms: u64,
    bytes: Vec<u8>,
}

#[derive(Serialize)]
struct Line<'a> {
    r#type: &'static str,
    seq: u64,
    at_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

/// Makes lines of events.
#[derive(Debug, Default)]
pub struct JsonLines {
    held: Option<Chunk>,
}

impl JsonLines {
    /// The lines that are certain after this event.
    pub fn push(&mut self, event: Event) -> Vec<u8> {
        let mut lines = Vec::new();
        let seq = event.seq.0;
        match event.kind {
            EventKind::Output { stream, bytes, .. } => {
                if self.held.as_ref().is_some_and(|held| held.stream != stream) {
                    self.release(&mut lines);
                }
                let mut whole = self.held.take().map(|held| held.bytes).unwrap_or_default();
                whole.extend_from_slice(&bytes);
                let chunk = Chunk { stream, seq, at_ms: event.at_ms, bytes: whole };
                if ends_inside_a_character(&chunk.bytes) && chunk.bytes.len() < HOLD_BYTES {
                    self.held = Some(chunk);
                } else {
                    write_chunk(&mut lines, &chunk);
                }
            }
            kind => {
                self.release(&mut lines);
                write_line(&mut lines, &other(seq, event.at_ms, &kind));
            }
        }
        lines
    }

    /// Whether something is held back.
    pub const fn holds(&self) -> bool {
        self.held.is_some()
    }

    /// What was held back.
    pub fn flush(&mut self) -> Vec<u8> {
        let mut lines = Vec::new();
        self.release(&mut lines);
        lines
    }

    fn release(&mut self, lines: &mut Vec<u8>) {
        if let Some(chunk) = self.held.take() {
            write_chunk(lines, &chunk);
        }
    }
}

fn ends_inside_a_character(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

fn write_chunk(lines: &mut Vec<u8>, chunk: &Chunk) {
    let text = std::str::from_utf8(&chunk.bytes).ok();
    let line = Line {
        r#type: chunk.stream.name(),
        seq: chunk.seq,
        at_ms: chunk.at_ms,
        text,
        base64: text.is_none().then(|| STANDARD.encode(&chunk.bytes)),
    };
    write_line(lines, &line);
}

fn write_line(lines: &mut Vec<u8>, value: &impl Serialize) {
    // Writing plain data to memory does not fail.
    if serde_json::to_writer(&mut *lines, value).is_ok() {
        lines.push(b'\n');
    }
}

#[derive(Serialize)]
struct Other {
    r#type: &'static str,
    seq: u64,
    at_ms: u64,
    #[serde(flatten)]
    fields: Value,
}

fn other(seq: u64, at_ms: u64, kind: &EventKind) -> Other {
    let fields = match kind {
        EventKind::Started { execution_id, pid } => json!({ "execution_id": execution_id, "pid": pid }),
        EventKind::Gap { stream, from_byte, to_byte } => {
            json!({ "stream": stream, "from_byte": from_byte, "to_byte": to_byte })
        }
        EventKind::Exited(verdict) => json!(verdict),
        EventKind::Closed | EventKind::Output { .. } => json!({}),
    };
    Other { r#type: kind.name(), seq, at_ms, fields }
}

#[cfg(test)]
mod tests {
    use headwater_protocol::{ExecutionId, Reason, Seq, Usage, Verdict};

    use super::*;

    fn output(seq: u64, stream: Stream, bytes: &[u8]) -> Event {
        let kind = EventKind::Output { stream, offset: 0, bytes: bytes.to_vec().into() };
        event(seq, kind)
    }

    fn event(seq: u64, kind: EventKind) -> Event {
        Event { seq: Seq(seq), at_ms: 5, kind }
    }

    fn parsed(lines: &[u8]) -> Vec<Value> {
        lines
            .split_inclusive(|byte| *byte == b'\n')
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    #[test]
    fn output_is_text_where_it_is_text_and_base64_where_not() {
        let mut lines = JsonLines::default();
        let text = parsed(&lines.push(output(2, Stream::Stdout, "a\n€".as_bytes())));
        assert_eq!(text, [json!({"type": "stdout", "seq": 2, "at_ms": 5, "text": "a\n€"})]);
        let raw = parsed(&lines.push(output(3, Stream::Stderr, &[0xFF, b'a'])));
        assert_eq!(raw, [json!({"type": "stderr", "seq": 3, "at_ms": 5, "base64": "/2E="})]);
    }

    #[test]
    fn a_character_cut_in_two_comes_whole_with_the_later_seq() {
        let mut lines = JsonLines::default();
        assert!(lines.push(output(2, Stream::Output, &[b'a', 0xE2, 0x82])).is_empty());
        assert!(lines.holds());
        let whole = parsed(&lines.push(output(3, Stream::Output, &[0xAC, b'b'])));
        assert_eq!(whole, [json!({"type": "output", "seq": 3, "at_ms": 5, "text": "a€b"})]);
        assert!(!lines.holds());
    }

    #[test]
    fn no_event_overtakes_bytes_that_are_held_back() {
        let mut lines = JsonLines::default();
        lines.push(output(2, Stream::Stdout, &[0xE2]));
        let both = parsed(&lines.push(output(3, Stream::Stderr, b"x")));
        assert_eq!(
            (&both[0]["seq"], &both[0]["base64"], &both[1]["seq"]),
            (&json!(2), &json!("4g=="), &json!(3))
        );
        lines.push(output(4, Stream::Stdout, &[0xE2]));
        let both = parsed(&lines.push(event(5, EventKind::Closed)));
        assert_eq!((&both[0]["seq"], &both[1]["type"]), (&json!(4), &json!("closed")));
        lines.push(output(6, Stream::Stdout, &[0xE2]));
        assert_eq!(parsed(&lines.flush())[0]["base64"], "4g==");
    }

    #[test]
    fn every_other_event_has_the_fields_of_the_native_api() {
        let mut lines = JsonLines::default();
        let id = ExecutionId::random();
        let started = EventKind::Started { execution_id: id, pid: 7 };
        let started = parsed(&lines.push(event(1, started)));
        assert_eq!(
            started,
            [json!({"type": "started", "seq": 1, "at_ms": 5, "execution_id": id.to_string(), "pid": 7})]
        );
        let gap = EventKind::Gap { stream: Stream::Stdout, from_byte: 1, to_byte: 9 };
        let gap = parsed(&lines.push(event(2, gap)));
        assert_eq!(
            gap,
            [json!({"type": "gap", "seq": 2, "at_ms": 5, "stream": "stdout", "from_byte": 1, "to_byte": 9})]
        );
        let verdict = Verdict {
            reason: Reason::TimedOut,
            code: None,
            signal: Some(15),
            message: None,
            duration_ms: 3,
            usage: Usage { cpu_ms: 1, max_rss_bytes: 2 },
            stdout_bytes: 0,
            stderr_bytes: 0,
            output_bytes: 0,
        };
        let exited = &parsed(&lines.push(event(3, EventKind::Exited(verdict))))[0];
        assert_eq!(
            (&exited["type"], &exited["reason"], &exited["signal"]),
            (&json!("exited"), &json!("timed_out"), &json!(15))
        );
        assert_eq!(exited["usage"], json!({"cpu_ms": 1, "max_rss_bytes": 2}));
    }
}
