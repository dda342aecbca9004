//! Readers: from any position, at any pace, with a bounded buffer.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use headwater_protocol::{Event, EventKind, Seq, Stream, Verdict};
use tokio::sync::watch;

use super::files::read_full;
use super::lossless::LosslessReader;
use super::positions::{Ends, Position, Streams};
use super::record::{Body, Record};
use super::state::{State, View};
use super::{Log, LogError};

/// Index records are read in blocks of at most this many (8 KiB).
const BLOCK_RECORDS: u64 = 128;

/// Records of excluded streams that are skipped to make one event larger.
const MAX_SKIPPED_RECORDS: u32 = 128;

/// What a reader returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReaderOptions {
    /// Consecutive output of a stream comes in one event up to this size. A single record is never divided (but for
    /// the first of a tail), and may be larger (up to 1 MiB).
    pub max_bytes: usize,
    /// Output that was written later than this after the first of an event comes in an event of its own, so that it
    /// keeps its time.
    pub max_join: Duration,
    /// Begin so that this many bytes (of the included streams) are left to read, and report the rest as a gap.
    pub tail: Option<u64>,
    /// The streams to return.
    pub streams: Streams,
}

impl Default for ReaderOptions {
    fn default() -> Self {
        Self { max_bytes: 256 << 10, max_join: Duration::MAX, tail: None, streams: Streams::ALL }
    }
}

/// One reader of a log.
///
/// Resuming after the seq of any event that was delivered continues exactly there.
#[derive(Debug)]
pub struct Reader {
    pub(crate) log: Arc<Log>,
    changes: watch::Receiver<State>,
    pub(crate) options: ReaderOptions,
    /// The last record that was delivered or skipped.
    pub at: u64,
    /// The ends of the streams there, if known.
    pub ends: Option<Ends>,
    /// The time of the last event, also used for gaps.
    pub at_ms: u64,
    /// Events to deliver before the next record, such as gaps. A handful at most.
    pub due: VecDeque<Event>,
    pub(crate) skip: Skip,
    /// The record whose beginning was skipped too: it is delivered from the end of its stream in [`Self::ends`] on.
    pub begins_inside: Option<u64>,
    block: Block,
    /// Keeps unread output from being dropped, if the reader is lossless.
    hold: Option<LosslessReader>,
}

/// Whether the reader has skipped ahead to the tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Skip {
    Wanted,
    Done,
}

/// Index records that were read ahead.
#[derive(Debug, Default)]
struct Block {
    first: u64,
    bytes: Vec<u8>,
}

impl Reader {
    pub(crate) fn new(
        log: Arc<Log>,
        changes: watch::Receiver<State>,
        after: Seq,
        options: ReaderOptions,
    ) -> Self {
        let view = log.state.borrow().view;
        Self {
            // Determined now, so that a gap is exact even if records are dropped before the first read.
            ends: ends_at(&log, &view, after.0),
            log,
            changes,
            options,
            at: after.0,
            at_ms: 0,
            due: VecDeque::new(),
            skip: if options.tail.is_some() { Skip::Wanted } else { Skip::Done },
            begins_inside: None,
            block: Block::default(),
            hold: None,
        }
    }

    /// Makes the reader lossless from its position on.
    pub fn hold(mut self) -> Result<Self, LogError> {
        let ends = match (self.ends, self.log.state.borrow().view.trim) {
            (Some(ends), _) => ends,
            (None, trim) => trim.map(|trim| trim.tail.ends).unwrap_or_default(),
        };
        self.hold = Some(self.log.lossless.register(Position { seq: self.at, ends }.cost())?);
        Ok(self)
    }

    /// The next event, if there is one now. Reads files, so it may block for a moment.
    pub fn try_next(&mut self) -> Result<Option<Event>, LogError> {
        if self.hold.as_ref().is_some_and(LosslessReader::is_dropped) {
            return Err(LogError::TooSlow);
        }
        loop {
            let view = self.log.state.borrow().view;
            match self.step(&view) {
                Ok(Step::Again) => {}
                Ok(Step::Event(event)) => {
                    self.at_ms = event.at_ms;
                    return Ok(Some(event));
                }
                Ok(Step::Nothing) => return Ok(None),
                Err(error @ LogError::Corrupt { .. }) => {
                    // A record or bytes may have been dropped while they were read.
                    self.block = Block::default();
                    if self.log.state.borrow().view.trim == view.trim {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for the next event. `None` at the end: after `closed`, or if the log has no writer any more. Dropping the
    /// future loses nothing.
    pub async fn next(&mut self) -> Result<Option<Event>, LogError> {
        loop {
            if let Some(event) = self.try_next()? {
                return Ok(Some(event));
            }
            // Only records that are written after this line wake the task, so check once more before waiting.
            let view = self.changes.borrow_and_update().view;
            if self.at < view.last.seq {
                continue;
            }
            if view.closed || !view.writer || self.changes.changed().await.is_err() {
                return Ok(None);
            }
        }
    }

    /// Whether the verdict was read, or lies before the position where the reader began.
    pub fn is_past_verdict(&self) -> bool {
        self.due.is_empty()
            && self.log.state.borrow().view.exited.is_some_and(|verdict| verdict.seq <= self.at)
    }

    /// Whether the log has its last record.
    pub fn is_complete(&self) -> bool {
        self.log.state.borrow().view.closed
    }

    fn step(&mut self, view: &View) -> Result<Step, LogError> {
        if let Some(event) = self.due.pop_front() {
            return Ok(Step::Event(event));
        }
        if self.skip == Skip::Wanted {
            self.skip_to_tail_of(view)?;
            self.skip = Skip::Done;
            return Ok(Step::Again);
        }
        if self.at >= view.last.seq {
            self.block = Block::default(); // an idle reader keeps no buffer
            return Ok(Step::Nothing);
        }
        let seq = self.at + 1;
        if let Some(trim) = view.trimmed(seq) {
            self.skip_to(trim.tail, view)?;
            return Ok(Step::Again);
        }
        let record = self.record(seq, view)?;
        let kind = match record.body {
            Body::Output { stream, .. } if !self.options.streams.has(stream) => {
                self.move_to(record.position(seq));
                return Ok(Step::Again);
            }
            Body::Output { stream, length } => return self.output(view, record, stream, length),
            Body::Started { pid } => EventKind::Started { execution_id: self.log.id(), pid },
            Body::Exited(_) => match self.verdict() {
                Some(kind) => kind,
                None => {
                    return Err(LogError::corrupt(&self.log.files.path("index"), "it has a second verdict"));
                }
            },
            Body::Closed => EventKind::Closed,
        };
        self.move_to(record.position(seq));
        let at_ms = view.since_start_ms(record.at_us);
        Ok(Step::Event(Event { seq: Seq(seq), at_ms, kind }))
    }

    pub(crate) fn verdict(&self) -> Option<EventKind> {
        let verdict = self.log.state.borrow().verdict.clone()?;
        Some(EventKind::Exited(Verdict::clone(&verdict)))
    }

    pub(crate) fn move_to(&mut self, position: Position) {
        self.at = position.seq;
        self.ends = Some(position.ends);
        if let Some(hold) = &self.hold {
            hold.move_to(position.cost());
        }
    }

    /// The output of the next record and of those that are joined with it, in one read.
    fn output(&mut self, view: &View, first: Record, stream: Stream, length: u32) -> Result<Step, LogError> {
        let first_seq = self.at + 1;
        let end = first.ends.of(stream);
        let mut offset = end - u64::from(length);
        if self.begins_inside == Some(first_seq) {
            offset = self.ends.map_or(offset, |ends| ends.of(stream).clamp(offset, end));
        }
        let (last_seq, last) = self.extend(view, (first_seq, first), stream, offset);
        let wanted = usize::try_from(last.ends.of(stream) - offset).unwrap_or(usize::MAX);
        let path = || self.log.files.path(stream.name());
        let short = || LogError::corrupt(&path(), "it is shorter than the index requires");
        let raw = self.log.files.raw(stream)?.ok_or_else(short)?;
        let bytes = read_full(raw, wanted, offset).map_err(|e| LogError::io("read", &path(), e))?;
        let trim = self.log.state.borrow().view.trim;
        if trim.is_some_and(|trim| trim.overlaps(first_seq, last_seq)) {
            return Ok(Step::Again); // the bytes may have been dropped during the read
        }
        if bytes.len() < wanted {
            return Err(short());
        }
        self.move_to(last.position(last_seq));
        let bytes = Bytes::from(bytes);
        Ok(Step::Event(Event {
            seq: Seq(last_seq),
            at_ms: view.since_start_ms(last.at_us),
            kind: EventKind::Output { stream, offset, bytes },
        }))
    }

    /// The last of the records that are joined with `found` in one event.
    fn extend(
        &mut self,
        view: &View,
        mut found: (u64, Record),
        stream: Stream,
        offset: u64,
    ) -> (u64, Record) {
        let (mut seq, mut skipped) = (found.0, 0);
        let max_join_us = u64::try_from(self.options.max_join.as_micros()).unwrap_or(u64::MAX);
        let until_us = found.1.at_us.saturating_add(max_join_us);
        while seq < view.last.seq && skipped < MAX_SKIPPED_RECORDS {
            seq += 1;
            if view.trimmed(seq).is_some() {
                break;
            }
            // The next event reports a damaged record.
            let Ok(record) = self.record(seq, view) else { break };
            match record.body {
                Body::Output { stream: other, length } if other == stream => {
                    let end = record.ends.of(stream);
                    let joins = end.checked_sub(u64::from(length)) == Some(found.1.ends.of(stream));
                    let is_later = record.at_us >= until_us;
                    if !joins || is_later || end - offset > self.options.max_bytes as u64 {
                        break;
                    }
                    found = (seq, record);
                }
                Body::Output { stream: other, .. } if !self.options.streams.has(other) => skipped += 1,
                _ => break,
            }
        }
        found
    }

    /// A record, from the block that was read ahead if it is in it.
    pub fn record(&mut self, seq: u64, view: &View) -> Result<Record, LogError> {
        let cached = |block: &Block| {
            let offset = usize::try_from(seq.checked_sub(block.first)?).ok()?.checked_mul(64)?;
            Record::decode(seq, block.bytes.get(offset..offset.checked_add(64)?)?)
        };
        if let Some(record) = cached(&self.block) {
            return Ok(record);
        }
        let count = (view.last.seq - seq + 1).min(BLOCK_RECORDS);
        let bytes = self.log.files.read_index(seq, usize::try_from(count).unwrap_or(1))?;
        let record = self.log.files.decode(seq, bytes.get(..64).unwrap_or_default())?;
        self.block = Block { first: seq, bytes };
        Ok(record)
    }
}

/// The ends of the streams at a record, if it is kept.
fn ends_at(log: &Log, view: &View, seq: u64) -> Option<Ends> {
    if seq == view.last.seq {
        return Some(view.last.ends);
    }
    if seq > view.last.seq || view.trimmed(seq).is_some() {
        return None;
    }
    log.files.position(seq).ok().map(|position| position.ends)
}

/// The result of one step of a reader.
enum Step {
    Event(Event),
    /// The position changed; repeat the step.
    Again,
    Nothing,
}
