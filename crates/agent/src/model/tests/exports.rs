//! From the bytes of a provider to a file: what is stored is what was streamed and what is exported, wherever the bytes are
//! cut.

use std::collections::HashMap;
use std::fmt::Write as _;

use headwater_protocol::conversation::{
    Conversation, ConversationEvent, LogEntry, Message, MessageId, MessageRole, Part,
};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::export::{Export, ExportFormat};
use crate::recorder::Recorder;

/// What a model writes.
#[derive(Debug, Clone)]
struct Written {
    reasoning: String,
    text: String,
    command: String,
}

/// The response of a provider, whose texts come in deltas of this many characters.
fn response(api: Api, written: &Written, delta: usize) -> String {
    let arguments = json!({"cmd": written.command}).to_string();
    let mut out = String::new();
    let mut event = |data: Value| write!(out, "data: {data}\n\n").unwrap();
    let deltas = |text: &str| -> Vec<String> {
        let chars: Vec<char> = text.chars().collect();
        chars.chunks(delta).map(|chunk| chunk.iter().collect()).collect()
    };
    let texts = [("reasoning_content", &written.reasoning), ("content", &written.text)];
    match api {
        Api::Chat => {
            let mut choice = |delta: Value| event(json!({"choices": [{"delta": delta}]}));
            for (name, text) in texts {
                for part in deltas(text) {
                    choice(json!({name: part}));
                }
            }
            choice(json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "exec_command"}}]}));
            for part in deltas(&arguments) {
                choice(json!({"tool_calls": [{"index": 0, "function": {"arguments": part}}]}));
            }
            event(json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}));
            out += "data: [DONE]\n\n";
        }
        Api::Responses => {
            let kinds = [
                ("response.reasoning_summary_text.delta", &written.reasoning),
                ("response.output_text.delta", &written.text),
            ];
            for (at, (kind, text)) in kinds.into_iter().enumerate() {
                for part in deltas(text) {
                    event(json!({"type": kind, "output_index": at, "delta": part}));
                }
            }
            let call = json!({"type": "function_call", "call_id": "c", "name": "exec_command"});
            event(json!({"type": "response.output_item.added", "output_index": 2, "item": call}));
            let kind = "response.function_call_arguments.delta";
            for part in deltas(&arguments) {
                event(json!({"type": kind, "output_index": 2, "delta": part}));
            }
            event(json!({"type": "response.completed", "response": {"output": []}}));
        }
        Api::Messages => {
            let call = json!({"type": "tool_use", "id": "c", "name": "exec_command"});
            let blocks = [
                (json!({"type": "thinking"}), "thinking", &written.reasoning),
                (json!({"type": "text"}), "text", &written.text),
                (call, "partial_json", &arguments),
            ];
            for (index, (block, name, text)) in blocks.into_iter().enumerate() {
                event(json!({"type": "content_block_start", "index": index, "content_block": block}));
                for part in deltas(text) {
                    event(json!({"type": "content_block_delta", "index": index, "delta": {name: part}}));
                }
                event(json!({"type": "content_block_stop", "index": index}));
            }
            event(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}));
            event(json!({"type": "message_stop"}));
        }
    }
    out
}

/// The log that an answer gives, if its bytes come in these pieces.
fn log<'a>(api: Api, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<LogEntry> {
    let id: MessageId = "a".parse().unwrap();
    let message = Message {
        id: id.clone(),
        parent_id: None,
        role: MessageRole::Assistant,
        author: None,
        created_at_ms: 0,
        parts: Vec::new(),
        usage: None,
    };
    let mut out = vec![ConversationEvent::MessageAdded { message }];
    let (mut decoding, mut recorder) =
        (Decoding::new(decoder(api)), Recorder::new(id, 1, 1, Box::new(|_| false)));
    for piece in pieces.filter(|piece| !piece.is_empty()) {
        let mut events = Vec::new();
        decoding.push(piece.to_vec().into(), &mut events).unwrap();
        for event in events {
            recorder.push(event, &mut out);
        }
    }
    assert!(decoding.is_finished());
    (1..).zip(out).map(|(seq, event)| LogEntry { seq, at_ms: 0, event }).collect()
}

/// What a reader has that only joins deltas: the texts in the order of their beginning, the arguments last.
fn streamed(log: &[LogEntry]) -> Vec<String> {
    let (mut order, mut texts) = (Vec::new(), HashMap::<String, String>::new());
    for entry in log {
        let (id, text) = match &entry.event {
            ConversationEvent::TextDelta { part_id, text, .. } => (part_id, text),
            ConversationEvent::ToolCallDelta { tool_call_id, text } => (tool_call_id, text),
            _ => continue,
        };
        if !texts.contains_key(id) {
            order.push(id.clone());
        }
        texts.entry(id.clone()).or_default().push_str(text);
    }
    order.iter().map(|id| texts[id].clone()).collect()
}

fn texts(messages: &[Message]) -> Vec<String> {
    let text = |part: &Part| match part {
        Part::Text(text) | Part::Reasoning(text) => Some(text.text.clone()),
        Part::ToolCall(call) => Some(call.input.clone().unwrap().to_string()),
        _ => None,
    };
    messages[0].parts.iter().filter_map(text).collect()
}

fn export(log: &[LogEntry], format: ExportFormat) -> String {
    let (id, conversation) = ("c".parse().unwrap(), Conversation::of(log));
    Export { id: &id, title: None, server: "", conversation: &conversation, log }.text(format)
}

proptest! {
    #[test]
    fn what_is_stored_is_what_was_streamed_and_what_is_exported(
        api in 0_usize..3,
        reasoning in "[a-z🙂ä\n]{1,30}", text in "[\\PC\n`\"\\\\<]{1,40}", command in "[\\PC\n`\"\\\\]{0,40}",
        delta in 1_usize..20,
        sizes in proptest::collection::vec(1_usize..70, 1..40),
    ) {
        // A tag at the beginning would make reasoning of the text, and its spaces there are cut, as those of local models.
        let written = Written { reasoning, text: format!("x{text}"), command };
        let response = response(APIS[api], &written, delta);
        let (mut rest, mut pieces) = (response.as_bytes(), Vec::new());
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, more) = rest.split_at((*size).min(rest.len()));
            pieces.push(piece);
            rest = more;
        }
        let log = log(APIS[api], pieces.into_iter());
        let arguments = json!({"cmd": written.command}).to_string();
        let expected = [written.reasoning.clone(), written.text.clone(), arguments];
        prop_assert_eq!(&streamed(&log)[..], &expected[..]);
        prop_assert_eq!(&texts(&Conversation::of(&log).messages)[..], &expected[..]);
        let file: Value = serde_json::from_str(&export(&log, ExportFormat::Json)).unwrap();
        let messages: Vec<Message> = serde_json::from_value(file["messages"].clone()).unwrap();
        prop_assert_eq!(&texts(&messages)[..], &expected[..]);
        let kept: Vec<LogEntry> = serde_json::from_value(file["log"].clone()).unwrap();
        prop_assert_eq!(&streamed(&kept)[..], &expected[..]);
        let notebook: Value = serde_json::from_str(&export(&log, ExportFormat::Notebook)).unwrap();
        let cells: Vec<_> = notebook["cells"].as_array().unwrap().iter().map(|cell| cell["source"].clone()).collect();
        let code = format!("%%bash\n{}", written.command);
        prop_assert_eq!(&cells[1..], &[json!(written.reasoning), json!(written.text), json!(code)]);
        // The files do not say how the stream was cut either.
        let once = self::log(APIS[api], std::iter::once(response.as_bytes()));
        for format in [ExportFormat::Markdown, ExportFormat::Notebook] {
            prop_assert_eq!(export(&log, format), export(&once, format));
        }
    }
}
