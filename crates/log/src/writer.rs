//! The one writer of a log: what the pump of an execution calls.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use headwater_protocol::{Stream, Verdict};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::SpliceFlags;

use super::files::write_full;
use super::marks::{Mark, slot};
use super::put::Room;
use super::record::{Body, MAX_LENGTH, Numbers};
use super::retain::Retention;
use super::{Log, LogError, LogOptions, message};

/// What a look into a pipe brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// So many bytes are in the log now.
    Bytes(usize),
    /// Nothing there at the moment.
    Empty,
    /// Nothing there, and nobody left to write.
    End,
}

/// The one writer of a log. Dropping it ends all followers once they have read everything.
#[derive(Debug)]
pub struct Writer {
    pub(crate) log: Arc<Log>,
    /// The newest record: readers see it too, but only the writer moves it.
    pub last: Mark,
    /// Its time.
    pub at_us: u64,
    pub(crate) exited_seq: u64,
    pub(crate) closed: bool,
    /// Bytes in the raw files that have no record yet, for each stream.
    pub pending: [u64; 3],
    /// One record covers at most this many bytes.
    pub chunk: u32,
    /// The index has room up to this byte.
    pub reserved: u64,
    pub(crate) retention: Retention,
}

impl Writer {
    pub(crate) fn new(log: Arc<Log>, options: LogOptions) -> Self {
        let limit = options.output_bytes.max(LogOptions::MIN_OUTPUT_BYTES);
        let view = log.state.borrow().view;
        log.state.send_modify(|state| state.view.writer = true);
        Self {
            last: view.last,
            at_us: 0,
            exited_seq: view.exited.map_or(0, |mark| mark.seq),
            closed: view.closed,
            pending: [0; 3],
            chunk: u32::try_from(limit / 16).map_or(MAX_LENGTH, |part| part.clamp(512, MAX_LENGTH)),
            reserved: 0,
            retention: Retention::new(limit, view.trim),
            log,
        }
    }

    /// The log that this writes.
    pub const fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// What went wrong the last time that old output was to be dropped. The log itself is whole; it only is larger
    /// than it should be.
    pub const fn retention_error(&self) -> Option<&LogError> {
        self.retention.error()
    }

    /// The program runs. Must be the first record.
    pub fn started(&mut self, pid: i32, at_us: u64) -> Result<(), LogError> {
        self.check_open()?;
        if self.last.seq != 0 || self.pending != [0; 3] {
            return Err(LogError::NotFirst);
        }
        self.reserve(1)?;
        self.put_one(at_us, Body::Started { pid }, None)
    }

    /// Takes up to `max` bytes (and at most what one record covers) out of a pipe, without waiting for any.
    ///
    /// [`LogError::DiskFull`] leaves the bytes in the pipe, or in the raw file to be numbered by the next call.
    pub fn splice(&mut self, stream: Stream, pipe: BorrowedFd<'_>, max: usize) -> Result<Taken, LogError> {
        self.check_open()?;
        self.number_pending(now_us(), Room::Reserved)?;
        let length = max.min(self.chunk as usize);
        if length == 0 {
            return Ok(Taken::Empty);
        }
        let refused = |errno| LogError::io("move bytes to", &self.log.files.path(stream.name()), errno);
        if !self.log.files.has_raw(stream) {
            // Most programs leave one of their streams alone: it costs them no file.
            match look(pipe).map_err(refused)? {
                Taken::Bytes(_) => {}
                nothing => return Ok(nothing),
            }
        }
        self.reserve(1)?;
        let refused = |errno| LogError::io("move bytes to", &self.log.files.path(stream.name()), errno);
        let raw = self.log.files.raw_or_create(stream)?;
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        let moved = loop {
            let mut end = self.last.ends.of(stream);
            match rustix::pipe::splice(pipe, None, raw, Some(&mut end), length, flags) {
                Ok(0) => return Ok(Taken::End),
                Ok(moved) => break moved,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(Taken::Empty),
                Err(errno) => return Err(refused(errno)),
            }
        };
        self.pending[slot(stream)] = moved as u64;
        self.number_pending(now_us(), Room::Reserved)?;
        Ok(Taken::Bytes(moved))
    }

    /// Adds bytes that are in memory: all of them or, with an error, none.
    pub fn append(&mut self, stream: Stream, bytes: &[u8]) -> Result<(), LogError> {
        self.check_open()?;
        let at_us = now_us();
        self.number_pending(at_us, Room::Reserved)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let records = self.number(stream, bytes.len() as u64, at_us);
        self.reserve(records.len() as u64)?;
        let raw = self.log.files.raw_or_create(stream)?;
        let end = self.last.ends.of(stream);
        let written = write_full(raw, bytes, end)
            .map_err(|e| LogError::io("write", &self.log.files.path(stream.name()), e))
            .and_then(|()| self.put(&records, None));
        if written.is_err() {
            // Bytes without a record would be taken for output by the next recovery.
            self.log.files.cut_raw(stream, end)?;
        }
        written
    }

    /// The program ended. The byte counts of the verdict are filled in here.
    pub fn exited(&mut self, verdict: &Verdict, at_us: u64) -> Result<(), LogError> {
        self.check_open()?;
        if self.exited_seq != 0 {
            return Err(LogError::AlreadyExited);
        }
        self.number_pending(now_us(), Room::Spare)?;
        let (message, text) = message::store(&self.log.files, verdict.message.as_deref())?;
        let detail = message::store_detail(&self.log.files, verdict.detail.as_ref())?;
        let numbers = Numbers::of(verdict, message, detail.is_some());
        let told = numbers.verdict(&self.last.ends, text, detail);
        self.put_one(at_us, Body::Exited(numbers), Some(Arc::new(told)))
    }

    /// No writer is left: the last record.
    pub fn closed(&mut self, at_us: u64) -> Result<(), LogError> {
        self.check_open()?;
        if self.exited_seq == 0 {
            return Err(LogError::NotExited);
        }
        self.number_pending(now_us(), Room::Spare)?;
        self.put_one(at_us, Body::Closed, None)?;
        self.release();
        Ok(())
    }

    const fn check_open(&self) -> Result<(), LogError> {
        if self.closed {
            return Err(LogError::Closed);
        }
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.log.state.send_modify(|state| state.view.writer = false);
    }
}

/// What there is in a pipe, without taking it (the number of bytes is not looked at).
fn look(pipe: BorrowedFd<'_>) -> Result<Taken, Errno> {
    let mut fds = [PollFd::from_borrowed_fd(pipe, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut fds, Some(&at_once)) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(errno) => return Err(errno),
    }
    let ready = fds[0].revents();
    Ok(match ready {
        ready if ready.contains(PollFlags::IN) => Taken::Bytes(0),
        ready if ready.is_empty() => Taken::Empty,
        ready if ready.contains(PollFlags::NVAL) => return Err(Errno::BADF),
        _ => Taken::End,
    })
}

/// The time in microseconds since 1970.
fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
