//! The table `execution_search`: what a search of executions reads instead of their rows.

use headwater_protocol::{Command, ExecutionId, StartSpec};

use super::{Select, Statement};
use crate::{ExecutionFilter, ExecutionKind};

/// How much of a command can be found.
const MAX_TEXT_BYTES: usize = 16 << 10;

/// Adds the entry of an execution that was added just before. Like the execution, the first one stays.
pub(super) fn put(id: ExecutionId, spec: &StartSpec) -> Statement {
    Statement::new(
        "INSERT INTO execution_search (number, kind, text) SELECT number, $2, $3 FROM executions WHERE id = $1 \
         ON CONFLICT (number) DO NOTHING",
        [id.to_string().into(), kind_of(spec).name().into(), text_of(&spec.command).into()],
    )
}

/// Replaces the text of an execution whose log was removed: its code may be part of that.
pub(super) fn shorten(id: ExecutionId, spec: &StartSpec) -> Statement {
    Statement::new(
        "UPDATE execution_search SET text = $2 WHERE number = \
         (SELECT number FROM executions WHERE id = $1 AND log_removed_at_ms IS NOT NULL)",
        [id.to_string().into(), text_of(&spec.command).into()],
    )
}

/// Adds the conditions that need this table. They are checked row by row.
pub(super) fn searched(select: Select, filter: &ExecutionFilter) -> Select {
    let select = match filter.kind {
        None => select,
        Some(kind) => select.within(
            "EXISTS (SELECT 1 FROM execution_search AS found WHERE found.number = executions.number \
             AND found.kind =",
            kind.name(),
            ")",
        ),
    };
    let Some(text) = filter.text.as_deref().map(normal) else { return select };
    let in_command = "(EXISTS (SELECT 1 FROM execution_search AS found WHERE found.number = executions.number \
                      AND instr(found.text,";
    let in_name = ") > 0) OR EXISTS (SELECT 1 FROM sessions WHERE sessions.id = executions.session_id \
                   AND instr(lower(sessions.name),";
    if text.starts_with("exe_") || text.starts_with("ses_") {
        // An id is found by its beginning: any few letters and digits are somewhere inside of many ids.
        let pieces = [in_command, in_name, ") > 0) OR instr(id,", ") = 1 OR instr(session_id,", ") = 1)"];
        return select.around(&pieces, &text);
    }
    select.around(&[in_command, in_name, ") > 0))"], &text)
}

/// Whether a filter has conditions that are checked row by row.
pub(crate) fn is_search(filter: &ExecutionFilter) -> bool {
    filter.kind.is_some() || filter.text.is_some()
}

fn kind_of(spec: &StartSpec) -> ExecutionKind {
    match &spec.command {
        Command::Code { .. } => ExecutionKind::Code,
        _ if spec.tty.is_some() => ExecutionKind::Terminal,
        Command::Shell(_) => ExecutionKind::Shell,
        Command::Argv(_) => ExecutionKind::Program,
    }
}

/// The part of a command that can be found.
fn text_of(command: &Command) -> String {
    let parts: Vec<&str> = match command {
        Command::Shell(line) => vec![line],
        Command::Argv(argv) => argv.iter().map(String::as_str).collect(),
        Command::Code { code, file, args, .. } => {
            let more = file.iter().chain(args).map(String::as_str);
            std::iter::once(code.as_str()).chain(more).collect()
        }
    };
    let mut text = String::new();
    for part in parts {
        let left = MAX_TEXT_BYTES.saturating_sub(text.len());
        text += part.get(..part.floor_char_boundary(left)).unwrap_or_default();
        text.push(' ');
        if left <= part.len() {
            break;
        }
    }
    normal(&text)
}

/// Lower case, with one space for each run of white space.
fn normal(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_one_line_in_lower_case_and_bounded() {
        let argv = Command::Argv(vec!["Make".into(), " -j\t2 ".into(), "ÄÖ".into()]);
        assert_eq!(text_of(&argv), "make -j 2 äö");
        let code = Command::Code {
            language: "python".into(),
            code: "import os\n\n  Print(1)\n".into(),
            file: Some("Main.py".into()),
            args: vec!["x".into()],
        };
        assert_eq!(text_of(&code), "import os print(1) main.py x");
        let long = Command::Argv(vec!["é".repeat(MAX_TEXT_BYTES), "more".into()]);
        assert_eq!(text_of(&long).len(), MAX_TEXT_BYTES);
        let many = Command::Argv(vec!["ab".into(); MAX_TEXT_BYTES]);
        assert!(text_of(&many).len() <= MAX_TEXT_BYTES + 1);
    }
}
