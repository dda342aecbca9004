//! Readers: from any position, at any pace, without a buffer that grows.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use headwater_protocol::{Event, EventKind, Seq, Stream, Verdict};
use tokio::sync::watch;

use super::files::read_full;
use super::holds::Hold;
use super::marks::{Ends, Mark, Streams};
use super::record::{Body, Record};
use super::state::{State, View};
use super::{Log, LogError};

/// Index records are read in blocks of at most this many (8 KiB).
const BLOCK_RECORDS: u64 = 128;

/// So many records of streams that the reader does not want are looked past to make an event larger.
const MAX_PASSED: u32 = 128;

/// How a reader reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReaderOptions {
    /// Consecutive output of a stream comes in one event up to this size. A single record is never divided (but for
    /// the first of a tail), and may be larger (up to 1 MiB).
    pub max_bytes: usize,
    /// Begin so that this many bytes are left to read (of the streams asked for), and state the rest as a gap.
    pub tail: Option<u64>,
    /// Only these.
    pub streams: Streams,
}

impl Default for ReaderOptions {
    fn default() -> Self {
        Self { max_bytes: 256 << 10, tail: None, streams: Streams::ALL }
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
    /// The last record that was delivered or passed over.
    pub at: u64,
    /// How far the streams had come there, where that is known.
    pub ends: Option<Ends>,
    /// The time of the last event, which stands in where there is none.
    pub at_ms: u64,
    /// Events that are due before the next record: what was passed over. A handful at most.
    pub due: VecDeque<Event>,
    pub(crate) skip: Skip,
    /// The record whose beginning was passed over too: it is delivered from where its stream is by [`Self::ends`].
    pub begins_inside: Option<u64>,
    block: Block,
    /// What keeps unread output from being dropped, if the reader is lossless.
    hold: Option<Hold>,
}

/// Whether the reader is yet to skip ahead to the tail.
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
            // Known from the first moment, so that a gap is exact even if the reader is overtaken before it reads.
            ends: position_of(&log, &view, after.0),
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

    /// The same reader, lossless from here on.
    pub fn hold(mut self) -> Result<Self, LogError> {
        let ends = match (self.ends, self.log.state.borrow().view.trim) {
            (Some(ends), _) => ends,
            (None, trim) => trim.map(|trim| trim.tail.ends).unwrap_or_default(),
        };
        self.hold = Some(self.log.holds.register(Mark { seq: self.at, ends }.cost())?);
        Ok(self)
    }

    /// The next event, if there is one now. Reads files, which may take a moment.
    pub fn try_next(&mut self) -> Result<Option<Event>, LogError> {
        if self.hold.as_ref().is_some_and(Hold::is_let_go) {
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

    /// The next event, waiting for it. `None` when nothing more can come: after `closed`, or where the log has no
    /// writer any more. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Option<Event>, LogError> {
        loop {
            if let Some(event) = self.try_next()? {
                return Ok(Some(event));
            }
            // Only what is written after this line wakes us, so look once more before waiting.
            let view = self.changes.borrow_and_update().view;
            if self.at < view.last.seq {
                continue;
            }
            if view.closed || !view.writer || self.changes.changed().await.is_err() {
                return Ok(None);
            }
        }
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
            self.block = Block::default(); // an idle reader holds nothing
            return Ok(Step::Nothing);
        }
        let seq = self.at + 1;
        if let Some(trim) = view.trimmed(seq) {
            self.pass_over(trim.tail, view)?;
            return Ok(Step::Again);
        }
        let record = self.record(seq, view)?;
        let kind = match record.body {
            Body::Output { stream, .. } if !self.options.streams.has(stream) => {
                self.arrive(record.mark(seq));
                return Ok(Step::Again);
            }
            Body::Output { stream, length } => return self.output(view, record, stream, length),
            Body::Started { pid } => EventKind::Started { execution_id: self.log.id(), pid },
            Body::Exited(_) => match self.verdict() {
                Some(kind) => kind,
                None => {
                    return Err(LogError::corrupt(&self.log.files.path("index"), "a verdict too many"));
                }
            },
            Body::Closed => EventKind::Closed,
        };
        self.arrive(record.mark(seq));
        let at_ms = view.since_start_ms(record.at_us);
        Ok(Step::Event(Event { seq: Seq(seq), at_ms, kind }))
    }

    pub(crate) fn verdict(&self) -> Option<EventKind> {
        let verdict = self.log.state.borrow().verdict.clone()?;
        Some(EventKind::Exited(Verdict::clone(&verdict)))
    }

    pub(crate) fn arrive(&mut self, mark: Mark) {
        self.at = mark.seq;
        self.ends = Some(mark.ends);
        if let Some(hold) = &self.hold {
            hold.move_to(mark.cost());
        }
    }

    /// Output from the next record on: as many records as belong together, with one read.
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
        let short = || LogError::corrupt(&path(), "it is shorter than the index says");
        let raw = self.log.files.raw(stream)?.ok_or_else(short)?;
        let bytes = read_full(raw, wanted, offset).map_err(|e| LogError::io("read", &path(), e))?;
        let trim = self.log.state.borrow().view.trim;
        if trim.is_some_and(|trim| trim.meets(first_seq, last_seq)) {
            return Ok(Step::Again); // what was read may be a hole by now
        }
        if bytes.len() < wanted {
            return Err(short());
        }
        self.arrive(last.mark(last_seq));
        let bytes = Bytes::from(bytes);
        Ok(Step::Event(Event {
            seq: Seq(last_seq),
            at_ms: view.since_start_ms(last.at_us),
            kind: EventKind::Output { stream, offset, bytes },
        }))
    }

    /// The last of the records that come in one event with `found`.
    fn extend(
        &mut self,
        view: &View,
        mut found: (u64, Record),
        stream: Stream,
        offset: u64,
    ) -> (u64, Record) {
        let mut seq = found.0;
        let mut passed = 0;
        while seq < view.last.seq && passed < MAX_PASSED {
            seq += 1;
            if view.trimmed(seq).is_some() {
                break;
            }
            // Something wrong further on is a matter for the next event.
            let Ok(record) = self.record(seq, view) else { break };
            match record.body {
                Body::Output { stream: other, length } if other == stream => {
                    let end = record.ends.of(stream);
                    let joins = end.checked_sub(u64::from(length)) == Some(found.1.ends.of(stream));
                    if !joins || end - offset > self.options.max_bytes as u64 {
                        break;
                    }
                    found = (seq, record);
                }
                Body::Output { stream: other, .. } if !self.options.streams.has(other) => passed += 1,
                _ => break,
            }
        }
        found
    }

    /// A record, from the block that was read ahead if it is there.
    pub fn record(&mut self, seq: u64, view: &View) -> Result<Record, LogError> {
        let cached = |block: &Block| {
            let place = usize::try_from(seq.checked_sub(block.first)?).ok()?.checked_mul(64)?;
            Record::decode(seq, block.bytes.get(place..place.checked_add(64)?)?)
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

/// How far the streams had come at a record that is kept.
fn position_of(log: &Log, view: &View, seq: u64) -> Option<Ends> {
    if seq == view.last.seq {
        return Some(view.last.ends);
    }
    if seq > view.last.seq || view.trimmed(seq).is_some() {
        return None;
    }
    log.files.mark(seq).ok().map(|mark| mark.ends)
}

/// What a look at the log brought.
enum Step {
    Event(Event),
    /// The position changed; look again.
    Again,
    Nothing,
}
