//! Turns events into frames. A step depends only on the event and the position, so a client that continues at
//! the position of a frame gets exactly the frames that would have followed it.

use headwater_protocol::api::write_event;
use headwater_protocol::{Event, EventKind};
use serde::Deserialize;
use utoipa::ToSchema;

use super::result::ToolResult;
use super::subject::Subject;
use super::tool_calls::{self, Form};
use super::tool_progress;
use crate::streams::feed::position::Position;

/// The format of a feed's events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Dialect {
    /// Events of the native API, with `execution_id`.
    #[default]
    Native,
    /// `TOOL_CALL_START`, `CODE_EXECUTION_OUTPUT`, `TOOL_RESULT`, with their fields in `payload`.
    ToolCalls,
    /// The same with the fields beside `type`.
    ToolCallsFlat,
    /// Events of the type `tool-progress`.
    ToolProgress,
}

/// A reader of `tool-progress` that lags behind gets this many bytes of the end.
const PROGRESS_TAIL_BYTES: u64 = 50 << 10;

/// One SSE event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Frame {
    /// Complete in memory.
    Whole {
        /// The `event:` field.
        name: Option<&'static str>,
        /// The `data:` field, one line of JSON.
        data: Vec<u8>,
    },
    /// A `TOOL_RESULT`, whose output is read from the log while it is sent.
    Result(Box<ToolResult>),
}

/// A step through a log.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    /// The frame to send, if any.
    pub(crate) frame: Option<Frame>,
    /// The reader's position after the step.
    pub(crate) position: Position,
    /// Whether the event was sent completely.
    pub(crate) is_done: bool,
}

impl Step {
    /// A whole event, in one frame or none.
    pub(crate) const fn whole(frame: Option<Frame>, position: Position, event: &Event) -> Self {
        Self { frame, position: position.after(event.seq), is_done: true }
    }

    /// One of several frames of an event that is not output; each call returns the next one.
    pub(crate) fn one_of(frames: Vec<Frame>, position: Position, event: &Event) -> Self {
        let (count, part) = (frames.len(), usize::try_from(position.part).unwrap_or(usize::MAX));
        let frame = frames.into_iter().nth(part);
        if part.saturating_add(1) >= count {
            return Self::whole(frame, position, event);
        }
        Self { frame, position: Position { part: position.part + 1, ..position }, is_done: false }
    }
}

impl Dialect {
    /// The next frame of this event for a reader at this position.
    pub(crate) fn step(self, subject: &Subject, event: &Event, position: Position) -> Step {
        match self {
            Self::Native => Step::whole(Some(native(subject, event)), position, event),
            Self::ToolCalls => tool_calls::step(Form::Payload, subject, event, position),
            Self::ToolCallsFlat => tool_calls::step(Form::Flat, subject, event, position),
            Self::ToolProgress => tool_progress::step(subject, event, position),
        }
    }

    /// Whether this event is an execution's last one in this dialect.
    pub(crate) const fn ends_with(self, event: &Event) -> bool {
        match event.kind {
            EventKind::Closed => true,
            EventKind::Exited(_) => !self.is_until_closed(),
            _ => false,
        }
    }

    /// Whether events after an execution's exit are sent too.
    pub(crate) const fn is_until_closed(self) -> bool {
        matches!(self, Self::Native)
    }

    /// Whether the arguments of a call are sent at its start.
    pub(crate) const fn sends_args(self) -> bool {
        matches!(self, Self::ToolCalls | Self::ToolCallsFlat)
    }

    /// How many bytes of the end a reader that lags behind gets.
    pub(crate) const fn tail_bytes(self) -> Option<u64> {
        match self {
            Self::ToolProgress => Some(PROGRESS_TAIL_BYTES),
            Self::Native | Self::ToolCalls | Self::ToolCallsFlat => None,
        }
    }

    /// Whether divided characters are joined into one event; the other dialects keep incomplete characters in
    /// their position.
    pub(crate) const fn holds_characters(self) -> bool {
        matches!(self, Self::Native)
    }
}

fn native(subject: &Subject, event: &Event) -> Frame {
    let mut data = Vec::new();
    write_event(event, &mut data);
    let closing = data.pop();
    debug_assert_eq!(closing, Some(b'}'), "an event is an object");
    let mut field = |name: &str, value: &str| {
        data.extend_from_slice(format!(",\"{name}\":").as_bytes());
        // Writing to memory does not fail.
        let _ = serde_json::to_writer(&mut data, value);
    };
    if let Some(id) = subject.execution_id().filter(|_| !matches!(event.kind, EventKind::Started { .. })) {
        field("execution_id", &id);
    }
    if let Some(call) = &subject.named_call {
        field("tool_call_id", call);
    }
    if let Some(conversation) = &subject.conversation_id {
        field("conversation_id", conversation);
    }
    data.push(b'}');
    Frame::Whole { name: Some(event.kind.name()), data }
}

/// A frame of plain data.
pub(crate) fn json_frame(name: Option<&'static str>, value: &impl serde::Serialize) -> Frame {
    // Plain data can be written to memory.
    Frame::Whole { name, data: serde_json::to_vec(value).unwrap_or_default() }
}

#[cfg(test)]
mod tests;
