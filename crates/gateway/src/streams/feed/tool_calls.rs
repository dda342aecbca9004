//! The dialect `tool_calls`: start, output and result of a call.

use headwater_protocol::api::Timestamp;
use headwater_protocol::{Event, EventKind, Stream, Utf8Carry};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::dialect::{Frame, Step, json_frame};
use super::ending::Ending;
use super::max_buffer::{Shown, hides, note};
use super::result::{ToolResult, ToolResultBody};
use super::subject::Subject;
use crate::streams::feed::position::{Position, View};

/// The maximum size of the output in one `CODE_EXECUTION_OUTPUT`.
const CHUNK_BYTES: usize = 4096;

const START: &str = "TOOL_CALL_START";
const OUTPUT: &str = "CODE_EXECUTION_OUTPUT";

/// Where the fields of an event are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// In `payload`.
    Payload,
    /// Beside `type`.
    Flat,
}

/// An event for a tool card.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct ToolCardEvent<T> {
    /// `TOOL_CALL_START`, `CODE_EXECUTION_OUTPUT` or `TOOL_RESULT`.
    pub(crate) r#type: String,
    /// The conversation, if the call belongs to one.
    pub(crate) thread_id: Option<String>,
    /// When it happened.
    pub(crate) timestamp: Timestamp,
    /// The fields of the event, including these three.
    pub(crate) payload: T,
}

/// A call was started.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct ToolCallStart {
    /// Always `TOOL_CALL_START`.
    pub(crate) r#type: String,
    /// The call's id, or the execution's id.
    pub(crate) id: String,
    /// The tool: `code_execution`, `run_command`, `runCommand`, `build` or `change_packages`.
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
    /// The same text, if the source is `error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// When it was printed.
    pub(crate) timestamp: Timestamp,
    /// The execution, for its routes.
    pub(crate) execution_id: Option<String>,
}

/// An event of a tool call: its start, a piece of its output, or its result.
#[derive(Serialize, ToSchema)]
#[schema(discriminator(property_name = "type", mapping(
    ("TOOL_CALL_START" = "#/components/schemas/ToolCallStartEvent"),
    ("CODE_EXECUTION_OUTPUT" = "#/components/schemas/CodeExecutionOutputEvent"),
    ("TOOL_RESULT" = "#/components/schemas/ToolResultEvent"),
)))]
#[serde(untagged)]
#[allow(dead_code)] // only documents the events
pub(crate) enum ToolEvent {
    Start(ToolCardEvent<ToolCallStart>),
    Output(ToolCardEvent<CodeExecutionOutput>),
    Result(ToolCardEvent<ToolResultBody>),
}

/// The next frame of an event.
pub(crate) fn step(form: Form, subject: &Subject, event: &Event, position: Position) -> Step {
    Card { form, subject, event }.step(position)
}

/// An event of a call, and the form in which it is sent.
struct Card<'a> {
    form: Form,
    subject: &'a Subject,
    event: &'a Event,
}

impl Card<'_> {
    fn step(&self, position: Position) -> Step {
        let event = self.event;
        match &event.kind {
            EventKind::Started { .. } => Step::whole(Some(self.started()), position, event),
            EventKind::Output { stream, offset, bytes } => self.printed(*stream, *offset, bytes, position),
            EventKind::Gap { from_byte, .. } if hides(self.subject.max_buffer, *from_byte) => {
                Step::whole(None, position, event)
            }
            EventKind::Gap { stream, from_byte, to_byte } => {
                let lost = carried(position.view(*stream)).lost();
                let bytes = to_byte.saturating_sub(*from_byte);
                let text =
                    format!("{lost}\n[SYSTEM: {bytes} bytes of {} are no longer kept.]\n", stream.name());
                let frame = self.output(source_of(*stream), text);
                Step::whole(Some(frame), position.with_view(*stream, View::default()), event)
            }
            EventKind::Exited(verdict) => {
                Step::one_of(self.ended(Ending::of(verdict), position), position, event)
            }
            EventKind::Closed => Step::whole(None, position, event),
        }
    }

    /// A chunk of output, of at most [`CHUNK_BYTES`] including the carried bytes.
    fn printed(&self, stream: Stream, offset: u64, bytes: &[u8], position: Position) -> Step {
        let event = self.event;
        let sent = usize::try_from(position.part).unwrap_or(usize::MAX);
        if sent >= bytes.len() {
            // More was already sent than this event has: it came in larger chunks before.
            let part = u32::try_from(sent - bytes.len()).unwrap_or(0);
            let position = Position { part, ..position.after(event.seq) };
            return Step { frame: None, position, is_done: true };
        }
        let shown = Shown::of(self.subject.max_buffer, offset, bytes.len());
        let rest = bytes.get(sent..shown.bytes).unwrap_or_default();
        if rest.is_empty() {
            let frame = shown.exceeded.map(|limit| self.output(source_of(stream), note(limit)));
            return Step::whole(frame, position.with_view(stream, View::default()), event);
        }
        let carry = carried(position.view(stream));
        let chunk = rest.get(..CHUNK_BYTES - carry.bytes().len()).unwrap_or(rest);
        let (text, carry) = carry.decode(chunk);
        let position = position.with_view(stream, View::Text(carry));
        let frame = (!text.is_empty()).then(|| self.output(source_of(stream), text));
        if sent + chunk.len() == bytes.len() {
            return Step::whole(frame, position, event);
        }
        let part = u32::try_from(sent + chunk.len()).unwrap_or(u32::MAX);
        Step { frame, position: Position { part, ..position }, is_done: false }
    }

    fn started(&self) -> Frame {
        let subject = self.subject;
        let start = ToolCallStart {
            r#type: START.to_owned(),
            id: subject.call_id.clone(),
            tool_name: subject.tool_name.clone(),
            tool_args: subject.tool_args.clone(),
            thread_id: subject.conversation_id.clone(),
            timestamp: subject.time_of(self.event),
            execution_id: subject.execution_id(),
        };
        self.frame(START, start)
    }

    fn output(&self, source: Source, text: String) -> Frame {
        let subject = self.subject;
        let error = (source == Source::Error).then(|| text.clone());
        let (stdout, stderr) = if source == Source::Stdout { (Some(text), None) } else { (None, Some(text)) };
        let output = CodeExecutionOutput {
            r#type: OUTPUT.to_owned(),
            tool_call_id: subject.call_id.clone(),
            thread_id: subject.conversation_id.clone(),
            source,
            stdout,
            stderr,
            error,
            timestamp: subject.time_of(self.event),
            execution_id: subject.execution_id(),
        };
        self.frame(OUTPUT, output)
    }

    /// The frames of the end: the start if it was not sent, incomplete characters, the server's message, the result.
    fn ended(&self, ending: Ending, position: Position) -> Vec<Frame> {
        let mut frames = Vec::new();
        if position.is_start() {
            frames.push(self.started());
        }
        for (view, source) in [(position.out, Source::Stdout), (position.err, Source::Stderr)] {
            if !carried(view).is_empty() {
                frames.push(self.output(source, carried(view).lost().to_owned()));
            }
        }
        if let Some((cause, text)) = ending.server_text() {
            frames.push(self.output(cause.into(), text.to_owned()));
        }
        let result = ToolResult::new(self.subject, self.subject.time_of(self.event), ending);
        frames.push(Frame::Result(Box::new(result.in_form(self.form))));
        frames
    }

    fn frame(&self, name: &'static str, payload: impl Serialize) -> Frame {
        match self.form {
            Form::Flat => json_frame(Some(name), &payload),
            Form::Payload => {
                let event = ToolCardEvent {
                    r#type: name.to_owned(),
                    thread_id: self.subject.conversation_id.clone(),
                    timestamp: self.subject.time_of(self.event),
                    payload,
                };
                json_frame(Some(name), &event)
            }
        }
    }
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
