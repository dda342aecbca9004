//! Masks secrets before a text is cut, so that no cut leaves a part of one.

use std::fmt;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};

use super::Cell;

/// The shortest value that is masked, and the shortest part of one at the edge of a text, in bytes. Shorter
/// ones occur in ordinary text: masking them would destroy it, and would show the value by its places.
const MIN_BYTES: usize = 4;
/// The shortest line of a secret with several lines that is masked by itself, in bytes.
const MIN_LINE_BYTES: usize = 16;
/// The text that is searched at once, in bytes, besides the length of the longest secret.
const BLOCK_BYTES: usize = 4096;

/// The secrets cannot be searched for: they are too large.
#[derive(Debug, thiserror::Error)]
#[error("the secrets of the session are too large to be masked: {0}")]
pub struct SecretsError(#[from] aho_corasick::BuildError);

/// Values that a text must not contain, each with the name that it is replaced by.
#[derive(Default)]
pub struct Secrets {
    search: Option<AhoCorasick>,
    values: Vec<Secret>,
    /// The length of the longest one, in bytes.
    longest: usize,
}

struct Secret {
    value: String,
    mark: String,
}

/// Without the values: debug output ends in logs.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").field("count", &self.values.len()).finish_non_exhaustive()
    }
}

impl Secrets {
    /// Takes pairs of a name and a value. Values of less than four bytes are not masked.
    pub fn new<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, SecretsError> {
        let mut secrets = Vec::new();
        for (name, value) in pairs {
            let mark = format!("[{name} masked]");
            let mut add = |value: &str| {
                if value.len() >= MIN_BYTES {
                    secrets.push(Secret { value: value.to_owned(), mark: mark.clone() });
                }
            };
            add(value);
            // Programs print a value without the line end that a file had, and terminals print CR LF.
            let trimmed = value.trim_end_matches(['\r', '\n']);
            if trimmed.len() < value.len() {
                add(trimmed);
            }
            if trimmed.contains('\n') {
                let unix = trimmed.replace("\r\n", "\n");
                add(&unix.replace('\n', "\r\n"));
                add(&unix);
                // A file is shown with a number before each line, and `head` prints some of them.
                unix.lines().map(str::trim).filter(|line| line.len() >= MIN_LINE_BYTES).for_each(add);
            }
        }
        let longest = secrets.iter().map(|secret| secret.value.len()).max().unwrap_or(0);
        let search = if secrets.is_empty() {
            None
        } else {
            let values = secrets.iter().map(|secret| &secret.value);
            Some(AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(values)?)
        };
        Ok(Self { search, values: secrets, longest })
    }

    /// Masks the secrets in a whole text.
    pub fn mask(&self, text: &str) -> String {
        let Some(search) = &self.search else { return text.to_owned() };
        let marks: Vec<&str> = self.values.iter().map(|secret| secret.mark.as_str()).collect();
        search.replace_all(text, &marks)
    }

    /// Whether a text contains one.
    pub fn are_in(&self, text: &str) -> bool {
        self.search.as_ref().is_some_and(|search| search.is_match(text))
    }

    /// The length of the longest one, in bytes. A part of an output that is to be masked must begin and end this
    /// far outside of what is wanted.
    pub const fn longest(&self) -> usize {
        self.longest
    }

    /// Whether nothing is masked.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The longest end of a secret that `text` begins with: its length and its mark.
    fn end_at_start(&self, text: &str) -> Option<(usize, &str)> {
        self.parts(|value| {
            let ends = value.char_indices().skip(1).filter_map(|(at, _)| value.get(at..));
            ends.take_while(|end| end.len() >= MIN_BYTES).find(|end| text.starts_with(end)).map(str::len)
        })
    }

    /// The longest beginning of a secret that `text` ends with: its length and its mark.
    fn start_at_end(&self, text: &str) -> Option<(usize, &str)> {
        self.parts(|value| {
            let starts = value.char_indices().rev().filter_map(|(at, _)| value.get(..at));
            starts
                .take_while(|start| start.len() >= MIN_BYTES)
                .find(|start| text.ends_with(start))
                .map(str::len)
        })
    }

    /// The mark of a secret that `text` is a part of.
    fn around(&self, text: &str) -> Option<&str> {
        let whole = self.values.iter().find(|secret| secret.value.contains(text))?;
        (text.len() >= MIN_BYTES).then_some(whole.mark.as_str())
    }

    fn parts(&self, part: impl Fn(&str) -> Option<usize>) -> Option<(usize, &str)> {
        let parts =
            self.values.iter().filter_map(|secret| Some((part(&secret.value)?, secret.mark.as_str())));
        parts.max_by_key(|&(length, _)| length)
    }
}

/// Replaces secrets in a stream of cells. It holds back as much as the longest secret needs.
#[derive(Debug)]
pub(super) struct Mask {
    secrets: Arc<Secrets>,
    held: Vec<Cell>,
    text: String,
    /// The stream may begin inside a secret, and nothing was passed on yet.
    is_inside: bool,
}

impl Mask {
    /// `is_inside`: the stream does not begin where the output begins.
    pub(super) fn new(secrets: Arc<Secrets>, is_inside: bool) -> Self {
        Self { secrets, held: Vec::new(), text: String::new(), is_inside }
    }

    pub(super) fn push(&mut self, cells: &[Cell], out: &mut impl FnMut(&[Cell])) {
        if self.secrets.search.is_none() {
            return out(cells);
        }
        for &cell in cells {
            self.hold(cell, out);
        }
    }

    fn hold(&mut self, cell: Cell, out: &mut impl FnMut(&[Cell])) {
        self.held.push(cell);
        self.text.push(cell.ch);
        let longest = self.secrets.longest;
        if self.text.len() >= 2 * longest + BLOCK_BYTES {
            // Matches that begin before this byte are complete, because the longest one would be.
            self.pass(self.text.len() - longest, None, out);
        }
    }

    /// Passes everything on. `more_follows`: the text may end inside a secret.
    pub(super) fn finish(mut self, more_follows: bool, out: &mut impl FnMut(&[Cell])) {
        let secrets = Arc::clone(&self.secrets);
        let whole = if self.is_inside { secrets.around(&self.text) } else { None };
        let begun = match whole {
            _ if !more_follows => None,
            Some(mark) => Some((self.text.len(), mark)),
            None => secrets.start_at_end(&self.text),
        };
        self.pass(self.text.len(), begun, out);
    }

    /// Passes on the text before `limit`, and matches that begin before it. `begun`: the length and the mark
    /// of the beginning of a secret at the end of the text.
    fn pass(&mut self, limit: usize, begun: Option<(usize, &str)>, out: &mut impl FnMut(&[Cell])) {
        let secrets = Arc::clone(&self.secrets);
        let Some(search) = &secrets.search else { return };
        let mut spans = Vec::new();
        if std::mem::take(&mut self.is_inside)
            && let Some((length, mark)) = secrets.end_at_start(&self.text)
        {
            spans.push((0, length, mark));
        }
        for found in search.find_iter(&self.text).take_while(|found| found.start() < limit) {
            let mark =
                secrets.values.get(found.pattern().as_usize()).map_or("", |secret| secret.mark.as_str());
            spans.push((found.start(), found.end(), mark));
        }
        if let Some((length, mark)) = begun {
            spans.push((self.text.len() - length, self.text.len(), mark));
        }
        spans.sort_by_key(|&(start, ..)| start);
        let done = replace(&self.held, &spans, limit, out);
        let bytes: usize = self.held.drain(..done).map(|cell| cell.ch.len_utf8()).sum();
        self.text.drain(..bytes);
    }
}

/// Passes on cells, with a mark in place of each span of bytes; spans that overlap become one. Returns the
/// number of cells that were used: those before `limit` and those of the spans.
fn replace(
    cells: &[Cell],
    spans: &[(usize, usize, &str)],
    limit: usize,
    out: &mut impl FnMut(&[Cell]),
) -> usize {
    let mut spans = spans.iter().peekable();
    let (mut byte, mut masked_to) = (0, 0);
    for (index, &cell) in cells.iter().enumerate() {
        while let Some(&(_, end, mark)) = spans.next_if(|&&(start, ..)| start <= byte) {
            if byte >= masked_to && end > byte {
                mark.chars().for_each(|ch| out(&[Cell { ch, at: cell.at }]));
            }
            masked_to = masked_to.max(end);
        }
        if byte >= masked_to {
            if byte >= limit {
                return index;
            }
            out(&[cell]);
        }
        byte += cell.ch.len_utf8();
    }
    cells.len()
}
