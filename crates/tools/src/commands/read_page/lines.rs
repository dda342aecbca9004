//! The lines of an output that match a pattern.

use headwater_protocol::{Seq, Stream};
use regex::bytes::Regex;

use super::super::matcher::plain;
use super::PageOptions;
use crate::output::{End, Output};

/// The longest line that a pattern is compared with as a whole, in bytes. Longer ones are compared in parts.
const MAX_LINE_BYTES: usize = 64 << 10;

/// The lines that match a pattern.
#[derive(Debug)]
pub(super) struct Lines {
    pattern: Regex,
    options: PageOptions,
    /// The line that each stream has begun.
    begun: [Vec<u8>; Stream::ALL.len()],
    text: String,
    matching: u64,
    all: u64,
}

impl Lines {
    pub(super) fn new(pattern: Regex, options: PageOptions) -> Self {
        Self { pattern, options, begun: Default::default(), text: String::new(), matching: 0, all: 0 }
    }

    /// Adds bytes; returns how many were used.
    pub(super) fn push(&mut self, stream: Stream, bytes: &[u8]) -> usize {
        let Some(begun) = self.begun.get_mut(stream as usize - 1) else { return bytes.len() };
        let mut begun = std::mem::take(begun);
        let mut used = 0;
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            begun.extend_from_slice(piece);
            used += piece.len();
            if begun.ends_with(b"\n") || begun.len() > MAX_LINE_BYTES {
                self.line(&begun);
                begun.clear();
            }
            if self.text.len() >= self.options.max_bytes {
                break;
            }
        }
        if let Some(place) = self.begun.get_mut(stream as usize - 1) {
            *place = begun;
        }
        used
    }

    fn line(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let text = self.clean(line);
        self.all += 1;
        // The masked text is compared: a pattern must not find out a secret.
        if self.pattern.is_match(&plain(text.as_bytes())) {
            self.matching += 1;
            self.text.push_str(&text);
            self.text.push('\n');
        }
    }

    fn clean(&self, line: &[u8]) -> String {
        let is_plain = line.iter().all(|&byte| byte >= b' ' && byte != 0x7f || byte == b'\t');
        if is_plain && self.options.secrets.is_empty() {
            return String::from_utf8_lossy(line).into_owned();
        }
        let mut output = Output::new(&self.options.text(line.len()));
        output.push(Stream::Output, Seq(1), line);
        output.finish(End::Closed).0.body()
    }

    pub(super) fn finish(mut self, is_full: bool) -> (String, Option<(u64, u64)>) {
        let begun = std::mem::take(&mut self.begun);
        if !is_full {
            begun.iter().filter(|line| !line.is_empty()).for_each(|line| self.line(line));
        }
        (self.text, Some((self.matching, self.all)))
    }
}
