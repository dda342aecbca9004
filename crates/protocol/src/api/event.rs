//! Events as JSON: the `data:` of an SSE event, the JSON frames of a WebSocket, the lines of `--json`.
//!
//! Two promises conflict: text is only cut between characters, and a reader that continues after a `seq`
//! misses nothing. So [`EventViews`] holds back a whole chunk that ends inside a character, until the next
//! chunk of its stream completes it (they become one event, with the later `seq`). If another event comes
//! first, the chunk is sent as it is, as base64.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Serialize};

use crate::{Event, EventKind, ExecutionId, ExitDetail, Reason, Seq, Stream, Usage, Verdict};

/// The maximum that is held back.
const MAX_HELD_BYTES: usize = 4 << 20;

/// Aligns output events to character boundaries, as far as whole events allow.
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
    /// The events that are complete after this one, in order: at most a held-back one, and this.
    pub fn push(&mut self, event: Event) -> impl Iterator<Item = Event> + use<> {
        let EventKind::Output { stream, ref bytes, .. } = event.kind else {
            return [self.flush(), Some(event)].into_iter().flatten();
        };
        let cut = ends_inside_a_character(bytes);
        match self.held.take() {
            Some(mut held) if held.stream == stream => {
                held.bytes.extend_from_slice(bytes);
                (held.event.seq, held.event.at_ms) = (event.seq, event.at_ms);
                if ends_inside_a_character(&held.bytes) && held.bytes.len() < MAX_HELD_BYTES {
                    self.held = Some(held);
                    return [None, None].into_iter().flatten();
                }
                [None, Some(held.release())].into_iter().flatten()
            }
            held => {
                let before = held.map(Held::release);
                if cut && bytes.len() < MAX_HELD_BYTES {
                    let bytes = BytesMut::from(&bytes[..]);
                    self.held = Some(Held { stream, event, bytes });
                    return [before, None].into_iter().flatten();
                }
                [before, Some(event)].into_iter().flatten()
            }
        }
    }

    /// Whether an event is held back. It should be flushed after a short while without more.
    pub const fn holds(&self) -> bool {
        self.held.is_some()
    }

    /// Returns the held-back event.
    pub fn flush(&mut self) -> Option<Event> {
        self.held.take().map(Held::release)
    }
}

fn ends_inside_a_character(bytes: &[u8]) -> bool {
    let from = bytes.len().saturating_sub(3);
    let start = (from..bytes.len()).rev().find(|at| bytes[*at] & 0xC0 != 0x80);
    start.is_some_and(|at| std::str::from_utf8(&bytes[at..]).is_err_and(|error| error.error_len().is_none()))
}

/// An output event. Serialized by its own type because it is the most frequent one.
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

/// Appends an event as JSON, without a line break: `text` if its bytes are text, otherwise `base64`.
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
            let body = EventBody::Exited {
                seq,
                at_ms,
                reason: verdict.reason,
                code: verdict.code,
                signal: verdict.signal,
                message: verdict.message.clone(),
                detail: verdict.detail.clone(),
                duration_ms: verdict.duration_ms,
                usage: verdict.usage,
                stdout_bytes: verdict.stdout_bytes,
                stderr_bytes: verdict.stderr_bytes,
                output_bytes: verdict.output_bytes,
            };
            serde_json::to_writer(out, &body)
        }
        EventKind::Closed => serde_json::to_writer(out, &EventBody::Closed { seq, at_ms }),
    };
    debug_assert!(written.is_ok(), "plain data can be written to memory");
}

/// The bytes as text, if they are UTF-8 without zero bytes (which are not text, and take six bytes in JSON).
fn as_text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

/// Why a text is not an event.
#[derive(Debug, thiserror::Error)]
pub enum EventJsonError {
    /// It is not JSON, or does not have this structure.
    #[error("an event cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// A field that its type requires is missing.
    #[error("an event of type `{0}` lacks a field, or the type is unknown")]
    Incomplete(String),
    /// Its `base64` is not valid.
    #[error("an event's bytes cannot be read: {0}")]
    Base64(#[from] base64::DecodeError),
}

/// All fields of all types: reading a flat structure is many times faster than reading a tagged enum.
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

/// Parses the output of [`write_event`].
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

/// An event of an execution's log. `seq` is the resume token, `at_ms` counts from the start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventBody {
    /// The program is running. The first event.
    Started {
        /// The number of the event.
        seq: u64,
        /// Milliseconds since the start.
        at_ms: u64,
        /// The execution that this log belongs to.
        execution_id: ExecutionId,
        /// The program's process id inside its session.
        pid: i32,
    },
    /// Bytes of standard output.
    Stdout {
        /// The number of the last chunk in this event.
        seq: u64,
        /// Milliseconds since the start.
        at_ms: u64,
        /// The position of the first byte in the stream.
        offset: u64,
        /// The bytes, if they are text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// The bytes in base64, if they are not text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base64: Option<String>,
    },
    /// Bytes of standard error.
    Stderr {
        /// The number of the last chunk in this event.
        seq: u64,
        /// Milliseconds since the start.
        at_ms: u64,
        /// The position of the first byte in the stream.
        offset: u64,
        /// The bytes, if they are text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// The bytes in base64, if they are not text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base64: Option<String>,
    },
    /// Bytes of a terminal, or of both streams in merged mode.
    Output {
        /// The number of the last chunk in this event.
        seq: u64,
        /// Milliseconds since the start.
        at_ms: u64,
        /// The position of the first byte in the stream.
        offset: u64,
        /// The bytes, if they are text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// The bytes in base64, if they are not text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base64: Option<String>,
    },
    /// Bytes that are no longer kept, or that were skipped because of `tail`.
    Gap {
        /// The number of the event.
        seq: u64,
        /// Milliseconds since the start.
        at_ms: u64,
        /// The stream that the bytes belong to.
        stream: Stream,
        /// The first missing byte.
        from_byte: u64,
        /// The first byte after the gap.
        to_byte: u64,
    },
    /// The program has exited. Sent exactly once, after every byte that was in the pipes when the program
    /// exited.
    Exited {
        /// The number of the event.
        seq: u64,
        /// Milliseconds since the start.
        at_ms: u64,
        /// The reason.
        reason: Reason,
        /// The exit code, unless a signal ended the program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<i32>,
        /// The signal that ended the program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
        /// Details for people: what was missing, or which limit was reached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// The same for programs. Absent if nothing is known beyond the reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<ExitDetail>,
        /// The time from start to exit.
        duration_ms: u64,
        /// CPU time and peak memory.
        usage: Usage,
        /// Bytes written to standard output when the program exited, kept or not.
        stdout_bytes: u64,
        /// Bytes written to standard error; 0 if the streams are merged.
        stderr_bytes: u64,
        /// Bytes written to a terminal or to merged output; 0 if the streams are separate.
        output_bytes: u64,
    },
    /// The last event: no writer is left.
    Closed {
        /// The number of the event.
        seq: u64,
        /// Milliseconds since the start.
        at_ms: u64,
    },
}

#[cfg(test)]
mod tests;
