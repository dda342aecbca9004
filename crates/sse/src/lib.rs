//! Parsing server-sent events incrementally, whatever the chunks are.
//!
//! Large amounts of output come this way, so nothing is copied that is within one chunk: lines are found with
//! `memchr`, and an event's data is a slice of its chunk. Only a line that is cut by the end of a chunk is
//! assembled.

use bytes::{Buf, Bytes, BytesMut};

/// A server-sent event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// The type; empty if none was given.
    pub event: Bytes,
    /// The data, with its lines joined.
    pub data: Bytes,
}

/// The event is larger than the reader expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is larger than {max_bytes} bytes")]
pub struct TooLong {
    /// The bound of the parser.
    pub max_bytes: usize,
}

/// Splits a stream of bytes into events.
#[derive(Debug)]
pub struct Parser {
    /// The largest event.
    max_bytes: usize,
    /// Bytes that have come and are not parsed yet.
    chunk: Bytes,
    /// The beginning of a line whose end has not come.
    cut: BytesMut,
    /// Whether the last line ended with a CR: a following LF belongs to it.
    after_cr: bool,
    /// Whether the first line, which may begin with a byte order mark, has been parsed.
    begun: bool,
    event: Bytes,
    data: Option<Data>,
}

#[derive(Debug)]
enum Data {
    /// A slice of the chunk.
    Line(Bytes),
    /// Assembled from several lines.
    Lines(BytesMut),
}

impl Data {
    fn len(&self) -> usize {
        match self {
            Self::Line(line) => line.len(),
            Self::Lines(lines) => lines.len(),
        }
    }

    fn and(self, line: &[u8]) -> Self {
        let mut lines = match self {
            Self::Line(first) => BytesMut::from(&first[..]),
            Self::Lines(lines) => lines,
        };
        lines.reserve(line.len() + 1);
        lines.extend_from_slice(b"\n");
        lines.extend_from_slice(line);
        Self::Lines(lines)
    }

    fn join(self) -> Bytes {
        match self {
            Self::Line(line) => line,
            Self::Lines(lines) => lines.freeze(),
        }
    }
}

impl Parser {
    /// A parser that refuses larger events than this.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            chunk: Bytes::new(),
            cut: BytesMut::new(),
            after_cr: false,
            begun: false,
            event: Bytes::new(),
            data: None,
        }
    }

    /// Adds bytes; [`next`](Self::next) must have returned `None` before.
    pub fn push(&mut self, chunk: Bytes) {
        debug_assert!(self.chunk.is_empty(), "what came before has been read");
        self.chunk = chunk;
    }

    /// The next complete event.
    #[allow(clippy::should_implement_trait, reason = "it returns `None` between two chunks, too")]
    pub fn next(&mut self) -> Result<Option<Message>, TooLong> {
        while let Some(line) = self.next_line()? {
            if !line.is_empty() {
                self.field(&line)?;
                continue;
            }
            let event = std::mem::take(&mut self.event);
            // By the standard, an event without data is ignored.
            if let Some(data) = self.data.take() {
                return Ok(Some(Message { event, data: data.join() }));
            }
        }
        Ok(None)
    }

    fn next_line(&mut self) -> Result<Option<Bytes>, TooLong> {
        if self.chunk.is_empty() {
            return Ok(None);
        }
        if std::mem::take(&mut self.after_cr) && self.chunk[0] == b'\n' {
            self.chunk.advance(1);
        }
        let end = memchr::memchr2(b'\n', b'\r', &self.chunk);
        let size = self.cut.len() + end.unwrap_or(self.chunk.len());
        self.check(size + self.data.as_ref().map_or(0, Data::len))?;
        let Some(end) = end else {
            self.cut.extend_from_slice(&self.chunk);
            self.chunk.clear();
            return Ok(None);
        };
        let mut line = self.chunk.split_to(end);
        self.after_cr = self.chunk[0] == b'\r';
        self.chunk.advance(1);
        if !self.cut.is_empty() {
            self.cut.extend_from_slice(&line);
            line = self.cut.split().freeze();
        }
        if !std::mem::replace(&mut self.begun, true) && line.starts_with(b"\xEF\xBB\xBF") {
            line.advance(3);
        }
        Ok(Some(line))
    }

    fn check(&self, size: usize) -> Result<(), TooLong> {
        if size > self.max_bytes { Err(TooLong { max_bytes: self.max_bytes }) } else { Ok(()) }
    }

    fn field(&mut self, line: &Bytes) -> Result<(), TooLong> {
        let colon = memchr::memchr(b':', line);
        let value = || {
            let from = colon.map_or(line.len(), |at| at + 1);
            let from = if line.get(from) == Some(&b' ') { from + 1 } else { from };
            line.slice(from..)
        };
        // A line that begins with a colon is a comment, and unknown names are ignored. `id` is among those:
        // the event's data contains its seq.
        match &line[..colon.unwrap_or(line.len())] {
            b"data" => {
                let value = value();
                let data = match self.data.take() {
                    None => Data::Line(value),
                    Some(data) => data.and(&value),
                };
                self.check(data.len())?;
                self.data = Some(data);
            }
            b"event" => self.event = value(),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
