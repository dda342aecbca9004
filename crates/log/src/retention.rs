//! Retention: which records are dropped when a log exceeds its limit, and releasing their disk space.

use headwater_protocol::Stream;
use rustix::io::Errno;

use super::files::{Files, block_of, punch};
use super::positions::{Position, stream_index};
use super::record::RECORD_BYTES;
use super::trim::Trim;
use super::{Log, LogError};

/// The log may exceed its limit by at most this much before records are dropped.
const MAX_SLACK_BYTES: u64 = 1 << 20;

/// The writer's part of retention.
#[derive(Debug)]
pub(crate) struct Retention {
    limit: u64,
    slack: u64,
    /// The last record of the beginning that is always kept.
    head: Position,
    /// Whether the beginning is complete.
    head_done: bool,
    trim: Option<Trim>,
    /// The ends of the holes in each raw file and in the index.
    punched: [u64; 3],
    index_punched: u64,
    /// False if the file system does not support holes; then the disk space is not released.
    can_punch: bool,
    error: Option<LogError>,
    /// The log is over its limit and no record may be dropped: the writer has to wait.
    is_full: bool,
}

/// What to drop.
enum Action {
    /// Nothing now.
    Nothing,
    /// Records until the log is within its limit.
    Limit,
    /// Everything that lossless readers have read, up to the record of this cost.
    Read(u64),
    /// The log is over its limit, but lossless readers have not read it.
    Full,
}

impl Retention {
    pub(crate) fn new(limit: u64, trim: Option<Trim>) -> Self {
        Self {
            limit,
            slack: (limit / 16).min(MAX_SLACK_BYTES),
            head: trim.map(|trim| trim.head).unwrap_or_default(),
            head_done: trim.is_some(),
            trim,
            punched: [0; 3],
            index_punched: 0,
            can_punch: true,
            error: None,
            is_full: false,
        }
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.is_full
    }

    pub(crate) const fn error(&self) -> Option<&LogError> {
        self.error.as_ref()
    }

    /// Finds the end of the beginning, in a log that was recovered.
    pub(crate) fn find_head(&mut self, files: &Files, last: Position) -> Result<(), LogError> {
        if !self.head_done {
            let half = self.limit / 2;
            self.head =
                files.last_where(Position::default(), last.seq, |position| position.cost() <= half)?;
            self.head_done = self.head.seq < last.seq;
        }
        Ok(())
    }

    /// Takes account of a new record.
    pub(crate) fn add(&mut self, position: Position) {
        if self.head_done {
            return;
        }
        if position.cost() <= self.limit / 2 {
            self.head = position;
        } else {
            self.head_done = true;
        }
    }

    /// Drops records over the limit, if it is worth the work.
    ///
    /// First the new range is stored in the file `trim`, then `publish` shows it to the readers, then holes are punched:
    /// in any other order a recovery or a reader could take a hole for zeros that the program printed.
    pub(crate) fn enforce(&mut self, log: &Log, last: Position, exited_seq: u64, publish: impl Fn(Trim)) {
        let gone = self.trim.map_or(self.head, |trim| trim.tail);
        if !self.head_done || self.kept(last, gone) <= self.limit + self.slack {
            return;
        }
        let mut action = self.action(log, last, gone);
        if matches!(action, Action::Full) || self.is_full {
            // A reader that advances after this wakes the writer, so check once more.
            log.lossless.set_full(matches!(action, Action::Full));
            action = self.action(log, last, gone);
        }
        self.is_full = matches!(action, Action::Full);
        let (files, chosen) = match action {
            Action::Nothing | Action::Full => return,
            Action::Limit => (&log.files, self.choose(&log.files, last, gone)),
            Action::Read(cost) => (&log.files, self.choose_read(&log.files, last, gone, cost)),
        };
        match chosen {
            Ok(trim) if trim.tail.seq > gone.seq => {
                if let Err(error) = trim.store(files) {
                    self.error = Some(error);
                    return;
                }
                self.trim = Some(trim);
                publish(trim);
                self.error = self.punch_holes(files, &trim, exited_seq).err();
            }
            Ok(_) => {}
            Err(error) => self.error = Some(error),
        }
    }

    /// The cost of the log if everything after the head up to `gone` is dropped.
    fn kept(&self, last: Position, gone: Position) -> u64 {
        last.cost().saturating_sub(gone.cost()).saturating_add(self.head.cost())
    }

    /// What to do with a log that is over its limit. With lossless readers it may exceed the limit by the output that is
    /// kept behind them; then everything that they have read is dropped, unless that is too little to be worth the work.
    fn action(&self, log: &Log, last: Position, gone: Position) -> Action {
        let Some(slowest) = log.lossless.slowest() else {
            return Action::Limit;
        };
        let lag = log.lossless.options().lag(self.limit);
        let read = slowest.saturating_sub(lag).max(gone.cost());
        let left = last.cost().saturating_sub(read).saturating_add(self.head.cost());
        if left <= self.limit {
            Action::Limit
        } else if self.kept(last, gone) <= self.limit + lag + self.slack {
            Action::Nothing
        } else if left <= self.limit + lag {
            Action::Read(read)
        } else {
            Action::Full
        }
    }

    /// The range of records up to this cost.
    fn choose_read(
        &self,
        files: &Files,
        last: Position,
        gone: Position,
        cost: u64,
    ) -> Result<Trim, LogError> {
        let tail = files.last_where(gone, last.seq - 1, |position| position.cost() <= cost)?;
        Ok(Trim { head: self.head, tail })
    }

    /// The shortest range that brings the log back to its limit; the newest record is always kept.
    fn choose(&self, files: &Files, last: Position, gone: Position) -> Result<Trim, LogError> {
        let newest = last.seq - 1;
        let too_much = files.last_where(gone, newest, |position| self.kept(last, *position) > self.limit)?;
        let tail = if too_much.seq < newest { files.position(too_much.seq + 1)? } else { too_much };
        Ok(Trim { head: self.head, tail })
    }

    fn punch_holes(&mut self, files: &Files, trim: &Trim, exited_seq: u64) -> Result<(), LogError> {
        for stream in Stream::ALL {
            let (from, to) = (trim.head.ends.of(stream), trim.tail.ends.of(stream));
            if from == to || !self.can_punch {
                continue;
            }
            if let Some(raw) = files.raw(stream)? {
                let from = from.max(self.punched[stream_index(stream)]);
                let punched = punch(raw, from, to);
                self.punched[stream_index(stream)] =
                    self.punched_to(punched, files, stream.name())?.unwrap_or(from);
            }
        }
        let from = ((trim.head.seq + 1) * RECORD_BYTES).max(self.index_punched);
        let to = (trim.tail.seq + 1) * RECORD_BYTES;
        self.punch_index(files, from, to, exited_seq)
    }

    /// Punches holes in the index, around the block that contains the verdict.
    fn punch_index(&mut self, files: &Files, from: u64, to: u64, exited_seq: u64) -> Result<(), LogError> {
        let (verdict, after) = block_of(exited_seq * RECORD_BYTES);
        let parts = if exited_seq != 0 && from < after && verdict < to {
            [(from, verdict.min(to)), (after.max(from), to)]
        } else {
            [(from, to), (to, to)]
        };
        for (from, to) in parts {
            if from < to && self.can_punch {
                let punched = punch(files.index(), from, to);
                if let Some(end) = self.punched_to(punched, files, "index")? {
                    self.index_punched = self.index_punched.max(end);
                }
            }
        }
        Ok(())
    }

    /// The end of the hole; `None` if the file system does not support holes.
    fn punched_to(
        &mut self,
        punched: Result<u64, Errno>,
        files: &Files,
        name: &str,
    ) -> Result<Option<u64>, LogError> {
        match punched {
            Ok(end) => Ok(Some(end)),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                self.can_punch = false;
                Ok(None)
            }
            Err(errno) => Err(LogError::io("punch a hole in", &files.path(name), errno)),
        }
    }
}
