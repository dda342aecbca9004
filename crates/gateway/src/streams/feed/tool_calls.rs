//! The dialect `tool_calls`: a call starts, prints and has its result.

use headwater_protocol::api::Timestamp;
use headwater_protocol::{Event, EventKind, Stream};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::dialect::{Frame, Step, json_frame};
use super::result::{Ending, ToolResult, ToolResultBody};
use super::subject::Subject;
use super::text::Carry;
use crate::streams::feed::position::{Place, View};

/// The most output in one `CODE_EXECUTION_OUTPUT`.
const CHUNK_BYTES: usize = 4096;

const START: &str = "TOOL_CALL_START";
const OUTPUT: &str = "CODE_EXECUTION_OUTPUT";

/// A call was begun.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct ToolCallStart {
    /// `TOOL_CALL_START`.
    pub(crate) r#type: String,
    /// The call: what it was named, else its execution's id.
    pub(crate) id: String,
    /// The tool: `code_execution` or `run_command`.
    pub(crate) tool_name: String,
    /// What it was asked for.
    #[schema(value_type = Object)]
    pub(crate) tool_args: Value,
    /// The conversation, if it belongs to one.
    pub(crate) thread_id: Option<String>,
    /// When it started.
    pub(crate) timestamp: Timestamp,
    /// The execution: for its routes.
    pub(crate) execution_id: Option<String>,
}

/// Where a piece of text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source {
    /// Printed to standard output, or to a terminal.
    Stdout,
    /// Printed to standard error.
    Stderr,
    /// Said by the server: its time ran out.
    Timeout,
    /// Said by the server: it could not be started, or was ended.
    Error,
}

/// A call printed something.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct CodeExecutionOutput {
    /// `CODE_EXECUTION_OUTPUT`.
    pub(crate) r#type: String,
    /// Which call.
    pub(crate) tool_call_id: String,
    /// The conversation, if it belongs to one.
    pub(crate) thread_id: Option<String>,
    /// Where it comes from.
    pub(crate) source: Source,
    /// The text, if the source is `stdout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stdout: Option<String>,
    /// The text, if it is any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stderr: Option<String>,
    /// When it was printed.
    pub(crate) timestamp: Timestamp,
    /// The execution: for its routes.
    pub(crate) execution_id: Option<String>,
}

/// The events of this dialect, for the document.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[allow(dead_code)] // each is made where it is told
pub(crate) enum ToolEvent {
    Start(ToolCallStart),
    Output(CodeExecutionOutput),
    Result(ToolResultBody),
}

/// The next frame of an event.
pub(crate) fn step(subject: &Subject, event: &Event, place: Place) -> Step {
    match &event.kind {
        EventKind::Started { .. } => Step::whole(Some(started(subject, event)), place, event),
        EventKind::Output { stream, bytes, .. } => printed(subject, event, *stream, bytes, place),
        EventKind::Gap { stream, from_byte, to_byte } => {
            let lost = carried(place.view(*stream)).lost();
            let bytes = to_byte.saturating_sub(*from_byte);
            let text = format!("{lost}\n[SYSTEM: {bytes} bytes of {} are no longer kept.]\n", stream.name());
            let frame = output(subject, event, source_of(*stream), text);
            Step::whole(Some(frame), place.with_view(*stream, View::default()), event)
        }
        EventKind::Exited(verdict) => {
            let ending = Ending::of(verdict);
            let mut frames = Vec::new();
            if place.is_start() {
                frames.push(started(subject, event));
            }
            for (view, source) in [(place.out, Source::Stdout), (place.err, Source::Stderr)] {
                if !carried(view).is_empty() {
                    frames.push(output(subject, event, source, carried(view).lost().to_owned()));
                }
            }
            if let Some((source, text)) = ending.said() {
                frames.push(output(subject, event, source, text.to_owned()));
            }
            frames.push(Frame::Result(Box::new(ToolResult::new(subject, subject.time_of(event), ending))));
            Step::one_of(frames, place, event)
        }
        EventKind::Closed => Step::whole(None, place, event),
    }
}

/// A chunk of what was printed: at most [`CHUNK_BYTES`] of it, with what was carried.
fn printed(subject: &Subject, event: &Event, stream: Stream, bytes: &[u8], place: Place) -> Step {
    let told = usize::try_from(place.part).unwrap_or(usize::MAX);
    let Some(rest) = bytes.get(told..).filter(|rest| !rest.is_empty()) else {
        // More of it was told than has come yet: it came in larger pieces then.
        let part = u32::try_from(told.saturating_sub(bytes.len())).unwrap_or(0);
        return Step { frame: None, place: Place { part, ..place.after(event.seq) }, is_done: true };
    };
    let carry = carried(place.view(stream));
    let chunk = rest.get(..CHUNK_BYTES - carry.bytes().len()).unwrap_or(rest);
    let (text, carry) = carry.decode(chunk);
    let place = place.with_view(stream, View::Text(carry));
    let frame = (!text.is_empty()).then(|| output(subject, event, source_of(stream), text));
    if chunk.len() == rest.len() {
        return Step::whole(frame, place, event);
    }
    let part = u32::try_from(told + chunk.len()).unwrap_or(u32::MAX);
    Step { frame, place: Place { part, ..place }, is_done: false }
}

const fn carried(view: View) -> Carry {
    match view {
        View::Text(carry) => carry,
        View::Binary => Carry::EMPTY,
    }
}

const fn source_of(stream: Stream) -> Source {
    match stream {
        Stream::Stdout | Stream::Output => Source::Stdout,
        Stream::Stderr => Source::Stderr,
    }
}

fn started(subject: &Subject, event: &Event) -> Frame {
    let start = ToolCallStart {
        r#type: START.to_owned(),
        id: subject.call_id.clone(),
        tool_name: subject.tool_name.clone(),
        tool_args: subject.tool_args.clone(),
        thread_id: subject.conversation_id.clone(),
        timestamp: subject.time_of(event),
        execution_id: subject.execution_id(),
    };
    json_frame(Some(START), &start)
}

fn output(subject: &Subject, event: &Event, source: Source, text: String) -> Frame {
    let (stdout, stderr) = if source == Source::Stdout { (Some(text), None) } else { (None, Some(text)) };
    let output = CodeExecutionOutput {
        r#type: OUTPUT.to_owned(),
        tool_call_id: subject.call_id.clone(),
        thread_id: subject.conversation_id.clone(),
        source,
        stdout,
        stderr,
        timestamp: subject.time_of(event),
        execution_id: subject.execution_id(),
    };
    json_frame(Some(OUTPUT), &output)
}
