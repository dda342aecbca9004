//! Searches one file for matching lines.

use std::io::{self, Read};

use bytes::Bytes;
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder, Sink, SinkFinish, SinkMatch};
use headwater_contract::v1;

/// The longest line, which is kept in memory: files with longer lines are skipped.
const MAX_LINE_BYTES: usize = 4 << 20;
/// The most bytes of a line that are returned.
const MAX_SHOWN_BYTES: usize = 400;
/// The bytes before a match that are returned, if it is far into a line.
const MAX_CONTEXT_BYTES: usize = 80;

/// Searches a file.
pub(crate) struct Lines<'a, F> {
    matcher: &'a RegexMatcher,
    path: Bytes,
    found: F,
    binary: bool,
}

impl<'a, F: FnMut(v1::SearchMatch) -> bool> Lines<'a, F> {
    pub(crate) const fn new(matcher: &'a RegexMatcher, path: Bytes, found: F) -> Self {
        Self { matcher, path, found, binary: false }
    }

    /// Reports matching lines. Returns whether the file could be read and is text.
    pub(crate) fn search(&mut self, file: impl Read) -> bool {
        let mut searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_LINE_BYTES))
            .memory_map(MmapChoice::never()) // a program that truncates the file would kill the worker
            .line_number(true)
            .build();
        let done = searcher.search_reader(self.matcher, file, &mut *self);
        done.is_ok() && !self.binary
    }
}

impl<F: FnMut(v1::SearchMatch) -> bool> Sink for &mut Lines<'_, F> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let line = found.bytes();
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let at = self.matcher.find(line).map_err(|error| io::Error::other(error.to_string()))?;
        let (start, end) = at.map_or((0, 0), |at| (at.start(), at.end()));
        let from = if end <= MAX_SHOWN_BYTES { 0 } else { start.saturating_sub(MAX_CONTEXT_BYTES) };
        let shown = line.get(from..line.len().min(from + MAX_SHOWN_BYTES)).unwrap_or_default();
        Ok((self.found)(v1::SearchMatch {
            path: self.path.clone(),
            kind: v1::FileKind::File.into(),
            line: found.line_number().unwrap_or(0),
            column: start as u64 + 1,
            text: shown.to_vec().into(),
            text_offset: from as u64,
            text_truncated: shown.len() < line.len(),
        }))
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}
