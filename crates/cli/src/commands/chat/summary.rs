//! One line for each tool call, and for its end.

use headwater_protocol::conversation::{Approval, PlanStep, PlanStepStatus, ToolCall, ToolCallState};
use serde_json::Value;

use crate::escape::printable;
use crate::humanize;
use crate::style::Style;

/// Arguments that say what a call is about, the first one that it has.
const TELLING: [&str; 12] = [
    "cmd",
    "command",
    "code",
    "file_path",
    "path",
    "pattern",
    "dir_path",
    "query",
    "message",
    "name",
    "ids",
    "id",
];

/// What a call does, on one line.
pub fn call(call: &ToolCall) -> String {
    let input = call.input.as_ref();
    let telling = TELLING.iter().find_map(|name| Some((*name, text(input?.get(name)?)?)));
    match (call.tool.as_str(), telling) {
        ("code_execution" | "run_code", Some(("code", code))) => {
            let field = |name: &str| input.and_then(|input| text(input.get(name)?));
            match field("runtime").or_else(|| field("language")).as_deref() {
                Some("terminal") | None => printable(&format!("$ {code}")),
                Some(language) => printable(&format!("[{language}] {code}")),
            }
        }
        ("apply_patch", _) => format!("apply_patch {}", printable(&patched(input))),
        (_, Some(("cmd" | "command", command))) => {
            let arguments = input.and_then(|input| text(input.get("args")?));
            printable(&format!(
                "$ {}",
                [Some(command), arguments].into_iter().flatten().collect::<Vec<_>>().join(" ")
            ))
        }
        (tool, Some((_, about))) => printable(&format!("{tool} {about}")),
        (tool, None) => printable(tool),
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(all) => {
            let words: Vec<&str> = all.iter().filter_map(Value::as_str).collect();
            // A shell and its flag say nothing.
            let words = match words[..] {
                [shell, "-c" | "-lc", line] if shell.ends_with("sh") => vec![line],
                _ => words,
            };
            Some(words.join(" "))
        }
        _ => None,
    }
    .filter(|text| !text.trim().is_empty())
}

/// The files that a patch names.
fn patched(input: Option<&Value>) -> String {
    let patch = input.and_then(|input| {
        let fields = input.as_object()?.values();
        fields.filter_map(Value::as_str).find(|text| text.contains("*** "))
    });
    let name = |line: &str| {
        ["*** Add File: ", "*** Update File: ", "*** Delete File: "]
            .iter()
            .find_map(|start| line.strip_prefix(start).map(str::to_owned))
    };
    patch.unwrap_or_default().lines().filter_map(name).collect::<Vec<_>>().join(", ")
}

/// How a call ended: a sign, and what is to be said about it.
pub fn end(call: &ToolCall, style: Style) -> (String, String) {
    let structured = |name: &str| call.output.as_ref()?.structured.as_ref()?.get(name)?.as_i64();
    let took = match (call.started_at_ms, call.ended_at_ms) {
        (Some(from), Some(to)) => humanize::duration(to.saturating_sub(from)),
        _ => String::new(),
    };
    let failed = || {
        let output = call.output.as_ref();
        let message = output.filter(|output| output.is_error).map(|output| first_line(&output.text));
        match (structured("exit_code"), message) {
            (Some(code), _) if code != 0 => format!("exit code {code}"),
            (_, Some(message)) => message,
            _ => "failed".to_owned(),
        }
    };
    let (sign, words) = match call.state {
        ToolCallState::Succeeded => (style.green("✓"), String::new()),
        ToolCallState::Failed => (style.red("✗"), failed()),
        ToolCallState::Denied => (style.red("✗"), "refused".to_owned()),
        ToolCallState::Stopped => (style.yellow("■"), "stopped".to_owned()),
        _ => ("•".to_owned(), String::new()),
    };
    let about: Vec<String> = [words, took].into_iter().filter(|text| !text.is_empty()).collect();
    let about = if about.is_empty() { String::new() } else { format!("({})", about.join(", ")) };
    (sign, about)
}

fn first_line(text: &str) -> String {
    printable(text.lines().find(|line| !line.trim().is_empty()).unwrap_or("failed"))
}

/// The steps of a plan, with ticks.
pub fn plan(plan: &[PlanStep], style: Style) -> Vec<String> {
    let line = |one: &PlanStep| {
        let step = printable(&one.step);
        match one.status {
            PlanStepStatus::Completed => format!("  {} {step}", style.green("✓")),
            PlanStepStatus::InProgress => format!("  {} {}", style.yellow("▸"), style.bold(&step)),
            PlanStepStatus::Pending => format!("  · {step}"),
        }
    };
    plan.iter().map(line).collect()
}

/// A question for consent, line by line, indented: no line of it can pass for one of ours.
pub fn question(approval: &Approval) -> Vec<String> {
    let mut lines: Vec<String> =
        approval.text.lines().map(|line| format!("  │ {}", printable(line))).collect();
    if let Some(rule) = &approval.rule_text {
        lines.push(format!("  │ `a` allows: {}", printable(rule)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn made(tool: &str, input: Value) -> ToolCall {
        ToolCall { input: Some(input), ..ToolCall::new("c", tool) }
    }

    #[test]
    fn a_call_is_one_line_that_cannot_control_the_terminal() {
        for (tool, input, expected) in [
            ("exec_command", json!({"cmd": "ls -l\nrm x"}), "$ ls -l\\nrm x"),
            ("shell", json!({"command": ["bash", "-lc", "make test"]}), "$ make test"),
            ("shell", json!({"command": ["git", "status"]}), "$ git status"),
            ("runCommand", json!({"command": "ls", "args": ["-l", "x"]}), "$ ls -l x"),
            ("code_execution", json!({"runtime": "terminal", "code": "make"}), "$ make"),
            ("code_execution", json!({"runtime": "python", "code": "1 + 1"}), "[python] 1 + 1"),
            ("read_file", json!({"file_path": "a\u{1b}[2Jb"}), "read_file a\\u{1b}[2Jb"),
            ("update_plan", json!({"plan": []}), "update_plan"),
            (
                "apply_patch",
                json!({"input": "*** Begin Patch\n*** Add File: a.txt\n+x\n*** Delete File: b\n"}),
                "apply_patch a.txt, b",
            ),
            ("evil\u{1b}[2J", json!(3), "evil\\u{1b}[2J"),
        ] {
            assert_eq!(call(&made(tool, input)), expected);
        }
    }

    #[test]
    fn an_end_says_what_went_wrong_and_how_long_it_took() {
        let mut ended = made("exec_command", json!({"cmd": "x"}));
        (ended.state, ended.started_at_ms, ended.ended_at_ms) =
            (ToolCallState::Failed, Some(1000), Some(2500));
        ended.output = Some(headwater_protocol::conversation::ToolOutput {
            structured: Some(json!({"exit_code": 3})),
            ..Default::default()
        });
        assert_eq!(end(&ended, Style::plain()), ("✗".into(), "(exit code 3, 1.5 s)".into()));
        ended.state = ToolCallState::Succeeded;
        assert_eq!(end(&ended, Style::plain()), ("✓".into(), "(1.5 s)".into()));
    }
}
