//! Output by its bytes instead of its events: which of them are kept, and reading from any one on.
//!
//! All streams together are one sequence of bytes too, in the order in which they came: the ends in a record's mark add
//! up to a place in it, so a place is found by halving there as well.

use std::sync::Arc;

use bytes::Bytes;
use headwater_protocol::{EventKind, Seq, Stream};

use super::files::read_full;
use super::marks::{Ends, Mark};
use super::reader::{Reader, ReaderOptions};
use super::{Log, LogError};

/// The most that is read at once. As in `follow.rs`, what is read and not yet taken is held a few times over.
const PIECE_BYTES: usize = 64 << 10;

/// Which bytes of an output are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Bytes that were written, kept or not.
    pub end: u64,
    /// The first byte that is no longer kept, and the first one after those.
    pub gap: (u64, u64),
    /// Whether nothing more will come.
    pub closed: bool,
    /// The newest record.
    pub last_seq: Seq,
}

fn place(ends: &Ends, stream: Option<Stream>) -> u64 {
    stream.map_or_else(|| ends.total(), |stream| ends.of(stream))
}

/// Reads a range of an output's bytes.
#[derive(Debug)]
pub struct ByteReader {
    log: Arc<Log>,
    stream: Option<Stream>,
    at: u64,
    to: u64,
    /// Where all streams are read as one: the events, and how far they have come.
    events: Option<(Reader, u64)>,
}

impl Log {
    /// Which bytes of a stream are kept now; of all streams as one, without a stream.
    pub fn kept(&self, stream: Option<Stream>) -> Kept {
        let view = self.state.borrow().view;
        let gap =
            view.trim.map_or((0, 0), |trim| (place(&trim.head.ends, stream), place(&trim.tail.ends, stream)));
        Kept { end: place(&view.last.ends, stream), gap, closed: view.closed, last_seq: Seq(view.last.seq) }
    }

    /// Reads bytes `from..to` of what was written by now.
    pub fn bytes(self: &Arc<Self>, stream: Option<Stream>, from: u64, to: u64) -> ByteReader {
        let to = to.min(self.kept(stream).end);
        ByteReader { log: Arc::clone(self), stream, at: from, to, events: None }
    }
}

impl ByteReader {
    /// The next bytes, none after the last one. Bytes that are not kept (any more) are an error.
    pub fn read_next(&mut self) -> Result<Option<Bytes>, LogError> {
        if self.at >= self.to {
            return Ok(None);
        }
        let bytes = match self.stream {
            Some(stream) => self.of_one(stream)?,
            None => self.of_all()?,
        };
        self.at += bytes.len() as u64;
        Ok(Some(bytes))
    }

    fn of_one(&self, stream: Stream) -> Result<Bytes, LogError> {
        let path = || self.log.files.path(stream.name());
        let short = || LogError::corrupt(&path(), "it is shorter than the index says");
        let wanted = usize::try_from(self.to - self.at).unwrap_or(usize::MAX).min(PIECE_BYTES);
        let raw = self.log.files.raw(stream)?.ok_or_else(short)?;
        let bytes = read_full(raw, wanted, self.at).map_err(|e| LogError::io("read", &path(), e))?;
        // Looked at after reading: what was read may be a hole by then.
        let (gone_from, gone_to) = self.log.kept(Some(stream)).gap;
        if gone_from < self.at + wanted as u64 && self.at < gone_to {
            return Err(LogError::NotKept { from: gone_from, to: gone_to });
        }
        if bytes.len() < wanted {
            return Err(short());
        }
        Ok(bytes.into())
    }

    fn of_all(&mut self) -> Result<Bytes, LogError> {
        loop {
            let (reader, come_to) = match &mut self.events {
                Some(events) => events,
                None => self.events.insert(open(&self.log, self.at)?),
            };
            let event = reader.try_next()?.ok_or(LogError::NotKept { from: self.at, to: self.to })?;
            match event.kind {
                EventKind::Output { bytes, .. } => {
                    let begin = self.at.saturating_sub(*come_to).min(bytes.len() as u64);
                    let end = (self.to - *come_to).min(bytes.len() as u64);
                    *come_to += bytes.len() as u64;
                    if begin < end {
                        return Ok(bytes.slice(cut(begin)..cut(end)));
                    }
                }
                EventKind::Gap { from_byte, to_byte, .. } => {
                    return Err(LogError::NotKept { from: from_byte, to: to_byte });
                }
                _ => {}
            }
        }
    }
}

fn cut(position: u64) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

/// A reader of all events whose next output has this byte in it, and the place of the first byte that it will read.
fn open(log: &Arc<Log>, at: u64) -> Result<(Reader, u64), LogError> {
    let view = log.state.borrow().view;
    let mut low = Mark::default();
    let mut high = view.last.seq;
    if let Some(trim) = view.trim {
        // Records in the gap cannot be looked at.
        if at < trim.head.ends.total() {
            high = trim.head.seq;
        } else if at < trim.tail.ends.total() {
            return Err(LogError::NotKept { from: at, to: trim.tail.ends.total() });
        } else {
            low = trim.tail;
        }
    }
    let mark = log.files.last_where(low, high, |mark| mark.ends.total() <= at)?;
    let options = ReaderOptions { max_bytes: PIECE_BYTES, ..ReaderOptions::default() };
    Ok((log.reader(Seq(mark.seq), options), mark.ends.total()))
}
