//! The layout of an index record (64 bytes), and of the header in place of record 0.
//!
//! All numbers are little-endian.
//!
//! | bytes | `started` | `output` | `exited` | `closed` |
//! | --- | --- | --- | --- | --- |
//! | 0..8 | unix time in microseconds | same | same | same |
//! | 8 | kind: 1 | 2 | 3 | 4 |
//! | 9 | | stream | reason | |
//! | 10..12 | | | flags: which of code, signal, message, detail are set | |
//! | 12..16 | pid | length | code | |
//! | 16..24 | | offset in the stream | duration (6 bytes, ms), signal (2 bytes) | |
//! | 24..48 | end of `stdout`, `stderr`, `output` after this record | same | same | same |
//! | 48..56 | seq of `exited`, 0 before it | same | cpu time (6 bytes, ms), peak memory (6 bytes) | same |
//! | 60..64 | crc32 of the seq and the bytes before | same | same | same |
//!
//! The seq is part of the checksum, so a record at the wrong position counts as damaged.

use headwater_protocol::{ExecutionId, ExitDetail, Reason, Stream, Usage, Verdict};

use super::positions::{Ends, Position, stream_index};

/// The size of a record; record `n` is at byte `n * 64` of the index.
pub(crate) const RECORD_BYTES: u64 = 64;
const SIZE: usize = 64;

/// One record covers at most this many bytes of output.
pub(crate) const MAX_LENGTH: u32 = 1 << 20;

/// The largest seq, so that offsets in the index always fit.
pub(crate) const MAX_SEQ: u64 = 1 << 56;

const MAGIC: &[u8; 8] = b"hdwtrlog";
const VERSION: u32 = 1;

const HAS_CODE: u16 = 1;
const HAS_SIGNAL: u16 = 1 << 1;
const HAS_MESSAGE: u16 = 1 << 2;
const MESSAGE_LOST: u16 = 1 << 3;
const HAS_DETAIL: u16 = 1 << 4;

/// The content of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    Started { pid: i32 },
    Output { stream: Stream, length: u32 },
    Exited(VerdictRecord),
    Closed,
}

/// Where a verdict's message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    None,
    /// In the file `message`.
    Stored,
    /// Not stored because the disk was full: the verdict matters more than its message.
    Lost,
}

/// A verdict without its message, its detail and its byte counts (those are the record's ends).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerdictRecord {
    pub reason: Reason,
    pub code: Option<i32>,
    pub signal: Option<i16>,
    pub duration_ms: u64,
    pub usage: Usage,
    pub message: Message,
    /// Whether its detail is in the file `detail`.
    pub has_detail: bool,
}

/// One record of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    pub at_us: u64,
    pub ends: Ends,
    /// The seq of the `exited` record, if it is before this one or is this one; else 0.
    pub exited_seq: u64,
    pub body: Body,
}

impl Record {
    pub const fn position(&self, seq: u64) -> Position {
        Position { seq, ends: self.ends }
    }

    pub fn encode(&self, seq: u64) -> [u8; SIZE] {
        let mut out = [0; SIZE];
        put(&mut out, 0, &self.at_us.to_le_bytes());
        for (i, end) in self.ends.0.iter().enumerate() {
            put(&mut out, 24 + 8 * i, &end.to_le_bytes());
        }
        put(&mut out, 48, &self.exited_seq.to_le_bytes());
        match self.body {
            Body::Started { pid } => {
                out[8] = 1;
                put(&mut out, 12, &pid.to_le_bytes());
            }
            Body::Output { stream, length } => {
                out[8] = 2;
                out[9] = stream as u8;
                put(&mut out, 12, &length.to_le_bytes());
                let offset = self.ends.of(stream).saturating_sub(u64::from(length));
                put(&mut out, 16, &offset.to_le_bytes());
            }
            Body::Exited(numbers) => {
                out[8] = 3;
                numbers.encode(&mut out);
            }
            Body::Closed => out[8] = 4,
        }
        let crc = checksum(seq, &out);
        put(&mut out, 60, &crc.to_le_bytes());
        out
    }

    /// Decodes a record, if its checksum and its content are valid for this seq.
    pub fn decode(seq: u64, bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; SIZE] = bytes.try_into().ok()?;
        if u32::from_le_bytes(take(bytes, 60)) != checksum(seq, bytes) {
            return None;
        }
        let ends = Ends(std::array::from_fn(|i| u64::from_le_bytes(take(bytes, 24 + 8 * i))));
        if ends.0.iter().any(|end| i64::try_from(*end).is_err()) {
            return None;
        }
        let mut exited_seq = u64::from_le_bytes(take(bytes, 48));
        let body = match bytes[8] {
            1 => Body::Started { pid: i32::from_le_bytes(take(bytes, 12)) },
            2 => {
                let stream = Stream::from_number(bytes[9])?;
                let length = u32::from_le_bytes(take(bytes, 12));
                let offset = u64::from_le_bytes(take(bytes, 16));
                let fits = length <= MAX_LENGTH
                    && offset.checked_add(u64::from(length)) == Some(ends.0[stream_index(stream)]);
                fits.then_some(Body::Output { stream, length })?
            }
            3 => {
                exited_seq = seq;
                Body::Exited(VerdictRecord::decode(bytes)?)
            }
            4 => Body::Closed,
            _ => return None,
        };
        (exited_seq <= seq).then_some(Self {
            at_us: u64::from_le_bytes(take(bytes, 0)),
            ends,
            exited_seq,
            body,
        })
    }
}

impl VerdictRecord {
    pub fn of(verdict: &Verdict, message: Message, has_detail: bool) -> Self {
        Self {
            reason: verdict.reason,
            code: verdict.code,
            // Signals have small numbers; a larger one is clamped.
            signal: verdict.signal.map(|signal| i16::try_from(signal).unwrap_or(i16::MAX)),
            duration_ms: verdict.duration_ms,
            usage: verdict.usage,
            message,
            has_detail,
        }
    }

    pub fn verdict(&self, ends: &Ends, message: Option<String>, detail: Option<ExitDetail>) -> Verdict {
        Verdict {
            reason: self.reason,
            code: self.code,
            signal: self.signal.map(i32::from),
            message,
            detail,
            duration_ms: self.duration_ms,
            usage: self.usage,
            stdout_bytes: ends.of(Stream::Stdout),
            stderr_bytes: ends.of(Stream::Stderr),
            output_bytes: ends.of(Stream::Output),
        }
    }

    fn encode(&self, out: &mut [u8; SIZE]) {
        out[9] = reason_number(self.reason);
        let mut flags = match self.message {
            Message::None => 0,
            Message::Stored => HAS_MESSAGE,
            Message::Lost => MESSAGE_LOST,
        };
        if let Some(code) = self.code {
            flags |= HAS_CODE;
            put(out, 12, &code.to_le_bytes());
        }
        if let Some(signal) = self.signal {
            flags |= HAS_SIGNAL;
            put(out, 22, &signal.to_le_bytes());
        }
        if self.has_detail {
            flags |= HAS_DETAIL;
        }
        put(out, 10, &flags.to_le_bytes());
        put(out, 16, &six_bytes(self.duration_ms));
        put(out, 48, &six_bytes(self.usage.cpu_ms));
        put(out, 54, &six_bytes(self.usage.max_rss_bytes));
    }

    fn decode(bytes: &[u8; SIZE]) -> Option<Self> {
        let flags = u16::from_le_bytes(take(bytes, 10));
        let code = i32::from_le_bytes(take(bytes, 12));
        let signal = i16::from_le_bytes(take(bytes, 22));
        Some(Self {
            reason: reason_of(bytes[9])?,
            code: (flags & HAS_CODE != 0).then_some(code),
            signal: (flags & HAS_SIGNAL != 0).then_some(signal),
            duration_ms: from_six_bytes(take(bytes, 16)),
            usage: Usage {
                cpu_ms: from_six_bytes(take(bytes, 48)),
                max_rss_bytes: from_six_bytes(take(bytes, 54)),
            },
            message: match flags {
                flags if flags & MESSAGE_LOST != 0 => Message::Lost,
                flags if flags & HAS_MESSAGE != 0 => Message::Stored,
                _ => Message::None,
            },
            has_detail: flags & HAS_DETAIL != 0,
        })
    }
}

/// The header, which is in place of record 0.
pub(crate) fn encode_header(id: ExecutionId) -> [u8; SIZE] {
    let mut out = [0; SIZE];
    put(&mut out, 0, MAGIC);
    put(&mut out, 8, &VERSION.to_le_bytes());
    put(&mut out, 12, id.to_string().as_bytes());
    let crc = checksum(0, &out);
    put(&mut out, 60, &crc.to_le_bytes());
    out
}

/// The execution of the log, if the header is intact and of a known version.
pub(crate) fn decode_header(bytes: &[u8]) -> Option<ExecutionId> {
    let bytes: &[u8; SIZE] = bytes.try_into().ok()?;
    let whole = bytes.starts_with(MAGIC)
        && u32::from_le_bytes(take(bytes, 8)) == VERSION
        && u32::from_le_bytes(take(bytes, 60)) == checksum(0, bytes);
    let id: [u8; 36] = take(bytes, 12);
    whole.then(|| std::str::from_utf8(&id).ok()?.parse().ok())?
}

fn checksum(seq: u64, bytes: &[u8; SIZE]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&seq.to_le_bytes());
    hasher.update(&bytes[..60]);
    hasher.finalize()
}

/// 48 bits are 8,900 years of milliseconds and 256 TiB of memory; more is clamped.
fn six_bytes(value: u64) -> [u8; 6] {
    take(&value.min((1 << 48) - 1).to_le_bytes(), 0)
}

fn from_six_bytes(bytes: [u8; 6]) -> u64 {
    let mut whole = [0; 8];
    whole[..6].copy_from_slice(&bytes);
    u64::from_le_bytes(whole)
}

/// Writes `bytes` at an offset; the layout above ensures that they fit.
fn put(out: &mut [u8; SIZE], at: usize, bytes: &[u8]) {
    out[at..at + bytes.len()].copy_from_slice(bytes);
}

/// Reads bytes at an offset.
fn take<const FROM: usize, const N: usize>(bytes: &[u8; FROM], at: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[at + i])
}

/// The numbers are part of the format: they never change, whatever the order of the enum.
const fn reason_number(reason: Reason) -> u8 {
    match reason {
        Reason::Exited => 1,
        Reason::Signalled => 2,
        Reason::TimedOut => 3,
        Reason::Cancelled => 4,
        Reason::Oom => 5,
        Reason::OutputLimit => 6,
        Reason::DiskLimit => 7,
        Reason::SetupFailed => 8,
        Reason::Lost => 9,
    }
}

fn reason_of(number: u8) -> Option<Reason> {
    Reason::ALL.into_iter().find(|reason| reason_number(*reason) == number)
}
