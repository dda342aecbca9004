//! Parsing server-sent events incrementally, whatever the chunks are.
//!
//! Large amounts of output come this way, so nothing is copied that is within one chunk: lines are found with
//! `memchr`, and an event's data is a slice of its chunk. Only a line that is cut by the end of a chunk is
//! assembled.

use bytes::{Buf, Bytes, BytesMut};

/// The largest event: 4 MiB of output, each byte of which may take six in JSON, with a margin.
const MAX_EVENT_BYTES: usize = 64 << 20;

/// A server-sent event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Message {
    /// The type; empty if none was given.
    pub(crate) event: Bytes,
    /// The data, with its lines joined.
    pub(crate) data: Bytes,
}

/// The event is larger than any that the server sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is larger than {MAX_EVENT_BYTES} bytes")]
pub(crate) struct TooLong;

/// Splits a stream of bytes into events.
#[derive(Debug, Default)]
pub(crate) struct Parser {
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
    /// Adds bytes; [`next`](Self::next) must have returned `None` before.
    pub(crate) fn push(&mut self, chunk: Bytes) {
        debug_assert!(self.chunk.is_empty(), "what came before has been read");
        self.chunk = chunk;
    }

    /// The next complete event.
    pub(crate) fn next(&mut self) -> Result<Option<Message>, TooLong> {
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
        if size + self.data.as_ref().map_or(0, Data::len) > MAX_EVENT_BYTES {
            return Err(TooLong);
        }
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
                if data.len() > MAX_EVENT_BYTES {
                    return Err(TooLong);
                }
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
