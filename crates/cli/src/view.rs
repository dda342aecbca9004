//! Sessions and executions as shown: tables for people, objects in the shape of the native API for machines.

use headwater_protocol::api::{ExecutionBody, ExecutionStateName};
use headwater_protocol::{Command, Process, Reason, SandboxKind, Verdict};
use rustix::termios::isatty;
use serde::Serialize;
use serde_json::{Value, json};

use crate::escape::printable;
use crate::style::Style;
use crate::{signals, terminal};

/// Digits of an id in a table on a terminal: enough to be unique among millions.
const SHORT_ID: usize = "exe_".len() + 12;
/// The least that is shown of a command in a table on a terminal, however narrow it is.
const COMMAND_CHARS: usize = 20;

/// An execution or a session for machines: in the shape of the native API.
pub fn object(body: &impl Serialize) -> Value {
    serde_json::to_value(body).unwrap_or_default()
}

/// How an execution ended, if it has.
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

/// A process for machines.
pub fn process_json(process: &Process) -> Value {
    json!({ "pid": process.pid, "ppid": process.ppid, "name": process.name })
}

/// What an execution runs, on one line; what it says is data, so nothing in it can command the terminal.
pub fn command_line(command: &Command) -> String {
    match command {
        Command::Argv(argv) => argv.iter().map(|arg| quoted(arg)).collect::<Vec<_>>().join(" "),
        Command::Shell(line) => printable(line),
        Command::Code { language, code, .. } => format!("[{}] {}", printable(language), printable(code)),
    }
}

fn quoted(arg: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+^".contains(c); // none of them is escaped
    if !arg.is_empty() && arg.chars().all(plain) { arg.to_owned() } else { format!("'{}'", printable(arg)) }
}

/// An execution's state and, if it has ended, how.
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

/// The name of a session's walls, painted if there are none.
pub fn sandbox(kind: SandboxKind, style: Style) -> (String, String) {
    let name = kind.name().to_owned();
    let painted = if kind == SandboxKind::None { style.red(&name) } else { name.clone() };
    (name, painted)
}

/// Rows with columns of equal width. Long values are cut on a terminal only.
pub struct Table {
    style: Style,
    /// Of the terminal, if it is one.
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

    /// How to paint.
    pub const fn style(&self) -> Style {
        self.style
    }

    /// An id, cut on a terminal: its beginning is enough everywhere.
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

    /// Adds a row of values, each also as painted.
    pub fn painted_row(&mut self, cells: impl IntoIterator<Item = (String, String)>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The lines. On a terminal the last column is cut to what is left of its width.
    pub fn lines(&self) -> Vec<String> {
        let columns = self.rows.first().map_or(0, Vec::len);
        let whole = |row: &&Vec<_>| row.len() == columns; // a shorter row is a note below the one before it
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
        let room = self.width.map_or(usize::MAX, |width| width.saturating_sub(before).max(COMMAND_CHARS));
        self.rows.iter().map(|row| line(row, &widths, room)).collect()
    }
}

fn terminal_width() -> Option<usize> {
    isatty(rustix::stdio::stdout()).then(|| terminal::size().unwrap_or_default().cols.into())
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
#[path = "view_tests.rs"]
mod tests;
