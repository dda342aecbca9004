//! Events as JSON: the `data:` of an SSE event, the JSON frames of a WebSocket, the lines of `--json`.
//!
//! Two promises pull in different directions: text is cut on the borders of characters, and whoever goes on after a
//! `seq` misses nothing. So a chunk that ends inside a character is held back as a whole by [`EventViews`], until the
//! next chunk of its stream completes it (they become one event, with the later `seq`); if anything else happens
//! first, it goes out as it is, as base64.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Serialize};

use crate::{Event, EventKind, ExecutionId, ExitDetail, Reason, Seq, Stream, Usage, Verdict};

/// The most that is held back.
const HOLD_BYTES: usize = 4 << 20;

/// Cuts output on the borders of characters, as far as whole events allow.
#[derive(Debug, Default)]
pub struct EventViews {
    held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    stream: Stream,
    event: Event,
    bytes: BytesMut,
}

impl Held {
    fn release(self) -> Event {
        let Self { stream, mut event, bytes } = self;
        if let EventKind::Output { offset, .. } = event.kind {
            event.kind = EventKind::Output { stream, offset, bytes: bytes.freeze() };
        }
        event
    }
}

impl EventViews {
    /// The events that are certain after this one, in order: at most what was held back, and this.
    pub fn push(&mut self, event: Event) -> impl Iterator<Item = Event> + use<> {
        let EventKind::Output { stream, ref bytes, .. } = event.kind else {
            return [self.flush(), Some(event)].into_iter().flatten();
        };
        let cut = ends_inside_a_character(bytes);
        match self.held.take() {
            Some(mut held) if held.stream == stream => {
                held.bytes.extend_from_slice(bytes);
                (held.event.seq, held.event.at_ms) = (event.seq, event.at_ms);
                if ends_inside_a_character(&held.bytes) && held.bytes.len() < HOLD_BYTES {
                    self.held = Some(held);
                    return [None, None].into_iter().flatten();
                }
                [None, Some(held.release())].into_iter().flatten()
            }
            held => {
                let before = held.map(Held::release);
                if cut && bytes.len() < HOLD_BYTES {
                    let bytes = BytesMut::from(&bytes[..]);
                    self.held = Some(Held { stream, event, bytes });
                    return [before, None].into_iter().flatten();
                }
                [before, Some(event)].into_iter().flatten()
            }
        }
    }

    /// Whether something is held back: it should be flushed after a short while without more.
    pub const fn holds(&self) -> bool {
        self.held.is_some()
    }

    /// What was held back.
    pub fn flush(&mut self) -> Option<Event> {
        self.held.take().map(Held::release)
    }
}

fn ends_inside_a_character(bytes: &[u8]) -> bool {
    let from = bytes.len().saturating_sub(3);
    let start = (from..bytes.len()).rev().find(|at| bytes[*at] & 0xC0 != 0x80);
    start.is_some_and(|at| std::str::from_utf8(&bytes[at..]).is_err_and(|error| error.error_len().is_none()))
}

/// What an output event looks like; field by field because a flood goes through here.
#[derive(Serialize)]
struct OutputJson<'a> {
    r#type: &'static str,
    seq: u64,
    at_ms: u64,
    offset: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

/// Appends an event as one line of JSON, without a line's end: `text` where its bytes are text, else `base64`.
pub fn write_event(event: &Event, out: &mut Vec<u8>) {
    let (seq, at_ms) = (event.seq.0, event.at_ms);
    let written = match &event.kind {
        EventKind::Output { stream, offset, bytes } => {
            let text = as_text(bytes);
            let base64 = text.is_none().then(|| STANDARD.encode(bytes));
            let json = OutputJson { r#type: stream.name(), seq, at_ms, offset: *offset, text, base64 };
            serde_json::to_writer(out, &json)
        }
        EventKind::Started { execution_id, pid } => {
            let body = EventBody::Started { seq, at_ms, execution_id: *execution_id, pid: *pid };
            serde_json::to_writer(out, &body)
        }
        EventKind::Gap { stream, from_byte, to_byte } => {
            let (stream, from_byte, to_byte) = (*stream, *from_byte, *to_byte);
            serde_json::to_writer(out, &EventBody::Gap { seq, at_ms, stream, from_byte, to_byte })
        }
        EventKind::Exited(verdict) => {
            serde_json::to_writer(out, &EventBody::Exited { seq, at_ms, verdict: verdict.clone() })
        }
        EventKind::Closed => serde_json::to_writer(out, &EventBody::Closed { seq, at_ms }),
    };
    debug_assert!(written.is_ok(), "plain data can be written to memory");
}

/// The bytes as text, if they are: UTF-8, and without zero bytes, which no text has and which JSON makes six bytes of.
fn as_text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

/// Why a text is not an event.
#[derive(Debug, thiserror::Error)]
pub enum EventJsonError {
    /// Not JSON, or not of this shape.
    #[error("an event cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// JSON, but a field that its type needs is missing.
    #[error("an event of the type `{0}` lacks a field, or the type is not known")]
    Incomplete(String),
    /// Its `base64` is not.
    #[error("an event's bytes cannot be read: {0}")]
    Base64(#[from] base64::DecodeError),
}

/// All fields of all types: reading them flat is many times faster than by a tagged enum.
#[derive(Deserialize)]
struct AnyJson<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    seq: u64,
    at_ms: u64,
    execution_id: Option<ExecutionId>,
    pid: Option<i32>,
    #[serde(default)]
    offset: u64,
    text: Option<String>,
    #[serde(borrow)]
    base64: Option<Cow<'a, str>>,
    stream: Option<Stream>,
    from_byte: Option<u64>,
    to_byte: Option<u64>,
    reason: Option<Reason>,
    code: Option<i32>,
    signal: Option<i32>,
    message: Option<String>,
    detail: Option<ExitDetail>,
    duration_ms: Option<u64>,
    usage: Option<Usage>,
    #[serde(default)]
    stdout_bytes: u64,
    #[serde(default)]
    stderr_bytes: u64,
    #[serde(default)]
    output_bytes: u64,
}

/// Reads what [`write_event`] wrote.
pub fn read_event(json: &[u8]) -> Result<Event, EventJsonError> {
    let any: AnyJson<'_> = serde_json::from_slice(json)?;
    let (seq, at_ms) = (Seq(any.seq), any.at_ms);
    let incomplete = |name: &str| EventJsonError::Incomplete(name.to_owned());
    let kind = match &*any.r#type {
        name @ ("stdout" | "stderr" | "output") => {
            let stream = Stream::ALL.into_iter().find(|stream| stream.name() == name);
            let bytes = match (any.text, any.base64) {
                (Some(text), _) => Bytes::from(text),
                (None, Some(base64)) => STANDARD.decode(base64.as_bytes())?.into(),
                (None, None) => return Err(incomplete(name)),
            };
            EventKind::Output { stream: stream.ok_or_else(|| incomplete(name))?, offset: any.offset, bytes }
        }
        "started" => match (any.execution_id, any.pid) {
            (Some(execution_id), Some(pid)) => EventKind::Started { execution_id, pid },
            _ => return Err(incomplete("started")),
        },
        "gap" => match (any.stream, any.from_byte, any.to_byte) {
            (Some(stream), Some(from_byte), Some(to_byte)) => EventKind::Gap { stream, from_byte, to_byte },
            _ => return Err(incomplete("gap")),
        },
        "exited" => match (any.reason, any.duration_ms, any.usage) {
            (Some(reason), Some(duration_ms), Some(usage)) => EventKind::Exited(Verdict {
                reason,
                code: any.code,
                signal: any.signal,
                message: any.message,
                detail: any.detail,
                duration_ms,
                usage,
                stdout_bytes: any.stdout_bytes,
                stderr_bytes: any.stderr_bytes,
                output_bytes: any.output_bytes,
            }),
            _ => return Err(incomplete("exited")),
        },
        "closed" => EventKind::Closed,
        other => return Err(incomplete(other)),
    };
    Ok(Event { seq, at_ms, kind })
}

/// The events of an execution's stream. `seq` is the resume token, `at_ms` counts from the start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventBody {
    /// The program runs. The first event.
    Started {
        /// The event's number.
        seq: u64,
        /// Milliseconds since the start.
        at_ms: u64,
        /// Which execution this is the log of.
        #[cfg_attr(feature = "openapi", schema(value_type = String))]
        execution_id: ExecutionId,
        /// Its process id, as seen inside its session.
        pid: i32,
    },
    /// Bytes of standard output.
    Stdout {
        /// The number of the last chunk in it.
        seq: u64,
        /// Milliseconds since the start.
        at_ms: u64,
        /// The position of the first byte in the stream.
        offset: u64,
        /// The bytes, where they are text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// The bytes, where they are not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base64: Option<String>,
    },
    /// Bytes of standard error.
    Stderr {
        /// The number of the last chunk in it.
        seq: u64,
        /// Milliseconds since the start.
        at_ms: u64,
        /// The position of the first byte in the stream.
        offset: u64,
        /// The bytes, where they are text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// The bytes, where they are not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base64: Option<String>,
    },
    /// Bytes of both in one: a terminal, or merged mode.
    Output {
        /// The number of the last chunk in it.
        seq: u64,
        /// Milliseconds since the start.
        at_ms: u64,
        /// The position of the first byte in the stream.
        offset: u64,
        /// The bytes, where they are text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// The bytes, where they are not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base64: Option<String>,
    },
    /// Bytes that are no longer kept, or skipped because `tail` was asked for.
    Gap {
        /// The event's number.
        seq: u64,
        /// Milliseconds since the start.
        at_ms: u64,
        /// Of this stream.
        stream: Stream,
        /// The first missing byte.
        from_byte: u64,
        /// The first byte after the gap.
        to_byte: u64,
    },
    /// The verdict, exactly once, after every byte that was in the pipes when the program ended.
    Exited {
        /// The event's number.
        seq: u64,
        /// Milliseconds since the start.
        at_ms: u64,
        /// How it ended.
        #[serde(flatten)]
        verdict: Verdict,
    },
    /// The last event: no writer is left.
    Closed {
        /// The event's number.
        seq: u64,
        /// Milliseconds since the start.
        at_ms: u64,
    },
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod tests;
