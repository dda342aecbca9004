//! Reads output by byte ranges instead of events, and reports which bytes are kept.
//!
//! All streams together are one sequence of bytes too, in the order of arrival: the ends of a position add up to an
//! offset in it, so an offset is found by binary search there as well.

use std::sync::Arc;

use bytes::Bytes;
use headwater_protocol::{EventKind, Seq, Stream};

use super::files::read_full;
use super::positions::{Ends, Position};
use super::reader::{Reader, ReaderOptions};
use super::{Log, LogError};

/// The bytes of one read. As in `follow.rs`, a slow reader keeps several copies of them in memory.
const PIECE_BYTES: usize = 64 << 10;

/// Which bytes of an output are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Bytes that were written, kept or not.
    pub end: u64,
    /// The first byte that is no longer kept, and the first one after the gap.
    pub gap: (u64, u64),
    /// Whether the log is closed.
    pub closed: bool,
    /// The newest record.
    pub last_seq: Seq,
}

fn offset_of(ends: &Ends, stream: Option<Stream>) -> u64 {
    stream.map_or_else(|| ends.total(), |stream| ends.of(stream))
}

/// Reads a range of an output's bytes.
#[derive(Debug)]
pub struct ByteReader {
    log: Arc<Log>,
    stream: Option<Stream>,
    at: u64,
    to: u64,
    /// For all streams as one: the reader of events, and the offset that it has reached.
    events: Option<(Reader, u64)>,
}

impl Log {
    /// Which bytes of a stream are kept now, or of all streams as one.
    pub fn kept(&self, stream: Option<Stream>) -> Kept {
        let view = self.state.borrow().view;
        let gap = view
            .trim
            .map_or((0, 0), |trim| (offset_of(&trim.head.ends, stream), offset_of(&trim.tail.ends, stream)));
        Kept {
            end: offset_of(&view.last.ends, stream),
            gap,
            closed: view.closed,
            last_seq: Seq(view.last.seq),
        }
    }

    /// Reads the bytes `from..to`, as far as they are written now.
    pub fn bytes(self: &Arc<Self>, stream: Option<Stream>, from: u64, to: u64) -> ByteReader {
        let to = to.min(self.kept(stream).end);
        ByteReader { log: Arc::clone(self), stream, at: from, to, events: None }
    }
}

impl ByteReader {
    /// The next bytes; `None` after the last one. Bytes that are not kept are an error.
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
        let short = || LogError::corrupt(&path(), "it is shorter than the index requires");
        let wanted = usize::try_from(self.to - self.at).unwrap_or(usize::MAX).min(PIECE_BYTES);
        let raw = self.log.files.raw(stream)?.ok_or_else(short)?;
        let bytes = read_full(raw, wanted, self.at).map_err(|e| LogError::io("read", &path(), e))?;
        // Checked after the read: the bytes may have been dropped during it.
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
            let (reader, reached) = match &mut self.events {
                Some(events) => events,
                None => self.events.insert(open(&self.log, self.at)?),
            };
            let event = reader.try_next()?.ok_or(LogError::NotKept { from: self.at, to: self.to })?;
            match event.kind {
                EventKind::Output { bytes, .. } => {
                    let begin = self.at.saturating_sub(*reached).min(bytes.len() as u64);
                    let end = (self.to - *reached).min(bytes.len() as u64);
                    *reached += bytes.len() as u64;
                    if begin < end {
                        return Ok(bytes.slice(to_index(begin)..to_index(end)));
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

fn to_index(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

/// A reader of all events whose next output contains the byte `at`, and the offset of the first byte that it reads.
fn open(log: &Arc<Log>, at: u64) -> Result<(Reader, u64), LogError> {
    let view = log.state.borrow().view;
    let mut low = Position::default();
    let mut high = view.last.seq;
    if let Some(trim) = view.trim {
        // Records in the gap cannot be read.
        if at < trim.head.ends.total() {
            high = trim.head.seq;
        } else if at < trim.tail.ends.total() {
            return Err(LogError::NotKept { from: at, to: trim.tail.ends.total() });
        } else {
            low = trim.tail;
        }
    }
    let position = log.files.last_where(low, high, |position| position.ends.total() <= at)?;
    let options = ReaderOptions { max_bytes: PIECE_BYTES, ..ReaderOptions::default() };
    Ok((log.reader(Seq(position.seq), options), position.ends.total()))
}
