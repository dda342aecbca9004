//! The cells of a message: lines that begin with `/run`, and fenced blocks of code.

use serde_json::{Value, json};

/// A tool call for a piece of a message.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell {
    pub(super) tool: &'static str,
    pub(super) input: Value,
}

/// Finds the cells of a message, in order.
pub(super) fn cells(text: &str) -> Vec<Cell> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some((fence, language)) = opening(line) {
            let code: Vec<&str> = lines.by_ref().take_while(|line| !closes(line, fence)).collect();
            found.extend(code_cell(language, &code.join("\n")));
        } else if let Some(command) = line.trim_start().strip_prefix("/run ") {
            found.push(terminal(command.trim()));
        }
    }
    found
}

/// The fence and the language of a line that begins a block.
fn opening(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let end = line.find(|ch| ch != mark).unwrap_or(line.len());
    let (fence, info) = line.split_at_checked(end).filter(|(fence, _)| fence.len() >= 3)?;
    // Code in a line, such as ```x```, is no fence.
    let is_fence = mark == '~' || !info.contains('`');
    is_fence.then(|| (fence, info.split_whitespace().next().unwrap_or_default()))
}

fn closes(line: &str, fence: &str) -> bool {
    let line = line.trim();
    line.len() >= fence.len() && line.starts_with(fence) && line.chars().all(|ch| fence.starts_with(ch))
}

fn code_cell(language: &str, code: &str) -> Option<Cell> {
    if code.trim().is_empty() {
        return None;
    }
    let run =
        |runtime: &str| Cell { tool: "code_execution", input: json!({"runtime": runtime, "code": code}) };
    Some(match language.to_ascii_lowercase().as_str() {
        "" | "sh" | "bash" | "shell" | "console" | "terminal" => terminal(code),
        "py" | "python" | "python3" => run("python"),
        "js" | "javascript" | "node" | "nodejs" => run("nodejs"),
        other => Cell { tool: "run_code", input: json!({"language": other, "code": code}) },
    })
}

fn terminal(code: &str) -> Cell {
    Cell { tool: "code_execution", input: json!({"runtime": "terminal", "code": code}) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(text: &str) -> Vec<(String, String)> {
        let pair = |cell: Cell| {
            let field = |name: &str| cell.input[name].as_str().map(str::to_owned);
            (field("runtime").or_else(|| field("language")).unwrap(), field("code").unwrap())
        };
        cells(text).into_iter().map(pair).collect()
    }

    fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    }

    #[test]
    fn run_lines_and_code_blocks_become_cells_in_order() {
        let text = "Look:\n/run ls -l\n```python\nprint(1)\n\nprint(2)\n```\nand ~~~ not\n  ~~~js title\nlet a = '```'\n~~~\n";
        let expected =
            pairs(&[("terminal", "ls -l"), ("python", "print(1)\n\nprint(2)"), ("nodejs", "let a = '```'")]);
        assert_eq!(runs(text), expected);
        assert_eq!(
            runs("```rust\nfn main() {}"),
            pairs(&[("rust", "fn main() {}")]),
            "an open fence ends with the text"
        );
        assert_eq!(runs("````\n```\nls\n```\n````"), pairs(&[("terminal", "```\nls\n```")]));
    }

    #[test]
    fn other_text_is_no_cell() {
        assert_eq!(runs("say /run x\n/running\n``not``\n```one line```\n```\n\n```\n"), []);
    }
}
