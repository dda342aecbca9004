//! Lines of a file as text for a model: `L<n>: text`.

use std::fmt::Write as _;

/// The longest line that is shown, in bytes; the rest is left out with a note.
pub(super) const MAX_LINE_BYTES: usize = 2000;
/// The longest result, in bytes: 10,000 tokens, as of the other tools. The rest is read with `offset`.
const MAX_TEXT_BYTES: usize = 40_000;

/// Collects lines of a file that arrives in pieces. Memory is bounded whatever the file contains.
#[derive(Debug)]
pub(super) struct Slice {
    /// The first line that is wanted, from 1.
    first: u64,
    limit: u64,
    /// The line that the next byte belongs to, from 1.
    line: u64,
    /// The beginning of the current line, and its whole length.
    start: Vec<u8>,
    length: u64,
    text: String,
    /// Lines in `text`.
    shown: u64,
    /// A line in `text` has bytes that are not UTF-8.
    lossy: bool,
    /// The text is as long as a model can read.
    full: bool,
}

impl Slice {
    pub(super) fn new(first: u64, limit: u64) -> Self {
        Self {
            first,
            limit,
            line: 1,
            start: Vec::new(),
            length: 0,
            text: String::new(),
            shown: 0,
            lossy: false,
            full: false,
        }
    }

    /// Adds the next bytes of the file.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(at) = memchr::memchr(b'\n', rest) {
            self.extend(&rest[..at]);
            self.end_line();
            rest = &rest[at + 1..];
        }
        self.extend(rest);
    }

    /// Whether every wanted line is complete.
    pub(super) const fn is_complete(&self) -> bool {
        self.full || self.shown >= self.limit
    }

    fn extend(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if self.line >= self.first && !self.is_complete() {
            let room = (MAX_LINE_BYTES + 1).saturating_sub(self.start.len());
            self.start.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    fn end_line(&mut self) {
        if self.line >= self.first && !self.is_complete() {
            let (text, lossy) = line_text(&self.start, self.length);
            // Writing to a string cannot fail.
            let _ = writeln!(self.text, "L{}: {text}", self.line);
            self.lossy |= lossy;
            self.shown += 1;
            self.full = self.text.len() >= MAX_TEXT_BYTES;
        }
        self.start.clear();
        self.length = 0;
        self.line += 1;
    }

    /// The end of the file: its last line may have no line end. Returns the number of lines.
    pub(super) fn finish(&mut self) -> u64 {
        if self.length > 0 {
            self.end_line();
        }
        self.line - 1
    }

    /// The result. `total` is the number of lines of the file, if it is known.
    pub(super) fn into_text(mut self, total: Option<u64>) -> String {
        if self.text.ends_with('\n') {
            self.text.pop();
        }
        let next = self.first + self.shown;
        let last = next - 1;
        match total {
            Some(total) if total >= next => {
                let first = self.first;
                let _ =
                    write!(self.text, "\n[Lines {first} to {last} of {total}. Read on with offset {next}.]");
            }
            None => {
                let _ = write!(self.text, "\n[More lines follow. Read on with offset {next}.]");
            }
            Some(_) => {}
        }
        if self.lossy {
            self.text.push_str(NOT_TEXT);
        }
        self.text
    }
}

/// The note for bytes that a model cannot see.
pub(super) const NOT_TEXT: &str =
    "\n[Bytes that are not UTF-8 are shown as U+FFFD. Change such lines with a program.]";

/// A line that begins with these bytes and is this long; and whether bytes of it are not UTF-8.
pub(super) fn line_text(start: &[u8], length: u64) -> (String, bool) {
    let is_cut = length > MAX_LINE_BYTES as u64 && start.len() > MAX_LINE_BYTES;
    if !is_cut {
        let line = start.strip_suffix(b"\r").unwrap_or(start);
        let text = String::from_utf8_lossy(line);
        let lossy = matches!(text, std::borrow::Cow::Owned(_));
        return (text.into_owned(), lossy);
    }
    let kept = &start[..char_boundary(start, MAX_LINE_BYTES)];
    let text = String::from_utf8_lossy(kept);
    let lossy = matches!(text, std::borrow::Cow::Owned(_));
    let left_out = length - kept.len() as u64;
    (format!("{text} [line cut: {left_out} more bytes]"), lossy)
}

/// The end of the last whole character at or before a position.
fn char_boundary(bytes: &[u8], at: usize) -> usize {
    // A character has at most three bytes after its first one.
    let is_inside = |at: &usize| bytes.get(*at).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000);
    (at.saturating_sub(3)..=at).rev().find(|at| !is_inside(at)).unwrap_or(at)
}
