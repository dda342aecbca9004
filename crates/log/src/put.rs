//! How the writer puts records into the index: room for them, their bytes, and showing them to the readers.

use std::sync::Arc;

use headwater_protocol::{Stream, Verdict};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use super::files::write_full;
use super::marks::{Mark, slot};
use super::record::{Body, RECORD_BYTES, Record, encode_header};
use super::state::Started;
use super::{LogError, Writer};

/// Room that output may not use: for the record of bytes that are already in the raw file, `exited` and `closed`.
const SPARE_RECORDS: u64 = 3;

/// The index is reserved in steps of at least a block and at most this many bytes.
const MAX_RESERVE: u64 = 64 << 10;
const BLOCK: u64 = 4096;

/// Which room in the index a record may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// Only what leaves the spare records free.
    Reserved,
    /// The spare records too: the execution ends.
    Spare,
}

impl Writer {
    pub(crate) fn write_header(&mut self) -> Result<(), LogError> {
        let header = encode_header(self.log.id);
        write_full(self.log.files.index(), &header, 0)
            .map_err(|e| LogError::io("write", &self.log.files.path("index"), e))?;
        self.reserve(0)
    }

    /// Goes on where a killed writer stopped: bytes without a record get one now, or with the next call if the disk
    /// is full.
    pub fn take_up(&mut self, at_us: u64) -> Result<(), LogError> {
        self.at_us = at_us;
        self.retention.find_head(&self.log.files, self.last)?;
        if self.closed {
            return Ok(());
        }
        let mut written_us = at_us;
        for stream in Stream::ALL {
            let (size, at) = self.log.files.raw_state(stream)?;
            let extra = size.saturating_sub(self.last.ends.of(stream));
            if extra > 0 {
                self.pending[slot(stream)] = extra;
                written_us = written_us.max(at);
            }
        }
        match self.reserve(0).and_then(|()| self.number_pending(written_us, Room::Reserved)) {
            Err(error) if !error.is_disk_full() => Err(error),
            _ => Ok(()),
        }
    }

    /// Writes the records of bytes that are in the raw files already.
    pub fn number_pending(&mut self, at_us: u64, room: Room) -> Result<(), LogError> {
        for stream in Stream::ALL {
            while self.pending[slot(stream)] > 0 {
                if room == Room::Reserved {
                    self.reserve(1)?;
                }
                let length = self.portion(self.pending[slot(stream)]);
                self.put_one(at_us, Body::Output { stream, length }, None)?;
                self.pending[slot(stream)] -= u64::from(length);
            }
        }
        Ok(())
    }

    /// The records for so many bytes more.
    pub fn number(&self, stream: Stream, mut bytes: u64, at_us: u64) -> Vec<Record> {
        let mut records = Vec::new();
        let mut mark = self.last;
        while bytes > 0 {
            let length = self.portion(bytes);
            let record = self.record_after(mark, at_us, Body::Output { stream, length });
            mark = record.mark(mark.seq + 1);
            records.push(record);
            bytes -= u64::from(length);
        }
        records
    }

    /// As much of so many bytes as one record covers.
    fn portion(&self, bytes: u64) -> u32 {
        u32::try_from(bytes).map_or(self.chunk, |bytes| bytes.min(self.chunk))
    }

    fn record_after(&self, mark: Mark, at_us: u64, body: Body) -> Record {
        let (ends, exited_seq) = match body {
            Body::Output { stream, length } => (mark.ends.plus(stream, u64::from(length)), self.exited_seq),
            Body::Exited(_) => (mark.ends, mark.seq + 1),
            Body::Started { .. } | Body::Closed => (mark.ends, self.exited_seq),
        };
        Record {
            // The clock may be set back; the events of a log are in order all the same.
            at_us: at_us.max(self.at_us),
            ends,
            exited_seq,
            body,
        }
    }

    /// Writes the next record and shows it to the readers.
    pub fn put_one(&mut self, at_us: u64, body: Body, verdict: Option<Arc<Verdict>>) -> Result<(), LogError> {
        let record = self.record_after(self.last, at_us, body);
        self.put(&[record], verdict)
    }

    /// The same for several: all of them or, with an error, none.
    pub fn put(&mut self, records: &[Record], verdict: Option<Arc<Verdict>>) -> Result<(), LogError> {
        let first = self.last.seq + 1;
        self.write(first, records)?;
        for (seq, record) in (first..).zip(records) {
            self.last = record.mark(seq);
            self.at_us = record.at_us;
            self.exited_seq = record.exited_seq;
            self.closed = record.body == Body::Closed;
            self.retention.note(self.last);
        }
        self.show(first, records, verdict);
        self.make_room();
        Ok(())
    }

    /// Drops what is over the limit and what no lossless reader is yet to read.
    pub fn make_room(&mut self) {
        let log = &self.log;
        self.retention.enforce(log, self.last, self.exited_seq, |trim| {
            log.state.send_modify(|state| state.view.trim = Some(trim));
        });
    }

    fn write(&mut self, first: u64, records: &[Record]) -> Result<(), LogError> {
        let position = first * RECORD_BYTES;
        let files = &self.log.files;
        let written = if let [record] = records {
            write_full(files.index(), &record.encode(first), position)
        } else {
            let numbered = (first..).zip(records);
            let bytes: Vec<u8> = numbered.flat_map(|(seq, record)| record.encode(seq)).collect();
            write_full(files.index(), &bytes, position)
        };
        let Err(errno) = written else {
            return Ok(());
        };
        if files.index_size()? != position {
            files.cut_index(position)?;
            self.reserved = self.reserved.min(position);
        }
        Err(LogError::io("write", &self.log.files.path("index"), errno))
    }

    fn show(&self, first: u64, records: &[Record], verdict: Option<Arc<Verdict>>) {
        self.log.state.send_modify(|state| {
            for (seq, record) in (first..).zip(records) {
                let at_us = record.at_us;
                if seq == 1 {
                    state.view.base_us = at_us;
                }
                match record.body {
                    Body::Started { pid } => state.started = Some(Started { pid, at_us }),
                    Body::Exited(_) => state.view.exited = Some(record.mark(seq)),
                    Body::Closed => state.view.closed = true,
                    Body::Output { .. } => {}
                }
            }
            state.view.last = self.last;
            if verdict.is_some() {
                state.verdict = verdict;
            }
        });
    }

    /// Makes sure that the index has room for so many records and the spare ones.
    pub fn reserve(&mut self, records: u64) -> Result<(), LogError> {
        let needed = (self.last.seq + 1 + records + SPARE_RECORDS) * RECORD_BYTES;
        if needed <= self.reserved {
            return Ok(());
        }
        let position = self.last.seq * RECORD_BYTES;
        let step = (position / BLOCK * BLOCK).clamp(BLOCK, MAX_RESERVE);
        let target = needed.next_multiple_of(step);
        let from = self.reserved.max(position);
        match rustix::fs::fallocate(self.log.files.index(), FallocateFlags::KEEP_SIZE, from, target - from) {
            Ok(()) => self.reserved = target,
            Err(Errno::NOSPC | Errno::DQUOT) => {
                let path = self.log.files.path("index");
                return Err(LogError::DiskFull { path });
            }
            Err(_) => self.reserved = u64::MAX, // this file system cannot; writing will tell
        }
        Ok(())
    }

    /// Gives back what was reserved and will not be used. A matter of tidiness, so a failure is none.
    pub fn release(&mut self) {
        let size = (self.last.seq + 1) * RECORD_BYTES;
        if self.reserved != u64::MAX && self.reserved > size.next_multiple_of(BLOCK) {
            let _ = self.log.files.cut_index(size);
        }
    }
}
