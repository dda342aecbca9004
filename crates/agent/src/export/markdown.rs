//! The current branch as Markdown.

use std::fmt::Write as _;

use headwater_protocol::api::Timestamp;
use headwater_protocol::conversation::{Message, MessageRole, Part, ToolCall};

use super::Export;
use super::call::{outcome, source};
use super::safe_markdown::{code_span, fenced, nested, plain_line, quoted};

pub(super) fn text(export: &Export<'_>) -> String {
    let mut out = format!("# {}\n", plain_line(export.title()));
    for message in export.conversation.branch() {
        out += &heading(message);
        for part in &message.parts {
            let text = part_text(export, message.role, part);
            if !text.is_empty() {
                out.push('\n');
                out += &text;
            }
        }
    }
    out
}

fn heading(message: &Message) -> String {
    let role = match message.role {
        MessageRole::User => "User",
        MessageRole::Assistant => "Assistant",
    };
    let author =
        message.author.as_deref().map(|author| format!(" {}", plain_line(author))).unwrap_or_default();
    format!("\n## {role}{author}, {}\n", Timestamp(message.created_at_ms))
}

fn part_text(export: &Export<'_>, role: MessageRole, part: &Part) -> String {
    match (part, role) {
        (Part::Text(text), MessageRole::User) => quoted(&text.text),
        (Part::Text(text), MessageRole::Assistant) => nested(&text.text),
        (Part::Reasoning(text), _) if text.text.is_empty() => String::new(),
        (Part::Reasoning(text), _) => format!("Reasoning:\n\n{}", quoted(&text.text)),
        (Part::ToolCall(call), _) => call_text(export, call),
        (Part::Attachment(file), _) => format!("Attachment: {}\n", code_span(&file.path)),
        (Part::Notice { text }, _) => format!("Notice: {}\n", plain_line(text)),
        (Part::Step { .. }, _) => String::new(),
    }
}

fn call_text(export: &Export<'_>, call: &ToolCall) -> String {
    let mut out = format!("### Tool {}: {}\n\n", code_span(&call.tool), outcome(call));
    out += &match (source(call), &call.input) {
        (Some(source), _) => fenced(&source.language, &source.code),
        (None, Some(input)) => fenced("json", &serde_json::to_string_pretty(input).unwrap_or_default()),
        (None, None) => fenced("text", &call.input_text),
    };
    if let Some(output) = call.output.as_ref().filter(|output| !output.text.is_empty()) {
        out += "\nOutput:\n\n";
        out += &fenced("text", &output.text);
    }
    if let Some(image) = call.output.as_ref().and_then(|output| output.image.as_ref()) {
        let _ = write!(out, "\nImage: {}\n", code_span(&image.path));
    }
    for id in &call.execution_ids {
        let _ = write!(out, "\nExecution: [{id}]({}/v1/executions/{id}/output)\n", export.server);
    }
    out
}
