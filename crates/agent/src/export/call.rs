//! What a tool call ran.

use headwater_protocol::conversation::{ToolCall, ToolCallState};
use headwater_protocol::shell_quote;
use serde_json::Value;

/// The source of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    /// `bash`, `python`, `javascript` or another language.
    pub(super) language: String,
    /// The text.
    pub(super) code: String,
}

/// The program that a call ran, if it ran one.
pub(super) fn source(call: &ToolCall) -> Option<Source> {
    let input = call.input.as_ref()?;
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    match call.tool.as_str() {
        "run_code" | "code_execution" => {
            let language = text("language").or_else(|| text("runtime")).unwrap_or("bash");
            Some(Source { language: name_of(language), code: text("code")?.to_owned() })
        }
        "exec_command" => Some(shell(text("cmd")?.to_owned())),
        "shell_command" | "run_command" | "runCommand" => Some(shell(text("command")?.to_owned())),
        "shell" => Some(shell(command_line(input.get("command")?.as_array()?))),
        _ => None,
    }
}

fn shell(code: String) -> Source {
    Source { language: "bash".to_owned(), code }
}

/// The name that Markdown and notebooks know.
fn name_of(language: &str) -> String {
    match language {
        "terminal" | "sh" | "shell" => "bash",
        "nodejs" | "node" | "js" => "javascript",
        "py" | "python3" => "python",
        other => other,
    }
    .chars()
    .filter(|ch| ch.is_ascii_alphanumeric() || "+-#._".contains(*ch))
    .collect()
}

fn command_line(words: &[Value]) -> String {
    let words: Vec<_> = words.iter().filter_map(Value::as_str).collect();
    match words.as_slice() {
        [shell, "-c" | "-lc", script] if shell.ends_with("sh") => (*script).to_owned(),
        words => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
    }
}

fn quoted(word: &str) -> String {
    let is_plain = |ch: char| ch.is_ascii_alphanumeric() || "-_./=:,+@%".contains(ch);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { shell_quote(word) }
}

/// The exit code of the program of a call.
pub(super) fn exit_code(call: &ToolCall) -> Option<i64> {
    call.output.as_ref()?.structured.as_ref()?.get("exit_code")?.as_i64()
}

/// Standard output and standard error, if the result keeps them apart; else the text that the model got as output.
pub(super) fn outputs(call: &ToolCall) -> (String, String) {
    let Some(output) = &call.output else { return Default::default() };
    let text = |name: &str| output.structured.as_ref()?.get(name)?.as_str();
    match (text("stdout"), text("stderr")) {
        (None, None) if output.is_error => (String::new(), output.text.clone()),
        (None, None) => (output.text.clone(), String::new()),
        (stdout, stderr) => (stdout.unwrap_or_default().to_owned(), stderr.unwrap_or_default().to_owned()),
    }
}

/// The state in words, with the exit code and the time that it took.
pub(super) fn outcome(call: &ToolCall) -> String {
    let state = match call.state {
        ToolCallState::Writing | ToolCallState::Ready => "not run",
        ToolCallState::Waiting => "waits for a person",
        ToolCallState::Running => "running",
        ToolCallState::Succeeded => "succeeded",
        ToolCallState::Failed => "failed",
        ToolCallState::Denied => "denied",
        ToolCallState::Stopped => "stopped",
    };
    let code = exit_code(call).map(|code| format!("exit code {code}"));
    let time = call.started_at_ms.zip(call.ended_at_ms).map(|(start, end)| {
        let ms = end.saturating_sub(start);
        format!("{}.{} s", ms / 1000, ms % 1000 / 100)
    });
    let facts: Vec<_> = [Some(state.to_owned()), code, time].into_iter().flatten().collect();
    facts.join(", ")
}
