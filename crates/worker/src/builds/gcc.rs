//! Parses the output of `gcc -fdiagnostics-format=json`.

use headwater_protocol::build::{Diagnostic, Fix, MAX_DIAGNOSTICS, MAX_NOTES, Note, Range, Severity};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct GccMessage {
    kind: String,
    message: String,
    #[serde(default)]
    option: Option<String>,
    #[serde(default)]
    children: Vec<GccMessage>,
    #[serde(default)]
    locations: Vec<Location>,
    #[serde(default)]
    fixits: Vec<Fixit>,
}

#[derive(Debug, Deserialize)]
struct Location {
    caret: Point,
    start: Option<Point>,
    finish: Option<Point>,
}

#[derive(Debug, Deserialize)]
struct Fixit {
    start: Point,
    next: Point,
    string: String,
}

#[derive(Debug, Clone, Deserialize)]
struct Point {
    file: String,
    line: u32,
    #[serde(rename = "byte-column", default)]
    bytes: Option<u32>,
    #[serde(default)]
    column: u32,
}

impl Point {
    fn at(&self) -> u32 {
        self.bytes.unwrap_or(self.column)
    }
}

/// The diagnostics of gcc, or `None` if the text is something else. Plain lines before and after the JSON are skipped.
/// `name` maps a file name to the one for the user.
pub(crate) fn diagnostics(text: &str, name: &dyn Fn(&str) -> String) -> Option<Vec<Diagnostic>> {
    let message = text.lines().find_map(|line| {
        line.starts_with('[').then(|| serde_json::from_str::<Vec<GccMessage>>(line).ok()).flatten()
    })?;
    Some(message.into_iter().take(MAX_DIAGNOSTICS).map(|message| diagnostic(message, name)).collect())
}

fn diagnostic(message: GccMessage, name: &dyn Fn(&str) -> String) -> Diagnostic {
    let severity = match message.kind.as_str() {
        "error" | "fatal error" | "sorry, unimplemented" | "internal compiler error" => Severity::Error,
        "note" => Severity::Note,
        _ => Severity::Warning,
    };
    let note = |message: GccMessage| Note {
        at: range(&message.locations, name),
        message: message.message,
        fixes: message.fixits.into_iter().take(MAX_NOTES).map(|fixit| fix(fixit, name)).collect(),
    };
    Diagnostic {
        at: range(&message.locations, name),
        severity,
        message: message.message,
        option: message.option.map(|option| option.replacen("-Werror=", "-W", 1)),
        fixes: message.fixits.into_iter().take(MAX_NOTES).map(|fixit| fix(fixit, name)).collect(),
        notes: message.children.into_iter().take(MAX_NOTES).map(note).collect(),
    }
}

fn range(locations: &[Location], name: &dyn Fn(&str) -> String) -> Range {
    let Some(location) = locations.first() else {
        return Range::default();
    };
    let start = location.start.as_ref().unwrap_or(&location.caret);
    let last = location.finish.as_ref().unwrap_or(&location.caret);
    // The expansion of a macro may end before it begins, or in another file.
    let is_after = last.file == start.file && (last.line, last.at()) >= (start.line, start.at());
    let last = if is_after { last } else { start };
    Range {
        file: Some(name(&start.file)),
        line: start.line,
        column: start.at(),
        end_line: last.line,
        end_column: last.at().saturating_add(1),
    }
}

fn fix(fixit: Fixit, name: &dyn Fn(&str) -> String) -> Fix {
    let range = Range {
        file: Some(name(&fixit.start.file)),
        line: fixit.start.line,
        column: fixit.start.at(),
        end_line: fixit.next.line,
        end_column: fixit.next.at(),
    };
    Fix { range, text: fixit.string }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What gcc 12 prints for `return 0 }` and an unused variable.
    const SAMPLE: &str = r#"[{"kind": "error", "column-origin": 1, "children": [{"kind": "note", "message": "here", "locations": [], "children": []}], "fixits": [{"next": {"byte-column": 90, "display-column": 90, "line": 3, "file": "src/a.cpp", "column": 90}, "string": ";", "start": {"byte-column": 90, "display-column": 90, "line": 3, "file": "src/a.cpp", "column": 90}}], "locations": [{"caret": {"byte-column": 90, "display-column": 90, "line": 3, "file": "src/a.cpp", "column": 90}}, {"caret": {"byte-column": 91, "display-column": 91, "line": 3, "file": "src/a.cpp", "column": 91}}], "message": "expected ';' before '}' token", "escape-source": false}, {"kind": "warning", "locations": [{"finish": {"byte-column": 23, "display-column": 23, "line": 3, "file": "src/a.cpp", "column": 23}, "caret": {"byte-column": 18, "display-column": 18, "line": 3, "file": "src/a.cpp", "column": 18}}], "column-origin": 1, "option": "-Wunused-variable", "escape-source": false, "children": [], "message": "unused variable 'unused'"}]"#;

    #[test]
    fn gcc_messages_become_ranges_fixes_and_notes() {
        let text = format!("cc1plus: a plain line\n{SAMPLE}\ncompilation terminated.\n");
        let found = diagnostics(&text, &|file: &str| format!("/workspace/{file}")).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].severity, Severity::Error);
        assert_eq!((found[0].fixes[0].range.column, found[0].fixes[0].range.end_column), (90, 90));
        assert_eq!((found[0].fixes[0].text.as_str(), found[0].notes[0].message.as_str()), (";", "here"));
        let at = &found[1].at;
        assert_eq!((at.line, at.column, at.end_line, at.end_column), (3, 18, 3, 24));
        assert_eq!(at.file.as_deref(), Some("/workspace/src/a.cpp"));
        assert_eq!(found[1].option.as_deref(), Some("-Wunused-variable"));
    }

    #[test]
    fn a_truncated_or_unknown_message_is_no_diagnostic() {
        let name = |file: &str| file.to_owned();
        for text in ["", "[", "{}", "[1]", &SAMPLE[..SAMPLE.len() - 2], "a.cpp:1:1: error: x"] {
            assert_eq!(diagnostics(text, &name), None, "{text}");
        }
        assert_eq!(diagnostics("[]", &name), Some(Vec::new()));
    }
}
