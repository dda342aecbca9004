//! The writer of a log: moves output from pipes into the raw files, and has the index number it.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use headwater_protocol::{Stream, Verdict, now_us};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::SpliceFlags;

use super::files::write_full;
use super::index::IndexWriter;
use super::positions::stream_index;
use super::record::{Body, VerdictRecord};
use super::{Log, LogError, LogOptions, message};

/// The result of a read from a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// This many bytes were added to the log.
    Bytes(usize),
    /// The pipe is empty.
    Empty,
    /// The pipe is empty and its write end is closed.
    End,
}

/// Which reserved records of the index a write may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reserve {
    /// Leaves the spare records free.
    Output,
    /// Uses the spare records too: the execution ends.
    End,
}

/// The only writer of a log. Dropping it ends all followers once they have read everything.
#[derive(Debug)]
pub struct Writer {
    log: Arc<Log>,
    index: IndexWriter,
    /// Bytes in the raw files that have no record yet, for each stream.
    pending: [u64; 3],
}

impl Writer {
    pub(crate) fn new(log: Arc<Log>, options: LogOptions) -> Self {
        let index = IndexWriter::new(Arc::clone(&log), options);
        log.state.send_modify(|state| state.view.writer = true);
        Self { log, index, pending: [0; 3] }
    }

    /// Writes the header of a new log.
    pub(crate) fn begin(&mut self) -> Result<(), LogError> {
        self.index.write_header()
    }

    /// Continues where a killed writer stopped: bytes without a record get one now, or with the next call if the disk
    /// is full.
    pub(crate) fn resume(&mut self, at_us: u64) -> Result<(), LogError> {
        self.index.resume(at_us)?;
        if self.index.is_closed() {
            return Ok(());
        }
        let mut written_us = at_us;
        for stream in Stream::ALL {
            let (size, at) = self.log.files.raw_state(stream)?;
            let extra = size.saturating_sub(self.index.last().ends.of(stream));
            if extra > 0 {
                self.pending[stream_index(stream)] = extra;
                written_us = written_us.max(at);
            }
        }
        match self.index.reserve(0).and_then(|()| self.number_pending(written_us, Reserve::Output)) {
            Err(error) if !error.is_disk_full() => Err(error),
            _ => Ok(()),
        }
    }

    /// The log that this writes.
    pub const fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// Bytes written to all streams so far.
    pub fn total(&self) -> u64 {
        self.index.last().ends.total()
    }

    /// Whether the log is at its limit and nothing may be dropped, because a lossless reader has not read it. A write
    /// still succeeds and makes the log larger than its limit.
    pub const fn is_full(&self) -> bool {
        self.index.retention().is_full()
    }

    /// Waits until a full log may have room. Dropping the future loses nothing.
    pub async fn room(&self) {
        self.log.lossless.changed().await;
    }

    /// Checks again whether a full log has room.
    pub fn update_room(&mut self) {
        self.index.trim();
    }

    /// Why old output could not be dropped the last time. The log itself is intact; it is only larger than its limit.
    pub const fn retention_error(&self) -> Option<&LogError> {
        self.index.retention().error()
    }

    /// Appends `started`. Must be the first record.
    pub fn started(&mut self, pid: i32, at_us: u64) -> Result<(), LogError> {
        self.check_open()?;
        if self.index.last().seq != 0 || self.pending != [0; 3] {
            return Err(LogError::NotFirst);
        }
        self.index.reserve(1)?;
        self.index.append_one(at_us, Body::Started { pid }, None)
    }

    /// Moves up to `max` bytes (and at most what one record covers) out of a pipe, without waiting for any.
    ///
    /// [`LogError::DiskFull`] leaves the bytes in the pipe, or in the raw file to be numbered by the next call.
    pub fn splice(&mut self, stream: Stream, pipe: BorrowedFd<'_>, max: usize) -> Result<Taken, LogError> {
        self.check_open()?;
        self.number_pending(now_us(), Reserve::Output)?;
        let length = self.index.record_length(max as u64) as usize;
        if length == 0 {
            return Ok(Taken::Empty);
        }
        let refused = |errno| LogError::io("move bytes to", &self.log.files.path(stream.name()), errno);
        if !self.log.files.has_raw(stream) {
            // Most programs do not use one of their streams: it gets no file.
            match poll_pipe(pipe).map_err(refused)? {
                Taken::Bytes(_) => {}
                nothing => return Ok(nothing),
            }
        }
        self.index.reserve(1)?;
        let raw = self.log.files.raw_or_create(stream)?;
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        let moved = loop {
            let mut end = self.index.last().ends.of(stream);
            match rustix::pipe::splice(pipe, None, raw, Some(&mut end), length, flags) {
                Ok(0) => return Ok(Taken::End),
                Ok(moved) => break moved,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(Taken::Empty),
                Err(errno) => return Err(refused(errno)),
            }
        };
        self.pending[stream_index(stream)] = moved as u64;
        self.number_pending(now_us(), Reserve::Output)?;
        Ok(Taken::Bytes(moved))
    }

    /// Adds bytes from memory: all of them or, with an error, none.
    pub fn append(&mut self, stream: Stream, bytes: &[u8]) -> Result<(), LogError> {
        self.check_open()?;
        let at_us = now_us();
        self.number_pending(at_us, Reserve::Output)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let records = self.index.output_records(stream, bytes.len() as u64, at_us);
        self.index.reserve(records.len() as u64)?;
        let raw = self.log.files.raw_or_create(stream)?;
        let end = self.index.last().ends.of(stream);
        let written = write_full(raw, bytes, end)
            .map_err(|e| LogError::io("write", &self.log.files.path(stream.name()), e))
            .and_then(|()| self.index.append(&records, None));
        if written.is_err() {
            // The next recovery would take bytes without a record for output.
            self.log.files.resize_raw(stream, end)?;
        }
        written
    }

    /// Appends the verdict, with the byte counts of the log.
    pub fn exited(&mut self, verdict: &Verdict, at_us: u64) -> Result<(), LogError> {
        self.check_open()?;
        if self.index.has_verdict() {
            return Err(LogError::AlreadyExited);
        }
        self.number_pending(now_us(), Reserve::End)?;
        let (message, text) = message::store(&self.log.files, verdict.message.as_deref())?;
        let detail = message::store_detail(&self.log.files, verdict.detail.as_ref())?;
        let record = VerdictRecord::of(verdict, message, detail.is_some());
        let stored = record.verdict(&self.index.last().ends, text, detail);
        self.index.append_one(at_us, Body::Exited(record), Some(Arc::new(stored)))
    }

    /// Appends `closed`, the last record: nothing can print into the log any more.
    pub fn closed(&mut self, at_us: u64) -> Result<(), LogError> {
        self.check_open()?;
        if !self.index.has_verdict() {
            return Err(LogError::NotExited);
        }
        self.number_pending(now_us(), Reserve::End)?;
        self.index.append_one(at_us, Body::Closed, None)?;
        self.index.release();
        Ok(())
    }

    /// Writes the records of bytes that are in the raw files already.
    fn number_pending(&mut self, at_us: u64, reserve: Reserve) -> Result<(), LogError> {
        for stream in Stream::ALL {
            let i = stream_index(stream);
            while self.pending[i] > 0 {
                if reserve == Reserve::Output {
                    self.index.reserve(1)?;
                }
                let length = self.index.record_length(self.pending[i]);
                self.index.append_one(at_us, Body::Output { stream, length }, None)?;
                self.pending[i] -= u64::from(length);
            }
        }
        Ok(())
    }

    const fn check_open(&self) -> Result<(), LogError> {
        if self.index.is_closed() {
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

/// Whether a pipe has bytes, without reading them; their number is not determined.
fn poll_pipe(pipe: BorrowedFd<'_>) -> Result<Taken, Errno> {
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
