//! The dialect `tool_calls`: start, output and result of a call.

use headwater_protocol::api::Timestamp;
use headwater_protocol::{Event, EventKind, Stream, Utf8Carry};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::dialect::{Frame, Step, json_frame};
use super::ending::Ending;
use super::result::{ToolResult, ToolResultBody};
use super::subject::Subject;
use crate::streams::feed::position::{Position, View};

/// The maximum size of the output in one `CODE_EXECUTION_OUTPUT`.
const CHUNK_BYTES: usize = 4096;

const START: &str = "TOOL_CALL_START";
const OUTPUT: &str = "CODE_EXECUTION_OUTPUT";

/// A call was started.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct ToolCallStart {
    /// Always `TOOL_CALL_START`.
    pub(crate) r#type: String,
    /// The call's id, or the execution's id.
    pub(crate) id: String,
    /// The tool: `code_execution` or `run_command`.
    pub(crate) tool_name: String,
    /// The arguments of the tool.
    #[schema(value_type = Object)]
    pub(crate) tool_args: Value,
    /// The conversation, if it belongs to one.
    pub(crate) thread_id: Option<String>,
    /// When the program started.
    pub(crate) timestamp: Timestamp,
    /// The execution, for its routes.
    pub(crate) execution_id: Option<String>,
}

/// The source of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ToolOutputSource)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source {
    /// Printed to standard output, or to a terminal.
    Stdout,
    /// Printed to standard error.
    Stderr,
    /// From the server: the call timed out.
    Timeout,
    /// From the server: the program could not be started, or was ended.
    Error,
}

/// Output of a call.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct CodeExecutionOutput {
    /// Always `CODE_EXECUTION_OUTPUT`.
    pub(crate) r#type: String,
    /// The `id` of the `TOOL_CALL_START` that this output belongs to.
    pub(crate) tool_call_id: String,
    /// The conversation, if it belongs to one.
    pub(crate) thread_id: Option<String>,
    /// The source of the text.
    pub(crate) source: Source,
    /// The text, if the source is `stdout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stdout: Option<String>,
    /// The text, for any other source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stderr: Option<String>,
    /// When it was printed.
    pub(crate) timestamp: Timestamp,
    /// The execution, for its routes.
    pub(crate) execution_id: Option<String>,
}

/// The events of this dialect, for the OpenAPI document.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[allow(dead_code)] // only documents the events
pub(crate) enum ToolEvent {
    Start(ToolCallStart),
    Output(CodeExecutionOutput),
    Result(ToolResultBody),
}

/// The next frame of an event.
pub(crate) fn step(subject: &Subject, event: &Event, position: Position) -> Step {
    match &event.kind {
        EventKind::Started { .. } => Step::whole(Some(started(subject, event)), position, event),
        EventKind::Output { stream, bytes, .. } => printed(subject, event, *stream, bytes, position),
        EventKind::Gap { stream, from_byte, to_byte } => {
            let lost = carried(position.view(*stream)).lost();
            let bytes = to_byte.saturating_sub(*from_byte);
            let text = format!("{lost}\n[SYSTEM: {bytes} bytes of {} are no longer kept.]\n", stream.name());
            let frame = output(subject, event, source_of(*stream), text);
            Step::whole(Some(frame), position.with_view(*stream, View::default()), event)
        }
        EventKind::Exited(verdict) => {
            let ending = Ending::of(verdict);
            let mut frames = Vec::new();
            if position.is_start() {
                frames.push(started(subject, event));
            }
            for (view, source) in [(position.out, Source::Stdout), (position.err, Source::Stderr)] {
                if !carried(view).is_empty() {
                    frames.push(output(subject, event, source, carried(view).lost().to_owned()));
                }
            }
            if let Some((source, text)) = ending.server_text() {
                frames.push(output(subject, event, source, text.to_owned()));
            }
            frames.push(Frame::Result(Box::new(ToolResult::new(subject, subject.time_of(event), ending))));
            Step::one_of(frames, position, event)
        }
        EventKind::Closed => Step::whole(None, position, event),
    }
}

/// A chunk of output, of at most [`CHUNK_BYTES`] including the carried bytes.
fn printed(subject: &Subject, event: &Event, stream: Stream, bytes: &[u8], position: Position) -> Step {
    let sent = usize::try_from(position.part).unwrap_or(usize::MAX);
    let Some(rest) = bytes.get(sent..).filter(|rest| !rest.is_empty()) else {
        // More was already sent than this event has: it came in larger chunks before.
        let part = u32::try_from(sent.saturating_sub(bytes.len())).unwrap_or(0);
        return Step { frame: None, position: Position { part, ..position.after(event.seq) }, is_done: true };
    };
    let carry = carried(position.view(stream));
    let chunk = rest.get(..CHUNK_BYTES - carry.bytes().len()).unwrap_or(rest);
    let (text, carry) = carry.decode(chunk);
    let position = position.with_view(stream, View::Text(carry));
    let frame = (!text.is_empty()).then(|| output(subject, event, source_of(stream), text));
    if chunk.len() == rest.len() {
        return Step::whole(frame, position, event);
    }
    let part = u32::try_from(sent + chunk.len()).unwrap_or(u32::MAX);
    Step { frame, position: Position { part, ..position }, is_done: false }
}

const fn carried(view: View) -> Utf8Carry {
    match view {
        View::Text(carry) => carry,
        View::Binary => Utf8Carry::EMPTY,
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
