//! One page of output: from a position up to a size, or the lines that match a pattern.

mod lines;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use headwater_protocol::{Event, EventKind, Seq, Stream};
use regex::bytes::Regex;

use self::lines::Lines;
use crate::output::{Budget, End, Options, Output, Secrets};

/// A place in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The last event before it.
    pub(super) after: Seq,
    /// Bytes between that event and the place.
    pub(super) skip: u64,
}

/// How a page is read.
#[derive(Debug)]
pub(super) struct PageOptions {
    pub(super) max_bytes: usize,
    pub(super) pattern: Option<Regex>,
    pub(super) keep_ansi: bool,
    pub(super) secrets: Arc<Secrets>,
}

impl PageOptions {
    fn text(&self, bytes: usize) -> Options {
        let (keep_ansi, secrets) = (self.keep_ansi, Arc::clone(&self.secrets));
        // Masks can be longer than what they cover.
        Options { budget: Budget::bytes(8 * bytes as u64 + 4096), keep_ansi, secrets, start_offset: 0 }
    }
}

/// A page that is being filled.
#[derive(Debug)]
pub(super) struct Page {
    place: Place,
    /// The beginning of a character whose end has not come yet, and its place.
    begun: Vec<u8>,
    begun_at: Place,
    is_full: bool,
    missing_bytes: u64,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Text(Box<Text>),
    Lines(Lines),
}

/// What a page contains.
#[derive(Debug)]
pub(super) struct Filled {
    pub(super) text: String,
    /// Where the next page begins.
    pub(super) next: Place,
    /// Whether it ended because of its size.
    pub(super) is_full: bool,
    pub(super) missing_bytes: u64,
    /// Matching lines and all lines, if a pattern was given.
    pub(super) lines: Option<(u64, u64)>,
}

impl Page {
    pub(super) fn new(place: Place, options: PageOptions) -> Self {
        let content = match options.pattern.clone() {
            Some(pattern) => Content::Lines(Lines::new(pattern, options)),
            None => Content::Text(Box::new(Text::new(place, &options))),
        };
        Self { place, begun: Vec::new(), begun_at: place, is_full: false, missing_bytes: 0, content }
    }

    /// The event after which to read on.
    pub(super) const fn after(&self) -> Seq {
        self.place.after
    }

    /// Adds an event. Returns whether there is room for more.
    pub(super) fn take(&mut self, event: &Event) -> bool {
        match &event.kind {
            EventKind::Output { stream, bytes, .. } => self.output(*stream, event.seq, bytes),
            EventKind::Gap { from_byte, to_byte, .. } => {
                self.missing_bytes += to_byte.saturating_sub(*from_byte);
                self.place.after = self.place.after.max(event.seq);
            }
            _ => self.place.after = self.place.after.max(event.seq),
        }
        !self.is_full
    }

    fn output(&mut self, stream: Stream, seq: Seq, bytes: &[u8]) {
        let Place { after, skip } = self.place;
        let skipped = usize::try_from(skip).unwrap_or(usize::MAX).min(bytes.len());
        let fresh = bytes.get(skipped..).unwrap_or_default();
        let used = match &mut self.content {
            Content::Text(text) => text.push(stream, after.next(), fresh),
            Content::Lines(lines) => lines.push(stream, fresh),
        };
        let inside = |bytes: usize| Place { after, skip: (skipped + bytes) as u64 };
        self.note_begun(fresh.get(..used).unwrap_or_default(), inside);
        self.is_full = used < fresh.len();
        self.place =
            if self.is_full { inside(used) } else { Place { after: seq, skip: skip - skipped as u64 } };
    }

    /// Notes where the last character begins if its end has not come.
    fn note_begun(&mut self, used: &[u8], inside: impl Fn(usize) -> Place) {
        self.begun.extend_from_slice(used);
        let begun = begun_bytes(&self.begun);
        if begun <= used.len() {
            self.begun_at = inside(used.len() - begun);
        }
        self.begun.drain(..self.begun.len() - begun);
    }

    /// Renders the page. `is_final`: nothing follows in the log.
    pub(super) fn finish(self, is_final: bool) -> Filled {
        let is_end = is_final && !self.is_full;
        let next = if is_end || self.begun.is_empty() { self.place } else { self.begun_at };
        let (text, lines) = match self.content {
            Content::Text(text) => {
                (text.output.finish(if is_end { End::Closed } else { End::Open }).0.body(), None)
            }
            Content::Lines(lines) => lines.finish(self.is_full),
        };
        Filled { text, next, is_full: self.is_full, missing_bytes: self.missing_bytes, lines }
    }
}

/// A page of text.
#[derive(Debug)]
struct Text {
    output: Output,
    room: usize,
}

impl Text {
    fn new(place: Place, options: &PageOptions) -> Self {
        let is_beginning = place.after == Seq(0) && place.skip == 0;
        // Any other page may begin in the middle of a secret.
        let start_offset = u64::from(!is_beginning);
        let text = Options { start_offset, ..options.text(options.max_bytes) };
        Self { output: Output::new(&text), room: options.max_bytes }
    }

    /// Adds bytes; returns how many were used.
    fn push(&mut self, stream: Stream, seq: Seq, bytes: &[u8]) -> usize {
        let used = if bytes.len() <= self.room { bytes.len() } else { cut(bytes, self.room) };
        self.output.push(stream, seq, bytes.get(..used).unwrap_or_default());
        self.room = self.room.saturating_sub(used);
        used
    }
}

/// Where to cut: after a line if that is not far, otherwise between two characters.
fn cut(bytes: &[u8], room: usize) -> usize {
    let fits = bytes.get(..room).unwrap_or(bytes);
    let line = fits.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    if line > room / 2 { line } else { fits.len() - begun_bytes(fits) }
}

/// The bytes at the end that begin a character without completing it.
fn begun_bytes(bytes: &[u8]) -> usize {
    for (before, byte) in bytes.iter().rev().take(3).enumerate() {
        let needed = match byte {
            0x80..=0xbf => continue,
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ => 1,
        };
        return if before + 1 < needed { before + 1 } else { 0 };
    }
    0
}
