//! The dialect `tool-progress`: text as it is printed, and the status of calls.

use headwater_protocol::{Event, EventKind, Reason, Stream, Utf8Carry, Verdict};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::dialect::{Frame, Step, json_frame};
use super::max_buffer::{Shown, hides, note};
use super::subject::Subject;
use super::text::is_binary;
use crate::streams::feed::position::{Position, View};

/// An event of the stream.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct ToolProgress {
    /// Always `tool-progress`.
    pub(crate) r#type: String,
    /// The call's id, or the execution's id.
    #[serde(rename = "toolCallId")]
    pub(crate) tool_call_id: String,
    /// The update.
    pub(crate) progress: ProgressUpdate,
}

/// An update of a call.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProgressUpdate {
    /// The call's id, repeated.
    pub(crate) tool_call_id: String,
    /// The type of the content.
    pub(crate) r#type: ProgressType,
    /// The text that follows the earlier text; or, for a status, the state of the call: `running`, at the end
    /// `exited 0`, `timed out after 5 s`, `cancelled`; and in between reports about output that is not shown.
    pub(crate) content: String,
    /// When it happened, in milliseconds since 1970-01-01T00:00:00Z.
    pub(crate) timestamp: u64,
    /// The execution, for its routes.
    pub(crate) execution_id: Option<String>,
}

/// The type of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ProgressType {
    /// Printed to standard output, or to a terminal.
    Stdout,
    /// Printed to standard error.
    Stderr,
    /// From the server.
    Status,
}

/// The next frame of an event.
pub(crate) fn step(subject: &Subject, event: &Event, position: Position) -> Step {
    let (updates, next) = updates(subject, event, position);
    let mut frames: Vec<_> = updates.into_iter().map(frame).collect();
    if matches!(event.kind, EventKind::Exited(_)) {
        return Step::one_of(frames, position, event);
    }
    Step::whole(frames.pop(), next, event)
}

/// What an event adds for a reader at this position, and the position after it.
pub(crate) fn updates(
    subject: &Subject,
    event: &Event,
    position: Position,
) -> (Vec<ProgressUpdate>, Position) {
    let update = |kind: ProgressType, text: String| progress(subject, event, kind, text);
    let (updates, position) = match &event.kind {
        EventKind::Started { .. } => (vec![update(ProgressType::Status, "running".into())], position),
        EventKind::Output { stream, offset, bytes } => {
            let View::Text(carry) = position.view(*stream) else {
                return (Vec::new(), position.after(event.seq));
            };
            let shown = Shown::of(subject.max_buffer, *offset, bytes.len());
            let bytes = bytes.get(..shown.bytes).unwrap_or(bytes);
            if is_binary(carry, bytes) {
                let name = type_of(*stream).name();
                let text = format!("{name} is binary and is not shown; its bytes are kept");
                (vec![update(ProgressType::Status, text)], position.with_view(*stream, View::Binary))
            } else {
                let (mut text, mut carry) = carry.decode(bytes);
                if let Some(limit) = shown.exceeded {
                    text += &note(limit);
                    carry = Utf8Carry::EMPTY;
                }
                let updates = (!text.is_empty()).then(|| update(type_of(*stream), text));
                (updates.into_iter().collect(), position.with_view(*stream, View::Text(carry)))
            }
        }
        EventKind::Gap { from_byte, .. } if hides(subject.max_buffer, *from_byte) => (Vec::new(), position),
        EventKind::Gap { stream, from_byte, to_byte } => {
            let bytes = to_byte.saturating_sub(*from_byte);
            let text = format!("{bytes} bytes of {} were skipped", type_of(*stream).name());
            let position = match position.view(*stream) {
                View::Text(_) => position.with_view(*stream, View::default()),
                View::Binary => position,
            };
            (vec![update(ProgressType::Status, text)], position)
        }
        EventKind::Exited(verdict) => {
            let mut updates = Vec::new();
            for (view, kind) in [(position.out, ProgressType::Stdout), (position.err, ProgressType::Stderr)] {
                if let View::Text(carry) = view
                    && !carry.is_empty()
                {
                    updates.push(update(kind, carry.lost().to_owned()));
                }
            }
            updates.push(update(ProgressType::Status, ended(verdict)));
            (updates, position)
        }
        EventKind::Closed => (Vec::new(), position),
    };
    (updates, position.after(event.seq))
}

const fn type_of(stream: Stream) -> ProgressType {
    match stream {
        Stream::Stdout | Stream::Output => ProgressType::Stdout,
        Stream::Stderr => ProgressType::Stderr,
    }
}

impl ProgressType {
    /// The name in JSON.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
            Self::Status => "status",
        }
    }
}

/// How the call ended, in a few words.
fn ended(verdict: &Verdict) -> String {
    let message = verdict.message.as_deref();
    match (verdict.reason, verdict.code, verdict.signal) {
        (Reason::Exited, Some(code), _) => format!("exited {code}"),
        (Reason::Signalled, _, Some(signal)) => format!("killed by signal {signal}"),
        (Reason::TimedOut, ..) => message.unwrap_or("timed out").to_owned(),
        (Reason::Cancelled, ..) => "cancelled".to_owned(),
        (reason, ..) => message.map_or_else(|| reason.name().replace('_', " "), str::to_owned),
    }
}

fn progress(subject: &Subject, event: &Event, r#type: ProgressType, content: String) -> ProgressUpdate {
    ProgressUpdate {
        tool_call_id: subject.call_id.clone(),
        r#type,
        content,
        timestamp: subject.time_of(event).0,
        execution_id: subject.execution_id(),
    }
}

fn frame(progress: ProgressUpdate) -> Frame {
    let tool_call_id = progress.tool_call_id.clone();
    json_frame(None, &ToolProgress { r#type: "tool-progress".to_owned(), tool_call_id, progress })
}
