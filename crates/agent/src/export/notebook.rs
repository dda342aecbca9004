//! The current branch as a Jupyter notebook, nbformat 4.5.

use headwater_protocol::conversation::{Message, MessageRole, Part, ToolCall};
use serde_json::{Value, json};

use super::Export;
use super::call::{Source, outputs, source};
use super::safe_markdown::{code_span, fenced, plain_line};

pub(super) fn text(export: &Export<'_>) -> String {
    let mut cells = Cells::default();
    cells.markdown("title", &format!("# {}", plain_line(export.title())));
    for message in export.conversation.branch() {
        for part in &message.parts {
            cells.part(message, part);
        }
    }
    let notebook = json!({
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
            "language_info": {"name": "python"},
            "title": export.title(),
            "headwater": {"conversation_id": export.id},
        },
        "cells": cells.all,
    });
    serde_json::to_string_pretty(&notebook).unwrap_or_default() + "\n"
}

#[derive(Default)]
struct Cells {
    all: Vec<Value>,
    executions: u32,
}

impl Cells {
    fn part(&mut self, message: &Message, part: &Part) {
        let role = match message.role {
            MessageRole::User => "user",
            MessageRole::Assistant => "assistant",
        };
        match part {
            Part::Text(text) => self.markdown(role, &text.text),
            Part::Reasoning(text) if !text.text.is_empty() => self.markdown("reasoning", &text.text),
            Part::ToolCall(call) => self.call(call),
            Part::Attachment(file) => self.markdown(role, &format!("Attachment: {}", code_span(&file.path))),
            Part::Notice { text } => self.markdown("notice", &format!("Notice: {}", plain_line(text))),
            Part::Reasoning(_) | Part::Step { .. } => {}
        }
    }

    fn call(&mut self, call: &ToolCall) {
        if let Some(source) = source(call) {
            self.code(call, &source);
        } else {
            let input = call.input.as_ref().map(serde_json::to_string_pretty);
            let input = input.and_then(Result::ok).unwrap_or_else(|| call.input_text.clone());
            let output = call.output.as_ref().map(|output| fenced("text", &output.text)).unwrap_or_default();
            let text = format!("Tool {}\n\n{}\n{output}", code_span(&call.tool), fenced("json", &input));
            self.markdown("tool", &text);
        }
    }

    fn markdown(&mut self, role: &str, source: &str) {
        let id = self.next_id();
        self.all.push(json!({
            "cell_type": "markdown",
            "id": id,
            "metadata": {"headwater": {"role": role}},
            "source": source,
        }));
    }

    fn code(&mut self, call: &ToolCall, source: &Source) {
        let (id, (stdout, stderr)) = (self.next_id(), outputs(call));
        let is_run = call.started_at_ms.is_some();
        self.executions += u32::from(is_run);
        let streams = [("stdout", stdout), ("stderr", stderr)];
        let streams = streams.iter().filter(|(_, text)| !text.is_empty());
        let outputs =
            streams.map(|(name, text)| json!({"output_type": "stream", "name": name, "text": text}));
        self.all.push(json!({
            "cell_type": "code",
            "id": id,
            "metadata": {"headwater": {"tool": call.tool, "execution_ids": call.execution_ids}},
            "execution_count": is_run.then_some(self.executions),
            "source": cell_source(source),
            "outputs": outputs.collect::<Vec<_>>(),
        }));
    }

    fn next_id(&self) -> String {
        format!("cell-{}", self.all.len() + 1)
    }
}

/// The source for a Python kernel: a magic line names another language.
fn cell_source(source: &Source) -> String {
    let Source { language, code } = source;
    match language.as_str() {
        "python" => code.clone(),
        "bash" => format!("%%bash\n{code}"),
        "javascript" => format!("%%script node\n{code}"),
        "ruby" | "perl" => format!("%%{language}\n{code}"),
        other => format!("%%script {other}\n{code}"),
    }
}
