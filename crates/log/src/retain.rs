//! Retention: which records are dropped when a log grows over its limit, and giving their room back.

use headwater_protocol::Stream;
use rustix::io::Errno;

use super::files::{Files, block_of, punch};
use super::marks::{Mark, slot};
use super::record::RECORD_BYTES;
use super::trim::Trim;
use super::{Log, LogError};

/// At most this much over the limit before something is dropped.
const MAX_SLACK: u64 = 1 << 20;

/// The writer's part of retention.
#[derive(Debug)]
pub(crate) struct Retention {
    limit: u64,
    slack: u64,
    /// The last record of the beginning that is always kept.
    head: Mark,
    /// Whether the beginning is complete.
    head_done: bool,
    trim: Option<Trim>,
    /// Up to where holes have been made in each raw file and in the index.
    punched: [u64; 3],
    index_punched: u64,
    /// False once the file system has said that it makes no holes; then the bytes just stay.
    can_punch: bool,
    error: Option<LogError>,
    /// Nothing may be dropped, and nothing more be written.
    is_full: bool,
}

/// How much is to be dropped.
enum Aim {
    /// Nothing now.
    Nothing,
    /// So much that the log is within its limit.
    Limit,
    /// All that lossless readers have read, up to the record of this cost.
    Read(u64),
    /// Something, but nothing may be dropped.
    Full,
}

impl Retention {
    pub(crate) fn new(limit: u64, trim: Option<Trim>) -> Self {
        Self {
            limit,
            slack: (limit / 16).min(MAX_SLACK),
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

    /// Finds the beginning of a log that was taken up.
    pub(crate) fn find_head(&mut self, files: &Files, last: Mark) -> Result<(), LogError> {
        if !self.head_done {
            let half = self.limit / 2;
            self.head = files.last_where(Mark::default(), last.seq, |mark| mark.cost() <= half)?;
            self.head_done = self.head.seq < last.seq;
        }
        Ok(())
    }

    /// A record was written.
    pub(crate) fn note(&mut self, mark: Mark) {
        if self.head_done {
            return;
        }
        if mark.cost() <= self.limit / 2 {
            self.head = mark;
        } else {
            self.head_done = true;
        }
    }

    /// Drops what is over the limit, if it is worth the work.
    ///
    /// First the new range is remembered in the file `trim`, then `show` tells the readers, then holes are made: in any
    /// other order a recovery or a reader could take a hole for zeros that the program printed.
    pub(crate) fn enforce(&mut self, log: &Log, last: Mark, exited_seq: u64, show: impl Fn(Trim)) {
        let gone = self.trim.map_or(self.head, |trim| trim.tail);
        if !self.head_done || self.kept(last, gone) <= self.limit + self.slack {
            return;
        }
        let mut aim = self.aim(log, last, gone);
        if matches!(aim, Aim::Full) || self.is_full {
            // A reader that moves on from here on wakes the writer, so look once more.
            log.holds.set_full(matches!(aim, Aim::Full));
            aim = self.aim(log, last, gone);
        }
        self.is_full = matches!(aim, Aim::Full);
        let (files, chosen) = match aim {
            Aim::Nothing | Aim::Full => return,
            Aim::Limit => (&log.files, self.choose(&log.files, last, gone)),
            Aim::Read(cost) => (&log.files, self.choose_read(&log.files, last, gone, cost)),
        };
        match chosen {
            Ok(trim) if trim.tail.seq > gone.seq => {
                if let Err(error) = trim.store(files) {
                    self.error = Some(error);
                    return;
                }
                self.trim = Some(trim);
                show(trim);
                self.error = self.make_holes(files, &trim, exited_seq).err();
            }
            Ok(_) => {}
            Err(error) => self.error = Some(error),
        }
    }

    /// The cost of what is kept if everything after the head up to `gone` is not.
    fn kept(&self, last: Mark, gone: Mark) -> u64 {
        last.cost().saturating_sub(gone.cost()).saturating_add(self.head.cost())
    }

    /// What to do with a log that is over its limit. While lossless readers are there it may be larger by what stays
    /// behind them; then as much is dropped as they have read, or nothing if that is too little to be worth the work.
    fn aim(&self, log: &Log, last: Mark, gone: Mark) -> Aim {
        let Some(slowest) = log.holds.slowest() else {
            return Aim::Limit;
        };
        let lag = log.holds.options().lag(self.limit);
        let read = slowest.saturating_sub(lag).max(gone.cost());
        let left = last.cost().saturating_sub(read).saturating_add(self.head.cost());
        if left <= self.limit {
            Aim::Limit
        } else if self.kept(last, gone) <= self.limit + lag + self.slack {
            Aim::Nothing
        } else if left <= self.limit + lag {
            Aim::Read(read)
        } else {
            Aim::Full
        }
    }

    /// The range of all records up to this cost.
    fn choose_read(&self, files: &Files, last: Mark, gone: Mark, cost: u64) -> Result<Trim, LogError> {
        let tail = files.last_where(gone, last.seq - 1, |mark| mark.cost() <= cost)?;
        Ok(Trim { head: self.head, tail })
    }

    /// The shortest range that brings the log back to its limit; the newest record stays in any case.
    fn choose(&self, files: &Files, last: Mark, gone: Mark) -> Result<Trim, LogError> {
        let newest = last.seq - 1;
        let too_much = files.last_where(gone, newest, |mark| self.kept(last, *mark) > self.limit)?;
        let tail = if too_much.seq < newest { files.mark(too_much.seq + 1)? } else { too_much };
        Ok(Trim { head: self.head, tail })
    }

    fn make_holes(&mut self, files: &Files, trim: &Trim, exited_seq: u64) -> Result<(), LogError> {
        for stream in Stream::ALL {
            let (from, to) = (trim.head.ends.of(stream), trim.tail.ends.of(stream));
            if from == to || !self.can_punch {
                continue;
            }
            if let Some(raw) = files.raw(stream)? {
                let from = from.max(self.punched[slot(stream)]);
                let punched = punch(raw, from, to);
                self.punched[slot(stream)] = self.punched_to(punched, files, stream.name())?.unwrap_or(from);
            }
        }
        let from = ((trim.head.seq + 1) * RECORD_BYTES).max(self.index_punched);
        let to = (trim.tail.seq + 1) * RECORD_BYTES;
        self.punch_index(files, from, to, exited_seq)
    }

    /// The same for the index, around the block that holds the verdict.
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

    /// Where the hole ends; nothing if this file system makes none.
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
            Err(errno) => Err(LogError::io("make a hole in", &files.path(name), errno)),
        }
    }
}
