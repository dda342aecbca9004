//! Skips records: those that are no longer kept, and those before a tail. Skipped output is always reported as a gap,
//! and `started` and `exited` are delivered even if they are skipped.

use headwater_protocol::{Event, EventKind, Seq, Stream};

use super::files::read_full;
use super::positions::{Ends, Position};
use super::reader::Reader;
use super::record::Body;
use super::state::View;
use super::{LogError, Streams};

impl Reader {
    /// Skips ahead so that `tail` bytes are left to read (up to three fewer: no character is divided). Does nothing if
    /// fewer are left, or without `tail`. Skipped output is reported as gaps. The first event may be a part of its
    /// record; resuming after its seq works as usual, and a reader without a tail gets the whole record.
    pub fn skip_to_tail(&mut self) -> Result<(), LogError> {
        loop {
            let view = self.log.state.borrow().view;
            match self.skip_to_tail_of(&view) {
                // A record may have been dropped during the search.
                Err(LogError::Corrupt { .. }) if self.log.state.borrow().view.trim != view.trim => {}
                done => return done,
            }
        }
    }

    pub(crate) fn skip_to_tail_of(&mut self, view: &View) -> Result<(), LogError> {
        let Some(tail) = self.options.tail else {
            return Ok(());
        };
        if self.at >= view.last.seq {
            return Ok(());
        }
        let streams = self.options.streams;
        let total = wanted_bytes(&view.last.ends, streams);
        let enough =
            |position: &Position| total.saturating_sub(wanted_bytes(&position.ends, streams)) >= tail;
        let low = match view.trim {
            Some(trim) if self.at <= trim.tail.seq => trim.tail,
            _ => Position { seq: self.at, ends: self.ends_here(view)? },
        };
        let to = self.log.files.last_where(low, view.last.seq, enough)?;
        // Without a gap, a log shorter than the tail is read from the reader's position on.
        if !enough(&to) {
            return Ok(());
        }
        let excess = total.saturating_sub(wanted_bytes(&to.ends, streams)) - tail;
        let begin = if excess > 0 { self.inside_next(to, excess, view)? } else { to };
        if begin.seq > self.at || begin.ends != to.ends {
            self.skip_to(begin, view)?;
            self.begins_inside = (begin.ends != to.ends).then_some(begin.seq + 1);
        }
        Ok(())
    }

    /// The position `bytes` inside the record after `position`, moved forward to the beginning of a character.
    fn inside_next(&mut self, position: Position, bytes: u64, view: &View) -> Result<Position, LogError> {
        let record = self.record(position.seq + 1, view)?;
        let Body::Output { stream, .. } = record.body else {
            return Ok(position);
        };
        let end = record.ends.of(stream);
        let mut at = position.ends.of(stream).saturating_add(bytes).min(end);
        let path = || self.log.files.path(stream.name());
        if let Some(raw) = self.log.files.raw(stream)? {
            let next = read_full(raw, 3, at).map_err(|e| LogError::io("read", &path(), e))?;
            at += next.iter().take_while(|byte| **byte & 0xC0 == 0x80).count() as u64;
        }
        let ends = position.ends.plus(stream, at.min(end) - position.ends.of(stream));
        Ok(Position { seq: position.seq, ends })
    }

    /// Moves to `to`, and queues the events that report what was skipped.
    pub fn skip_to(&mut self, to: Position, view: &View) -> Result<(), LogError> {
        let mut from = self.ends_here(view)?;
        if self.at == 0 && to.seq > 0 {
            let started = self.log.state.borrow().started;
            if let Some(started) = started {
                let kind = EventKind::Started { execution_id: self.log.id(), pid: started.pid };
                self.due.push_back(Event { seq: Seq(1), at_ms: 0, kind });
            }
        }
        let exited = view.exited.filter(|position| self.at < position.seq && position.seq <= to.seq);
        if let (Some(position), Some(kind)) = (exited, self.verdict()) {
            self.queue_gaps(from, position.ends, position.seq - 1);
            let at_ms = self.at_ms;
            self.due.push_back(Event { seq: Seq(position.seq), at_ms, kind });
            from = from.max(position.ends);
        }
        self.queue_gaps(from, to.ends, to.seq);
        self.move_to(to);
        Ok(())
    }

    /// Queues a gap for each stream that misses bytes. The last one has the seq `last`, and those before it the seqs
    /// before that: a reader that resumes between them gets a gap twice rather than not at all. A gap that ends inside the
    /// next record, or one for a reader that resumes among the very last of the lost records, may have no record to
    /// number it: it has the seq of the event before it, or the seq that was resumed after.
    fn queue_gaps(&mut self, from: Ends, to: Ends, last: u64) {
        let misses = |stream: &Stream| self.options.streams.has(*stream) && from.of(*stream) < to.of(*stream);
        let streams: Vec<Stream> = Stream::ALL.into_iter().filter(misses).collect();
        for (i, stream) in streams.iter().enumerate() {
            let before = (streams.len() - 1 - i) as u64;
            let kind =
                EventKind::Gap { stream: *stream, from_byte: from.of(*stream), to_byte: to.of(*stream) };
            let seq = Seq(last.saturating_sub(before).max(self.at));
            self.due.push_back(Event { seq, at_ms: self.at_ms, kind });
        }
    }

    /// The ends of the streams at the reader's position. A new reader does not know them inside the range that is not
    /// kept: it gets the whole gap.
    fn ends_here(&self, view: &View) -> Result<Ends, LogError> {
        if let Some(ends) = self.ends {
            return Ok(ends);
        }
        let Some(trim) = view.trim.filter(|trim| trim.head.seq <= self.at && self.at <= trim.tail.seq) else {
            return Ok(self.log.files.position(self.at)?.ends);
        };
        if self.at == trim.tail.seq {
            return Ok(trim.tail.ends);
        }
        // The verdict and its position are always kept.
        let exited = view.exited.filter(|position| trim.contains(position.seq) && position.seq <= self.at);
        Ok(exited.map_or(trim.head.ends, |position| position.ends))
    }
}

fn wanted_bytes(ends: &Ends, streams: Streams) -> u64 {
    let wanted = Stream::ALL.into_iter().filter(|stream| streams.has(*stream));
    wanted.fold(0, |sum, stream| sum.saturating_add(ends.of(stream)))
}
