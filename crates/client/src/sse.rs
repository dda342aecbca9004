//! Reading server-sent events: incremental, over bytes, whatever the chunks are.
//!
//! A flood of output comes this way, so nothing is copied that lies in one chunk: lines are found with `memchr`, and an
//! event's data is a slice of the chunk it came in. Only a line that is cut by a chunk's end is put together.

use bytes::{Buf, Bytes, BytesMut};

/// The largest event that is read: 4 MiB of output, each byte of which may be six of JSON, and a good deal more.
const MAX_EVENT_BYTES: usize = 64 << 20;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Message {
    /// Its type; empty if none was given.
    pub(crate) event: Bytes,
    /// Its data, the lines joined.
    pub(crate) data: Bytes,
}

/// An event is larger than any that is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is larger than {MAX_EVENT_BYTES} bytes")]
pub(crate) struct TooLong;

/// Cuts a stream of bytes into events.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    /// What has come and is not yet read.
    chunk: Bytes,
    /// The beginning of a line whose end has not come.
    cut: BytesMut,
    /// The last line ended with a CR: an LF that follows belongs to it.
    after_cr: bool,
    /// The first line, which may begin with a byte order mark, has been read.
    begun: bool,
    event: Bytes,
    data: Option<Data>,
}

#[derive(Debug)]
enum Data {
    /// As it came.
    Line(Bytes),
    /// Put together.
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
    /// Takes what has come; [`next`](Self::next) must have answered with `None` before.
    pub(crate) fn push(&mut self, chunk: Bytes) {
        debug_assert!(self.chunk.is_empty(), "what came before has been read");
        self.chunk = chunk;
    }

    /// The next whole event of what has come.
    pub(crate) fn next(&mut self) -> Result<Option<Message>, TooLong> {
        while let Some(line) = self.next_line()? {
            if !line.is_empty() {
                self.field(&line)?;
                continue;
            }
            let event = std::mem::take(&mut self.event);
            // An event without data is none, says the standard.
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
        // A line that begins with a colon is a comment, and a name that is not known is passed over. `id` is among
        // those: an event's data has its seq.
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
#[path = "sse_tests.rs"]
mod tests;
