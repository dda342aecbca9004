//! The text that a model gets, with exact counts of what it does not contain.

use std::fmt::Write as _;
use std::ops::{AddAssign, Sub};

use super::{Cell, Position, tokens_of};

/// The size of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    /// Bytes of UTF-8.
    pub bytes: u64,
    /// Lines. For a part of a text: line ends.
    pub lines: u64,
}

impl Size {
    /// The size of a part of a text.
    pub(super) fn of(cells: &[Cell]) -> Self {
        let bytes: usize = cells.iter().map(|cell| cell.ch.len_utf8()).sum();
        let lines = cells.iter().filter(|cell| cell.ch == '\n').count();
        Self { bytes: bytes as u64, lines: lines as u64 }
    }

    /// The size of a part of a text.
    pub(super) fn of_text(text: &str) -> Self {
        Self { bytes: text.len() as u64, lines: text.matches('\n').count() as u64 }
    }

    /// The size in tokens, four bytes each, rounded up.
    pub const fn tokens(self) -> u64 {
        tokens_of(self.bytes)
    }
}

impl AddAssign for Size {
    fn add_assign(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.lines += other.lines;
    }
}

impl Sub for Size {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { bytes: self.bytes - other.bytes, lines: self.lines - other.lines }
    }
}

/// The part of a text between its head and its tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOut {
    /// Its size, as text.
    pub size: Size,
    /// The first byte in the log that belongs to it. Everything that was left out can be read from here.
    pub from: Position,
    /// The last character in the log that belongs to it.
    pub to: Position,
}

/// Output as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The beginning.
    pub head: String,
    /// The end; empty if the head is everything.
    pub tail: String,
    /// The size of the whole text, before the cut.
    pub total: Size,
    /// The part that was left out, if any.
    pub left_out: Option<LeftOut>,
}

impl Rendered {
    /// The head and the tail, with a marker between them if something was left out.
    pub fn body(&self) -> String {
        let mut text = self.head.clone();
        if let Some(left_out) = self.left_out {
            let _ = write!(text, "…{} tokens truncated…", left_out.size.tokens());
        }
        text.push_str(&self.tail);
        text
    }

    /// The text as models know it: the body, and if something was left out, a warning before it and after it
    /// the position from which the rest can be read.
    pub fn text(&self) -> String {
        self.text_with("")
    }

    /// The same, with arguments of `read_output` that name the execution, for example `session_id 4711, `.
    pub fn text_with(&self, arguments: &str) -> String {
        let Some(left_out) = self.left_out else { return self.body() };
        let mut text = format!(
            "Warning: truncated output (original token count: {})\nTotal output lines: {}\n\n{}",
            self.total.tokens(),
            self.total.lines,
            self.body(),
        );
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let _ = write!(
            text,
            "[left out: {} bytes, {} line ends; read them with read_output, {arguments}{}]",
            left_out.size.bytes,
            left_out.size.lines,
            left_out.arguments(),
        );
        text
    }
}

impl LeftOut {
    /// The arguments of `read_output` that name the first byte that was left out.
    pub fn arguments(&self) -> String {
        let after = self.from.seq.0.saturating_sub(1);
        match self.from.within() {
            0 => format!("after_seq {after}"),
            skip => format!("after_seq {after}, skip_bytes {skip}"),
        }
    }
}
