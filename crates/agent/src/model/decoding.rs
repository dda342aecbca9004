//! From the bytes of a response to events. There is no I/O here: wherever the bytes are cut, the events are the same.

use std::collections::HashSet;
use std::fmt::Debug;

use bytes::Bytes;
use headwater_protocol::conversation::ModelUsage;
use headwater_sse::Parser;
use serde_json::Value;

use super::fault::Fault;
use super::{Item, ModelErrorKind, ModelEvent, Prompt};

/// The largest event, and the largest answer without a stream. The last event of some APIs repeats the whole answer.
const MAX_BYTES: usize = 32 << 20;
/// The marker after the last event of chat completions.
const DONE: &[u8] = b"[DONE]";

/// What one API writes.
pub(super) trait Decoder: Debug + Send {
    /// An event of a stream.
    fn event(&mut self, event: &Value, out: &mut Vec<ModelEvent>) -> Result<(), Fault>;

    /// An answer without a stream.
    fn whole(&mut self, answer: &Value, out: &mut Vec<ModelEvent>) -> Result<(), Fault>;

    /// The stream has ended, with the marker for it or without. Completes the answer, if nothing is missing.
    fn end(&mut self, is_marked: bool, out: &mut Vec<ModelEvent>) -> Result<(), Fault>;
}

/// How the answer is sent. Some endpoints send no stream, and not all of them name the right type.
#[derive(Debug)]
enum Form {
    /// Nothing has come yet.
    Unknown,
    Stream(Parser),
    Json(Vec<u8>),
}

/// The decoding of one response.
#[derive(Debug)]
pub(super) struct Decoding {
    decoder: Box<dyn Decoder>,
    form: Form,
    is_finished: bool,
}

impl Decoding {
    pub(super) fn new(decoder: Box<dyn Decoder>) -> Self {
        Self { decoder, form: Form::Unknown, is_finished: false }
    }

    /// Whether the answer is complete. What may follow is ignored.
    pub(super) const fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Adds bytes. The events before a fault are valid.
    pub(super) fn push(&mut self, mut bytes: Bytes, out: &mut Vec<ModelEvent>) -> Result<(), Fault> {
        if matches!(self.form, Form::Unknown) {
            let Some(start) = bytes.iter().position(|byte| !byte.is_ascii_whitespace()) else {
                return Ok(());
            };
            bytes = bytes.slice(start..);
            self.form = match bytes.first() {
                Some(b'<') => {
                    return Err(Fault::new(ModelErrorKind::Refused, "the answer is a web page"));
                }
                Some(b'{') => Form::Json(Vec::new()),
                _ => Form::Stream(Parser::new(MAX_BYTES)),
            };
        }
        match &mut self.form {
            Form::Unknown => Ok(()),
            Form::Json(body) if body.len() + bytes.len() > MAX_BYTES => {
                Err(Fault::garbage(&format!("it is larger than {MAX_BYTES} bytes")))
            }
            Form::Json(body) => {
                body.extend_from_slice(&bytes);
                Ok(())
            }
            Form::Stream(parser) => {
                parser.push(bytes);
                self.events(out)
            }
        }
    }

    fn events(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), Fault> {
        let Form::Stream(parser) = &mut self.form else { return Ok(()) };
        while let Some(message) = parser.next().map_err(|error| Fault::garbage(&error.to_string()))? {
            if message.data == DONE {
                self.decoder.end(true, out)?;
            } else {
                let event = serde_json::from_slice(&message.data);
                let event =
                    event.map_err(|error| Fault::garbage(&format!("an event is not JSON: {error}")))?;
                self.decoder.event(&event, out)?;
            }
            if matches!(out.last(), Some(ModelEvent::Finished(_))) {
                self.is_finished = true;
                return Ok(());
            }
        }
        Ok(())
    }

    /// The response has ended.
    pub(super) fn end(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), Fault> {
        match &self.form {
            Form::Unknown => return Err(Fault::garbage("it is empty")),
            Form::Stream(_) => self.decoder.end(false, out)?,
            Form::Json(body) => {
                let answer: Value = serde_json::from_slice(body)
                    .map_err(|error| Fault::garbage(&format!("it is not JSON: {error}")))?;
                if !answer["error"].is_null() {
                    return Err(Fault::in_answer(&answer["error"]));
                }
                self.decoder.whole(&answer, out)?;
            }
        }
        self.is_finished = true;
        Ok(())
    }
}

/// The answer ended too early.
pub(super) fn broken_off() -> Fault {
    Fault::new(ModelErrorKind::BrokenOff, "the connection ended before the answer did")
}

/// What a call used, from the names that APIs have for it. `more` are tokens of the prompt that `input` does not count.
pub(super) fn usage(usage: &Value, input: &str, output: &str, cached: &Value, more: u64) -> ModelUsage {
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    ModelUsage {
        input_tokens: number(&usage[input]).saturating_add(more),
        cached_tokens: number(cached),
        output_tokens: number(&usage[output]),
        cost_usd: usage["cost"].as_f64(),
    }
}

/// The ids of tool calls: each is unique in its conversation.
#[derive(Debug, Default)]
pub(super) struct CallIds(HashSet<String>);

impl CallIds {
    pub(super) fn of(prompt: &Prompt) -> Self {
        let id = |item: &Item| match item {
            Item::ToolCall { id, .. } => Some(id.clone()),
            _ => None,
        };
        Self(prompt.items.iter().filter_map(id).collect())
    }

    /// The id that a provider gave, or a new one if it gave none, or one that is in use: some count from 0 in each answer.
    pub(super) fn unique(&mut self, given: Option<&str>) -> String {
        let given = given.filter(|id| !id.is_empty() && !self.0.contains(*id));
        let id = given.map_or_else(|| self.made_up(), str::to_owned);
        self.0.insert(id.clone());
        id
    }

    fn made_up(&self) -> String {
        // Without randomness, the number of the call is unique at least in its branch of the conversation.
        let number = getrandom::u64().unwrap_or(self.0.len() as u64);
        format!("call_{number:016x}")
    }
}
