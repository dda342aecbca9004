//! Tests of the exports.

use headwater_protocol::conversation::{Conversation, ConversationEvent, ConversationId, LogEntry, Part};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::safe_markdown::{code_span, fenced, nested};
use super::{Export, ExportFormat};

fn event(json: Value) -> ConversationEvent {
    serde_json::from_value(json).unwrap()
}

#[allow(clippy::needless_pass_by_value, reason = "callers write it with `json!`")]
fn message(id: &str, parent: Option<&str>, parts: Value) -> ConversationEvent {
    let role = if id.starts_with('q') { "user" } else { "assistant" };
    event(
        json!({"type": "message_added", "message": {"id": id, "parent_id": parent, "role": role, "parts": parts}}),
    )
}

/// A question, and an answer with this text that ran this command with this output.
fn log(question: &str, answer: &str, command: &str, printed: &str) -> Vec<LogEntry> {
    let call = |kind: &str, more: Value| {
        let mut all = json!({"type": kind, "message_id": "a", "tool_call_id": "c", "tool": "shell_command"});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event(all)
    };
    let file = json!({"type": "attachment", "name": "n", "path": "attachments/`x`\n# y", "media_type": "text/plain", "size_bytes": 1});
    let result = json!({"exit_code": 3, "stdout": printed, "stderr": "oops"});
    let events = vec![
        message("q", None, json!([{"type": "text", "text": question}, file])),
        event(json!({"type": "turn_started", "turn_id": "t"})),
        message("a", Some("q"), json!([])),
        event(json!({"type": "step_started", "message_id": "a", "step": 1, "attempt": 1})),
        event(
            json!({"type": "text_ended", "message_id": "a", "part_id": "t", "text": answer, "opaque": {"k": "OPAQUE"}}),
        ),
        call("tool_call_ready", json!({"input": {"command": command}})),
        call("tool_call_running", json!({"execution_id": "exe_0123456789abcdef0123456789abcdef"})),
        call(
            "tool_call_ended",
            json!({"state": "failed", "output": {"text": printed, "structured": result}}),
        ),
        event(json!({"type": "turn_ended", "turn_id": "t", "outcome": "completed"})),
    ];
    (1..).zip(events).map(|(seq, event)| LogEntry { seq, at_ms: seq * 1000, event }).collect()
}

fn export(log: &[LogEntry], format: ExportFormat) -> String {
    let id: ConversationId = "cnv:1".parse().unwrap();
    let conversation = Conversation::of(log);
    let export = Export {
        id: &id,
        title: Some("A *title*\n# x"),
        server: "http://h",
        conversation: &conversation,
        log,
    };
    assert_eq!(export.file_name(format), format!("cnv-1.{}", format.extension()));
    export.text(format)
}

#[test]
fn markdown_has_messages_commands_results_and_links() {
    let text = export(&log("Why?", "# Because\n\n```\nopen", "ls `x`", "a\n```\nb"), ExportFormat::Markdown);
    let expected = [
        "# A \\*title\\* \\# x\n",
        "\n## User, 1970-01-01T00:00:01.000Z\n\n> Why?\n\nAttachment: `` attachments/`x` # y ``\n",
        "\n## Assistant, 1970-01-01T00:00:03.000Z\n\n### Because\n\n```\nopen\n```\n",
        "\n### Tool ` shell_command `: failed, exit code 3, 1.0 s\n\n```bash\nls `x`\n```\n",
        "\nOutput:\n\n````text\na\n```\nb\n````\n",
        "\nExecution: [exe_0123456789abcdef0123456789abcdef](http://h/v1/executions/exe_0123456789abcdef0123456789abcdef/output)\n",
    ];
    assert_eq!(text, expected.concat());
}

#[test]
fn what_a_provider_wants_back_is_not_exported() {
    let log = log("q", "a", "ls", "x");
    for format in [ExportFormat::Markdown, ExportFormat::Json, ExportFormat::Notebook] {
        assert!(!export(&log, format).contains("OPAQUE"), "{format:?}");
    }
}

#[test]
fn a_notebook_has_the_fields_that_nbformat_requires() {
    let text = export(&log("Why?", "Because", "ls", "a\nb\n"), ExportFormat::Notebook);
    let notebook: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&notebook["nbformat"], &notebook["nbformat_minor"]), (&json!(4), &json!(5)));
    let cells = notebook["cells"].as_array().unwrap();
    let ids: std::collections::HashSet<_> = cells.iter().map(|cell| cell["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), cells.len(), "ids are unique");
    for cell in cells {
        assert!(cell["metadata"].is_object() && cell["source"].is_string());
        let is_code = cell["cell_type"] == "code";
        assert!(is_code || cell["cell_type"] == "markdown");
        assert_eq!(cell.get("outputs").is_some() && cell.get("execution_count").is_some(), is_code);
    }
    let code = cells.iter().find(|cell| cell["cell_type"] == "code").unwrap();
    assert_eq!(code["source"], "%%bash\nls");
    let streams = json!([
        {"output_type": "stream", "name": "stdout", "text": "a\nb\n"},
        {"output_type": "stream", "name": "stderr", "text": "oops"},
    ]);
    assert_eq!((&code["outputs"], &code["execution_count"]), (&streams, &json!(1)));
}

#[test]
fn code_keeps_its_language_and_other_tools_their_arguments() {
    for (tool, input, expected) in [
        ("code_execution", json!({"runtime": "python", "code": "print(1)"}), "print(1)"),
        ("code_execution", json!({"runtime": "nodejs", "code": "x"}), "%%script node\nx"),
        ("run_code", json!({"language": "lua\n%%bash", "code": "x"}), "%%script luabash\nx"),
        ("shell", json!({"command": ["bash", "-lc", "ls | wc"]}), "%%bash\nls | wc"),
        ("shell", json!({"command": ["echo", "a b"]}), "%%bash\necho 'a b'"),
        ("exec_command", json!({"cmd": "make"}), "%%bash\nmake"),
        (
            "read_file",
            json!({"path": "x"}),
            "Tool ` read_file `\n\n```json\n{\n  \"path\": \"x\"\n}\n```\n\n",
        ),
    ] {
        let events = [
            message("q", None, json!([])),
            event(
                json!({"type": "tool_call_ready", "message_id": "q", "tool_call_id": "c", "tool": tool, "input": input}),
            ),
        ];
        let log: Vec<_> = (1..).zip(events).map(|(seq, event)| LogEntry { seq, at_ms: 0, event }).collect();
        let notebook: Value = serde_json::from_str(&export(&log, ExportFormat::Notebook)).unwrap();
        assert_eq!(notebook["cells"][1]["source"], expected, "{tool}");
    }
}

#[test]
fn html_and_headings_of_a_message_are_text_below_our_own() {
    let text = "# One\n## User\n<script>alert(1)</script>\n`<b>` and ``a`<b>`` and `<i>\n```html\n<b># kept</b>\n```\n<!-- x";
    let expected = "### One\n#### User\n\\<script>alert(1)\\</script>\n`<b>` and ``a`<b>`` and `\\<i>\n\
                    ```html\n<b># kept</b>\n```\n\\<!-- x\n";
    assert_eq!(nested(text), expected);
}

/// The contents of the code blocks of a text, by the rules of `CommonMark` for fences that are not indented.
fn blocks(text: &str) -> Vec<String> {
    let (mut all, mut open): (Vec<String>, Option<usize>) = (Vec::new(), None);
    for line in text.lines() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match open {
            None if ticks >= 3 => {
                open = Some(ticks);
                all.push(String::new());
            }
            Some(length) if ticks >= length && line.trim_matches('`').trim().is_empty() => open = None,
            Some(_) => {
                let last = all.last_mut().unwrap();
                last.push_str(line);
                last.push('\n');
            }
            None => {}
        }
    }
    assert_eq!(open, None, "every fence is closed");
    all
}

proptest! {
    #[test]
    fn no_text_breaks_out_of_its_fence_or_code_span(text in "[a`~\n #<]{0,40}") {
        let whole = if text.is_empty() || text.ends_with('\n') { text.clone() } else { format!("{text}\n") };
        prop_assert_eq!(blocks(&fenced("text", &text)), [whole]);
        let span = code_span(&text);
        let ticks = span.len() - span.trim_start_matches('`').len();
        let inner = span.trim_matches('`');
        let runs: Vec<_> = inner.split(|ch| ch != '`').map(str::len).collect();
        prop_assert!(!span.contains('\n') && runs.iter().all(|run| *run != ticks || ticks == 0), "{}", span);
    }

    #[test]
    fn what_is_stored_is_what_is_exported(
        question in "[\\PC\n`\"<\\\\]{0,40}",
        answer in "[\\PC\n`\"<\\\\]{0,40}",
        printed in "[\\PC\n`\"<\\\\]{0,40}",
    ) {
        let log = log(&question, &answer, "ls", &printed);
        let file: Value = serde_json::from_str(&export(&log, ExportFormat::Json)).unwrap();
        let read: Vec<LogEntry> = serde_json::from_value(file["log"].clone()).unwrap();
        let text = |conversation: &Conversation, at: usize, part: usize| match &conversation.messages[at].parts[part] {
            Part::Text(text) => text.text.clone(),
            Part::ToolCall(call) => call.output.as_ref().unwrap().text.clone(),
            _ => panic!(),
        };
        let again = Conversation::of(&read);
        prop_assert_eq!(text(&again, 0, 0), question.clone());
        prop_assert_eq!(text(&again, 1, 1), answer.clone());
        prop_assert_eq!(text(&again, 1, 2), printed.clone());
        prop_assert_eq!(serde_json::to_value(&again.messages).unwrap(), file["messages"].clone());
        let notebook: Value = serde_json::from_str(&export(&log, ExportFormat::Notebook)).unwrap();
        let sources: Vec<_> = notebook["cells"].as_array().unwrap().iter().map(|cell| cell["source"].clone()).collect();
        prop_assert!(sources.contains(&json!(question)) && sources.contains(&json!(answer)));
        let markdown = export(&log, ExportFormat::Markdown);
        prop_assert!(markdown.contains(&fenced("text", &printed)) || printed.is_empty());
    }
}
