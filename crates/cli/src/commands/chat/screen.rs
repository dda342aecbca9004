//! What the person sees: the answer on standard output, everything else on standard error, and at the end of it, on a
//! terminal, one line that changes: what happens now, and what is being typed.

mod keys;
mod line;

use std::collections::VecDeque;
use std::io::IsTerminal;

use bytes::Bytes;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub use self::keys::{Key, Keys};
pub use self::line::Line;
use crate::error::CommandError;
use crate::output::{Printer, Target};
use crate::style::Style;
use crate::{escape, terminal};

/// The columns if nobody knows.
const COLUMNS: usize = 80;
/// Erases the line that changes.
const ERASE: &str = "\r\u{1b}[K";

/// The output. Nothing is written before [`Screen::flush`], so that a slow reader delays no key.
pub struct Screen {
    printer: Printer,
    queue: VecDeque<(Target, Bytes)>,
    /// Whether the terminal, if there is one, is at the beginning of a line.
    is_fresh: bool,
    /// The line that changes, as it is on the terminal.
    drawn: Option<String>,
    is_terminal: bool,
    /// The style of notes.
    pub style: Style,
}

impl Screen {
    /// The output of this process.
    pub fn new() -> Self {
        Self {
            printer: Printer::start(),
            queue: VecDeque::new(),
            is_fresh: true,
            drawn: None,
            is_terminal: std::io::stderr().is_terminal(),
            style: Style::of_stderr(),
        }
    }

    /// Adds to the answer. Whatever is in the text, it cannot control the terminal.
    pub fn answer(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.push(Target::Stdout, escape::lines(text).into_owned());
        if std::io::stdout().is_terminal() {
            self.is_fresh = text.ends_with('\n');
        }
    }

    /// Ends the line of the answer, if it has begun one.
    pub fn end_line(&mut self) {
        if !self.is_fresh {
            self.answer("\n");
        }
    }

    /// Adds a note, which is escaped and may be coloured.
    pub fn note(&mut self, line: &str) {
        self.end_line();
        self.push(Target::Stderr, format!("{line}\n"));
    }

    /// Adds a line of JSON.
    pub fn json(&mut self, line: &str) {
        self.push(Target::Stdout, format!("{line}\n"));
    }

    /// Shows this as the line that changes, or none. Only on a terminal, and not within a line of the answer.
    pub fn bottom(&mut self, line: Option<String>) {
        let line = line.filter(|_| self.is_terminal && self.is_fresh);
        if line == self.drawn {
            return;
        }
        self.erase();
        if let Some(line) = line {
            self.queue.push_back((Target::Stderr, line.clone().into()));
            self.drawn = Some(line);
        }
    }

    /// Sends a sequence to the terminal, if there is one.
    pub fn control(&mut self, sequence: &'static str) {
        if self.is_terminal {
            self.queue.push_back((Target::Stderr, Bytes::from_static(sequence.as_bytes())));
        }
    }

    fn erase(&mut self) {
        if self.drawn.take().is_some() {
            self.control(ERASE);
        }
    }

    fn push(&mut self, to: Target, text: String) {
        self.erase();
        self.queue.push_back((to, text.into()));
    }

    /// Whether something waits to be written.
    pub fn is_behind(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Writes what waits. Cancelling this loses nothing.
    pub async fn flush(&mut self) -> Result<(), CommandError> {
        while let Some((to, bytes)) = self.queue.front().cloned() {
            self.printer.print(to, bytes).await?;
            self.queue.pop_front();
        }
        Ok(())
    }

    /// Writes everything.
    pub async fn finish(mut self) -> Result<(), CommandError> {
        self.bottom(None);
        self.end_line();
        self.flush().await?;
        self.printer.finish().await
    }

    /// The columns of the terminal.
    #[allow(clippy::unused_self, reason = "it is about the terminal of this screen")]
    pub fn columns(&self) -> usize {
        terminal::size().map_or(COLUMNS, |size| usize::from(size.cols).max(20))
    }
}

/// The beginning of a text that fits into so many columns.
pub fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1; // for the ellipsis
    for ch in text.chars() {
        used += ch.width().unwrap_or(0);
        if used > columns {
            break;
        }
        kept.push(ch);
    }
    kept + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_by_the_columns_that_it_takes() {
        assert_eq!(cut("hello", 5), "hello");
        assert_eq!(cut("hello!", 5), "hell…");
        assert_eq!(cut("日本語日本語", 6), "日本…");
    }

    #[tokio::test]
    async fn the_line_that_changes_is_erased_before_anything_else_is_written() {
        let mut screen = Screen { is_terminal: true, ..Screen::new() };
        screen.bottom(Some("> a".into()));
        screen.bottom(Some("> a".into()));
        screen.note("note");
        screen.bottom(Some("> a".into()));
        let texts: Vec<_> = screen.queue.iter().map(|(_, text)| String::from_utf8_lossy(text)).collect();
        assert_eq!(texts, ["> a", ERASE, "note\n", "> a"]);
        screen.queue.clear();
        screen.is_fresh = false;
        screen.bottom(Some("> b".into()));
        assert_eq!((screen.queue.len(), screen.drawn), (1, None), "not within a line of the answer");
    }
}
