//! From events to frames. A step depends on nothing but the event and the place, so a client that resumes at the place
//! that a frame carries gets exactly the frames that would have followed it.

use headwater_protocol::api::write_event;
use headwater_protocol::{Event, EventKind};
use serde::Deserialize;
use utoipa::ToSchema;

use super::result::ToolResult;
use super::subject::Subject;
use super::{tool_calls, tool_progress};
use crate::streams::feed::position::Place;

/// How a feed speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Dialect {
    /// Events of the native API, with `execution_id`.
    #[default]
    Native,
    /// `TOOL_CALL_START`, `CODE_EXECUTION_OUTPUT`, `TOOL_RESULT`.
    ToolCalls,
    /// `tool-progress`.
    ToolProgress,
}

/// A lagging reader of `tool-progress` is told the last so many bytes.
const PROGRESS_TAIL_BYTES: u64 = 50 << 10;

/// What goes out as one SSE event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Frame {
    /// Known as a whole.
    Whole {
        /// The `event:`.
        name: Option<&'static str>,
        /// The `data:`, one line of JSON.
        data: Vec<u8>,
    },
    /// A `TOOL_RESULT`, whose output is read from the log while it goes out.
    Result(Box<ToolResult>),
}

/// A step through a log.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    /// What is told, if anything is.
    pub(crate) frame: Option<Frame>,
    /// Where the reader stands then.
    pub(crate) place: Place,
    /// Whether the event was told whole.
    pub(crate) is_done: bool,
}

impl Step {
    /// All of an event, in one frame or none.
    pub(crate) const fn whole(frame: Option<Frame>, place: Place, event: &Event) -> Self {
        Self { frame, place: place.after(event.seq), is_done: true }
    }

    /// One of several frames of an event that is not output; each call makes the one that is due.
    pub(crate) fn one_of(frames: Vec<Frame>, place: Place, event: &Event) -> Self {
        let (count, part) = (frames.len(), usize::try_from(place.part).unwrap_or(usize::MAX));
        let frame = frames.into_iter().nth(part);
        if part.saturating_add(1) >= count {
            return Self::whole(frame, place, event);
        }
        Self { frame, place: Place { part: place.part + 1, ..place }, is_done: false }
    }
}

impl Dialect {
    /// The next frame of this event for a reader who stands here.
    pub(crate) fn step(self, subject: &Subject, event: &Event, place: Place) -> Step {
        match self {
            Self::Native => Step::whole(Some(native(subject, event)), place, event),
            Self::ToolCalls => tool_calls::step(subject, event, place),
            Self::ToolProgress => tool_progress::step(subject, event, place),
        }
    }

    /// Whether nothing of an execution is told after this event.
    pub(crate) const fn ends_with(self, event: &Event) -> bool {
        match event.kind {
            EventKind::Closed => true,
            EventKind::Exited(_) => !self.is_until_closed(),
            _ => false,
        }
    }

    /// Whether what comes after an execution's end is told too.
    pub(crate) const fn is_until_closed(self) -> bool {
        matches!(self, Self::Native)
    }

    /// Whether what a call was asked for is told at its start.
    pub(crate) const fn tells_args(self) -> bool {
        matches!(self, Self::ToolCalls)
    }

    /// The bytes that a lagging reader is told.
    pub(crate) const fn tail_bytes(self) -> Option<u64> {
        match self {
            Self::ToolProgress => Some(PROGRESS_TAIL_BYTES),
            Self::Native | Self::ToolCalls => None,
        }
    }

    /// Whether a character that is cut in two comes whole in one event; the others keep its beginning by themselves.
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
