//! Passing over records: those that are no longer kept, and those that a reader of the tail does not want.
//! What is passed over is always stated, and `started` and `exited` are delivered all the same.

use headwater_protocol::{Event, EventKind, Seq, Stream};

use super::files::read_full;
use super::marks::{Ends, Mark};
use super::reader::Reader;
use super::record::Body;
use super::state::View;
use super::{LogError, Streams};

impl Reader {
    /// Skips ahead so that as many bytes are left to read as the options' `tail` says (up to three fewer: no character
    /// is divided); nothing happens where fewer are left already, or no `tail` was asked for. What is skipped comes as
    /// gaps. The first chunk may be a part of its record: after its seq all goes on as ever, and whoever reads it again
    /// without a tail gets the whole.
    pub fn skip_to_tail(&mut self) -> Result<(), LogError> {
        loop {
            let view = self.log.state.borrow().view;
            match self.skip_to_tail_of(&view) {
                // A record may have been dropped while it was looked for.
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
        let enough = |mark: &Mark| total.saturating_sub(wanted_bytes(&mark.ends, streams)) >= tail;
        let low = match view.trim {
            Some(trim) if self.at <= trim.tail.seq => trim.tail,
            _ => Mark { seq: self.at, ends: self.ends_here(view)? },
        };
        let to = self.log.files.last_where(low, view.last.seq, enough)?;
        // Without anything dropped, a log shorter than the tail is read from where the reader stands.
        if !enough(&to) {
            return Ok(());
        }
        let excess = total.saturating_sub(wanted_bytes(&to.ends, streams)) - tail;
        let begin = if excess > 0 { self.inside_next(to, excess, view)? } else { to };
        if begin.seq > self.at || begin.ends != to.ends {
            self.pass_over(begin, view)?;
            self.begins_inside = (begin.ends != to.ends).then_some(begin.seq + 1);
        }
        Ok(())
    }

    /// The place that lies so many bytes inside the record after `mark`, moved on to where a character begins.
    fn inside_next(&mut self, mark: Mark, bytes: u64, view: &View) -> Result<Mark, LogError> {
        let record = self.record(mark.seq + 1, view)?;
        let Body::Output { stream, .. } = record.body else {
            return Ok(mark);
        };
        let end = record.ends.of(stream);
        let mut at = mark.ends.of(stream).saturating_add(bytes).min(end);
        let path = || self.log.files.path(stream.name());
        if let Some(raw) = self.log.files.raw(stream)? {
            let next = read_full(raw, 3, at).map_err(|e| LogError::io("read", &path(), e))?;
            at += next.iter().take_while(|byte| **byte & 0xC0 == 0x80).count() as u64;
        }
        let ends = mark.ends.plus(stream, at.min(end) - mark.ends.of(stream));
        Ok(Mark { seq: mark.seq, ends })
    }

    /// Goes to `to`, and makes due what has to be said about the way there.
    pub fn pass_over(&mut self, to: Mark, view: &View) -> Result<(), LogError> {
        let mut from = self.ends_here(view)?;
        if self.at == 0 && to.seq > 0 {
            let started = self.log.state.borrow().started;
            if let Some(started) = started {
                let kind = EventKind::Started { execution_id: self.log.id(), pid: started.pid };
                self.due.push_back(Event { seq: Seq(1), at_ms: 0, kind });
            }
        }
        let exited = view.exited.filter(|mark| self.at < mark.seq && mark.seq <= to.seq);
        if let (Some(mark), Some(kind)) = (exited, self.verdict()) {
            self.state_gaps(from, mark.ends, mark.seq - 1);
            let at_ms = self.at_ms;
            self.due.push_back(Event { seq: Seq(mark.seq), at_ms, kind });
            from = from.max(mark.ends);
        }
        self.state_gaps(from, to.ends, to.seq);
        self.arrive(to);
        Ok(())
    }

    /// A gap for each stream that misses bytes. The last one carries the seq `last`, and those before it the seqs
    /// before that: a reader that resumes between them is told again rather than not at all. No record may be left to
    /// number a gap that ends inside the next one, or one that is told to a reader that resumes among the very last of
    /// the lost records: such a gap has the seq of the event before it, or the one that was resumed after.
    fn state_gaps(&mut self, from: Ends, to: Ends, last: u64) {
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

    /// How far the streams had come where the reader stands. Inside the range that is not kept that is no longer known
    /// to a reader that has just come; it is told the whole gap.
    fn ends_here(&self, view: &View) -> Result<Ends, LogError> {
        if let Some(ends) = self.ends {
            return Ok(ends);
        }
        let Some(trim) = view.trim.filter(|trim| trim.head.seq <= self.at && self.at <= trim.tail.seq) else {
            return Ok(self.log.files.mark(self.at)?.ends);
        };
        if self.at == trim.tail.seq {
            return Ok(trim.tail.ends);
        }
        // The verdict is always kept, and with it its position.
        let exited = view.exited.filter(|mark| trim.has(mark.seq) && mark.seq <= self.at);
        Ok(exited.map_or(trim.head.ends, |mark| mark.ends))
    }
}

fn wanted_bytes(ends: &Ends, streams: Streams) -> u64 {
    let wanted = Stream::ALL.into_iter().filter(|stream| streams.has(*stream));
    wanted.fold(0, |sum, stream| sum.saturating_add(ends.of(stream)))
}
