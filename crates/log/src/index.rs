//! Appends records to the index: reserves disk space for them, writes them, and publishes them to the readers.

use std::sync::Arc;

use headwater_protocol::{Stream, Verdict};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use super::files::write_full;
use super::positions::Position;
use super::record::{Body, MAX_LENGTH, RECORD_BYTES, Record, encode_header};
use super::retention::Retention;
use super::state::Started;
use super::{Log, LogError, LogOptions};

/// Records that output may not use: for bytes that are already in the raw file, `exited` and `closed`.
const SPARE_RECORDS: u64 = 3;

/// The index is reserved in steps of at least a block and at most this many bytes.
const MAX_RESERVE_BYTES: u64 = 64 << 10;
const BLOCK_BYTES: u64 = 4096;

/// The index of a log, as its writer sees it.
#[derive(Debug)]
pub(crate) struct IndexWriter {
    log: Arc<Log>,
    /// The newest record: readers see it too, but only the writer moves it.
    last: Position,
    /// The time of the newest record.
    at_us: u64,
    exited_seq: u64,
    closed: bool,
    /// One record covers at most this many bytes of output.
    max_length: u32,
    /// The index has disk space up to this byte.
    reserved_to: u64,
    retention: Retention,
}

impl IndexWriter {
    pub(crate) fn new(log: Arc<Log>, options: LogOptions) -> Self {
        let limit = options.output_bytes.max(LogOptions::MIN_OUTPUT_BYTES);
        let view = log.state.borrow().view;
        Self {
            last: view.last,
            at_us: 0,
            exited_seq: view.exited.map_or(0, |position| position.seq),
            closed: view.closed,
            max_length: u32::try_from(limit / 16).map_or(MAX_LENGTH, |part| part.clamp(512, MAX_LENGTH)),
            reserved_to: 0,
            retention: Retention::new(limit, view.trim),
            log,
        }
    }

    /// The newest record, and how far each stream has come with it.
    pub(crate) const fn last(&self) -> &Position {
        &self.last
    }

    pub(crate) const fn has_verdict(&self) -> bool {
        self.exited_seq != 0
    }

    pub(crate) const fn is_closed(&self) -> bool {
        self.closed
    }

    pub(crate) const fn retention(&self) -> &Retention {
        &self.retention
    }

    /// As much of `bytes` as one record covers.
    pub(crate) fn record_length(&self, bytes: u64) -> u32 {
        u32::try_from(bytes).map_or(self.max_length, |bytes| bytes.min(self.max_length))
    }

    pub(crate) fn write_header(&mut self) -> Result<(), LogError> {
        let header = encode_header(self.log.id);
        write_full(self.log.files.index(), &header, 0)
            .map_err(|e| LogError::io("write", &self.log.files.path("index"), e))?;
        self.reserve(0)
    }

    /// Continues the index of a killed writer, whose last record is from `at_us`.
    pub(crate) fn resume(&mut self, at_us: u64) -> Result<(), LogError> {
        self.at_us = at_us;
        self.retention.find_head(&self.log.files, self.last)
    }

    /// The records for `bytes` more of a stream.
    pub(crate) fn output_records(&self, stream: Stream, mut bytes: u64, at_us: u64) -> Vec<Record> {
        let mut records = Vec::new();
        let mut position = self.last;
        while bytes > 0 {
            let length = self.record_length(bytes);
            let record = self.record_after(position, at_us, Body::Output { stream, length });
            position = record.position(position.seq + 1);
            records.push(record);
            bytes -= u64::from(length);
        }
        records
    }

    fn record_after(&self, position: Position, at_us: u64, body: Body) -> Record {
        let Position { seq, ends } = position;
        let (ends, exited_seq) = match body {
            Body::Output { stream, length } => (ends.plus(stream, u64::from(length)), self.exited_seq),
            Body::Exited(_) => (ends, seq + 1),
            Body::Started { .. } | Body::Closed => (ends, self.exited_seq),
        };
        // The clock may be set back; the times of a log never decrease.
        Record { at_us: at_us.max(self.at_us), ends, exited_seq, body }
    }

    /// Appends one record.
    pub(crate) fn append_one(
        &mut self,
        at_us: u64,
        body: Body,
        verdict: Option<Arc<Verdict>>,
    ) -> Result<(), LogError> {
        let record = self.record_after(self.last, at_us, body);
        self.append(&[record], verdict)
    }

    /// Appends several records: all of them or, with an error, none.
    pub(crate) fn append(
        &mut self,
        records: &[Record],
        verdict: Option<Arc<Verdict>>,
    ) -> Result<(), LogError> {
        let first = self.last.seq + 1;
        self.write(first, records)?;
        for (seq, record) in (first..).zip(records) {
            self.last = record.position(seq);
            self.at_us = record.at_us;
            self.exited_seq = record.exited_seq;
            self.closed = record.body == Body::Closed;
            self.retention.add(self.last);
        }
        self.publish(first, records, verdict);
        self.trim();
        Ok(())
    }

    /// Drops output over the limit, as far as lossless readers have read it.
    pub(crate) fn trim(&mut self) {
        let log = &self.log;
        self.retention.enforce(log, self.last, self.exited_seq, |trim| {
            log.state.send_modify(|state| state.view.trim = Some(trim));
        });
    }

    fn write(&mut self, first: u64, records: &[Record]) -> Result<(), LogError> {
        let offset = first * RECORD_BYTES;
        let files = &self.log.files;
        let written = if let [record] = records {
            write_full(files.index(), &record.encode(first), offset)
        } else {
            let numbered = (first..).zip(records);
            let bytes: Vec<u8> = numbered.flat_map(|(seq, record)| record.encode(seq)).collect();
            write_full(files.index(), &bytes, offset)
        };
        let Err(errno) = written else {
            return Ok(());
        };
        if files.index_size()? != offset {
            files.resize_index(offset)?;
            self.reserved_to = self.reserved_to.min(offset);
        }
        Err(LogError::io("write", &self.log.files.path("index"), errno))
    }

    /// Makes records visible to the readers and wakes them.
    fn publish(&self, first: u64, records: &[Record], verdict: Option<Arc<Verdict>>) {
        self.log.state.send_modify(|state| {
            for (seq, record) in (first..).zip(records) {
                let at_us = record.at_us;
                if seq == 1 {
                    state.view.base_us = at_us;
                }
                match record.body {
                    Body::Started { pid } => state.started = Some(Started { pid, at_us }),
                    Body::Exited(_) => state.view.exited = Some(record.position(seq)),
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

    /// Reserves disk space for this many records and the spare ones.
    pub(crate) fn reserve(&mut self, records: u64) -> Result<(), LogError> {
        let needed = (self.last.seq + 1 + records + SPARE_RECORDS) * RECORD_BYTES;
        if needed <= self.reserved_to {
            return Ok(());
        }
        let offset = self.last.seq * RECORD_BYTES;
        let step = (offset / BLOCK_BYTES * BLOCK_BYTES).clamp(BLOCK_BYTES, MAX_RESERVE_BYTES);
        let target = needed.next_multiple_of(step);
        let from = self.reserved_to.max(offset);
        match rustix::fs::fallocate(self.log.files.index(), FallocateFlags::KEEP_SIZE, from, target - from) {
            Ok(()) => self.reserved_to = target,
            Err(Errno::NOSPC | Errno::DQUOT) => {
                let path = self.log.files.path("index");
                return Err(LogError::DiskFull { path });
            }
            Err(_) => self.reserved_to = u64::MAX, // not supported here; a write reports a full disk
        }
        Ok(())
    }

    /// Releases reserved space that will not be used. A failure does no harm.
    pub(crate) fn release(&mut self) {
        let size = (self.last.seq + 1) * RECORD_BYTES;
        if self.reserved_to != u64::MAX && self.reserved_to > size.next_multiple_of(BLOCK_BYTES) {
            let _ = self.log.files.resize_index(size);
        }
    }
}
