//! Sessions and executions as output: tables, and JSON objects in the format of the native API.

use std::io::IsTerminal;

use headwater_protocol::api::{ExecutionBody, ExecutionStateName};
use headwater_protocol::{Command, Process, Reason, SandboxKind, Verdict};
use serde::Serialize;
use serde_json::{Value, json};

use crate::escape::printable;
use crate::style::Style;
use crate::{signals, terminal};

/// Characters of an id in a table on a terminal: unique among millions.
const SHORT_ID: usize = "exe_".len() + 12;
/// The least width of the last column on a terminal, however narrow it is.
const LAST_COLUMN_MIN: usize = 20;

/// An execution or a session as JSON, in the format of the native API.
pub fn object(body: &impl Serialize) -> Value {
    serde_json::to_value(body).unwrap_or_default()
}

/// A field of a JSON object as text; empty if it is not a text.
pub fn field<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap_or_default()
}

/// The verdict of an execution, if it has ended.
pub fn verdict(execution: &ExecutionBody) -> Option<Verdict> {
    let exit = execution.exit.clone()?;
    Some(Verdict {
        reason: exit.reason,
        code: exit.code,
        signal: exit.signal,
        message: exit.message,
        detail: exit.detail,
        duration_ms: execution.duration_ms.unwrap_or_default(),
        usage: execution.usage.unwrap_or_default(),
        stdout_bytes: execution.stdout_bytes,
        stderr_bytes: execution.stderr_bytes,
        output_bytes: execution.output_bytes,
    })
}

/// A process as JSON.
pub fn process_json(process: &Process) -> Value {
    json!({ "pid": process.pid, "ppid": process.ppid, "name": process.name })
}

/// The command of an execution on one line, escaped.
pub fn command_line(command: &Command) -> String {
    match command {
        Command::Argv(argv) => argv.iter().map(|arg| quoted(arg)).collect::<Vec<_>>().join(" "),
        Command::Shell(line) => printable(line),
        Command::Code { language, code, .. } => format!("[{}] {}", printable(language), printable(code)),
    }
}

fn quoted(arg: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+^".contains(c); // none of these is escaped
    if !arg.is_empty() && arg.chars().all(plain) { arg.to_owned() } else { format!("'{}'", printable(arg)) }
}

/// The state of an execution and, if it has ended, how: plain and with colour.
pub fn state(execution: &ExecutionBody, style: Style) -> (String, String) {
    let Some(exit) = &execution.exit else {
        let name = if execution.state == ExecutionStateName::Queued { "queued" } else { "running" };
        return (name.to_owned(), style.green(name));
    };
    let how = match (exit.reason, exit.code, exit.signal) {
        (Reason::Exited, Some(code), _) => format!("exited {code}"),
        (Reason::Signalled, _, Some(signal)) => signals::name(signal),
        (reason, ..) => reason.name().replace('_', " "),
    };
    let open = if execution.state == ExecutionStateName::Exited { " (open)" } else { "" };
    let text = format!("{how}{open}");
    let painted = if exit.code == Some(0) { text.clone() } else { style.red(&text) };
    (text, painted)
}

/// The sandbox of a session: plain, and with colour if there is none.
pub fn sandbox(kind: SandboxKind, style: Style) -> (String, String) {
    let name = kind.name().to_owned();
    let painted = if kind == SandboxKind::None { style.red(&name) } else { name.clone() };
    (name, painted)
}

/// A table with aligned columns. Long values are cut on a terminal only.
pub struct Table {
    style: Style,
    /// Columns of the terminal, if the output is one.
    width: Option<usize>,
    rows: Vec<Vec<(String, String)>>,
}

impl Table {
    /// A table with these headings.
    pub fn new(headings: &[&str]) -> Self {
        let style = Style::of_stdout();
        let headings = headings.iter().map(|heading| ((*heading).to_owned(), style.bold(heading)));
        Self { style, width: terminal_width(), rows: vec![headings.collect()] }
    }

    /// The style of the output.
    pub const fn style(&self) -> Style {
        self.style
    }

    /// An id, shortened on a terminal: commands accept a prefix.
    pub fn id(&self, id: &impl ToString) -> String {
        let mut id = id.to_string();
        if self.width.is_some() {
            id.truncate(SHORT_ID);
        }
        id
    }

    /// Adds a row of plain values.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.painted_row(cells.into_iter().map(|cell| (cell.clone(), cell)));
    }

    /// Adds a row of values, each plain and with colour.
    pub fn painted_row(&mut self, cells: impl IntoIterator<Item = (String, String)>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The lines of the table. On a terminal the last column is cut to the remaining width.
    pub fn lines(&self) -> Vec<String> {
        let columns = self.rows.first().map_or(0, Vec::len);
        let whole = |row: &&Vec<_>| row.len() == columns; // a shorter row is a note on the previous row
        let width = |at: usize| {
            self.rows
                .iter()
                .filter(whole)
                .filter_map(|row| row.get(at))
                .map(|cell| cell.0.chars().count())
                .max()
        };
        let widths: Vec<usize> = (0..columns).map(|at| width(at).unwrap_or(0)).collect();
        let before: usize = widths.iter().rev().skip(1).map(|width| width + 2).sum();
        let room = self.width.map_or(usize::MAX, |width| width.saturating_sub(before).max(LAST_COLUMN_MIN));
        self.rows.iter().map(|row| line(row, &widths, room)).collect()
    }
}

fn terminal_width() -> Option<usize> {
    std::io::stdout().is_terminal().then(|| terminal::size().unwrap_or_default().cols.into())
}

fn line(row: &[(String, String)], widths: &[usize], room: usize) -> String {
    let mut line = String::new();
    for (at, (plain, painted)) in row.iter().enumerate() {
        let last = at + 1 == row.len();
        if last && row.len() == widths.len() && plain.chars().count() > room {
            line.extend(plain.chars().take(room - 1).chain(['…']));
            continue;
        }
        line += painted;
        if !last {
            let width = widths.get(at).copied().unwrap_or(0);
            line += &" ".repeat(width.saturating_sub(plain.chars().count()) + 2);
        }
    }
    line
}

#[cfg(test)]
mod tests;
