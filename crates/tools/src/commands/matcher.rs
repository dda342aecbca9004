//! Searches for a pattern in output as it arrives, with bounded memory and time.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

use crate::error::ToolError;

/// The memory of a compiled pattern, in bytes: it refuses patterns like `(a{1000}){1000}`.
const MAX_PATTERN_BYTES: usize = 1 << 20;
/// Earlier output that is searched together with new output, so that a pattern can span lines.
const OVERLAP_BYTES: usize = 1 << 10;
/// The part of a line without an end that is searched.
const MAX_LINE_BYTES: usize = 64 << 10;
/// The part of a matching line that is shown, in bytes.
const SHOWN_BYTES: usize = 200;

/// Control sequences. Colours in the middle of a word must not hide it from a pattern.
static CONTROL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let csi = r"\x1b\[[0-?]*[ -/]*[@-~]";
    let text = r"\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)";
    RegexBuilder::new(&format!("{csi}|{text}|\\x1b[ -/]*[0-Z\\\\^-~]")).unicode(false).build().ok()
});

/// Compiles a pattern of a call. `^` and `$` match at lines.
pub(super) fn compile(field: &str, pattern: &str) -> Result<Regex, ToolError> {
    let built = RegexBuilder::new(pattern)
        .multi_line(true)
        .crlf(true)
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_BYTES)
        .build();
    built.map_err(|error| {
        let message = format!("{field}: the pattern is not a valid regex: {error}");
        ToolError::new(message)
            .hint("Escape special characters with a backslash; look-around is not supported")
    })
}

/// Removes control sequences.
pub(super) fn plain(text: &[u8]) -> Cow<'_, [u8]> {
    match &*CONTROL {
        Some(control) if text.contains(&0x1b) => control.replace_all(text, &b""[..]),
        _ => Cow::Borrowed(text),
    }
}

/// A pattern and the output before the one that arrives next.
#[derive(Debug)]
pub(super) struct Matcher {
    pattern: Regex,
    window: Vec<u8>,
}

impl Matcher {
    pub(super) fn new(pattern: Regex) -> Self {
        Self { pattern, window: Vec::new() }
    }

    /// Adds output. Returns the line with the first match.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Option<String> {
        self.window.extend_from_slice(bytes);
        let text = plain(&self.window);
        let found = self.pattern.find(&text).map(|found| line_around(&text, found.start()));
        self.trim();
        found
    }

    /// Keeps the line that has no end yet and a little before it, from the beginning of a line.
    fn trim(&mut self) {
        let length = self.window.len();
        let line = self.window.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let mut start = line.min(length.saturating_sub(OVERLAP_BYTES));
        if start > 0 && start < line {
            let rest = self.window.get(start - 1..line).unwrap_or_default();
            start += rest.iter().position(|&byte| byte == b'\n').unwrap_or(0);
        }
        self.window.drain(..start.max(length.saturating_sub(MAX_LINE_BYTES)));
    }
}

fn line_around(text: &[u8], at: usize) -> String {
    let (before, after) = text.split_at(at.min(text.len()));
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let end = after.iter().position(|&byte| byte == b'\n').map_or(text.len(), |end| at + end);
    let line = String::from_utf8_lossy(text.get(start..end).unwrap_or_default());
    line.trim()
        .chars()
        .filter(|ch| !ch.is_control() && *ch != char::REPLACEMENT_CHARACTER)
        .take(SHOWN_BYTES)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, pieces: &[&str]) -> Option<String> {
        let mut matcher = Matcher::new(compile("match", pattern).unwrap());
        pieces.iter().find_map(|piece| matcher.push(piece.as_bytes()))
    }

    #[test]
    fn a_match_is_found_wherever_the_output_is_divided() {
        let text = "starting\n\u{1b}[32mserver é is \u{1b}[1mready\u{1b}[0m\r\nbye\n";
        for pattern in ["é is ready", "^server .* ready$", r"starting\nserver"] {
            for cut in 0..=text.len() {
                let (first, second) = text.as_bytes().split_at(cut);
                let mut matcher = Matcher::new(compile("match", pattern).unwrap());
                let line = matcher.push(first).or_else(|| matcher.push(second));
                assert!(line.is_some(), "{pattern} cut at {cut}");
            }
        }
        assert_eq!(found("is ready", &[text]).unwrap(), "server é is ready");
    }

    #[test]
    fn the_beginning_of_a_line_is_not_where_old_output_was_dropped() {
        let long = format!("{} ready\n", "x".repeat(3 * OVERLAP_BYTES));
        assert_eq!(found("^ready", &["a\n", &long, "b\n", &"y".repeat(OVERLAP_BYTES), "\n"]), None);
        assert_eq!(found("^ready", &["a\n", &long, "ready\n"]).as_deref(), Some("ready"));
    }

    #[test]
    fn memory_is_bounded_and_a_huge_pattern_is_refused() {
        let mut matcher = Matcher::new(compile("match", "never").unwrap());
        for _ in 0..1000 {
            matcher.push(&[b'x'; 1000]);
            matcher.push(b"x\n");
        }
        assert!(matcher.window.len() <= MAX_LINE_BYTES);
        for pattern in ["(a{1000}){1000}", "(", "(?=x)"] {
            let error = compile("match", pattern).unwrap_err().to_string();
            assert!(error.starts_with("match: ") && error.contains("Escape"), "{error}");
        }
    }
}
