//! The range of records that is no longer kept, and the small file `trim` that stores it.

use headwater_protocol::Stream;
use rustix::fs::{Mode, OFlags};

use super::LogError;
use super::files::{Files, read_full, write_full};
use super::positions::{Ends, Position};
use super::record::MAX_SEQ;

const SIZE: usize = 68;

/// Records after `head` up to and including `tail` are not kept, except a verdict among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trim {
    /// The last record of the kept beginning.
    pub head: Position,
    /// The last record that is not kept.
    pub tail: Position,
}

impl Trim {
    pub const fn contains(&self, seq: u64) -> bool {
        self.head.seq < seq && seq <= self.tail.seq
    }

    /// Whether a range of records, both ends included, has lost any of its bytes.
    pub const fn overlaps(&self, first: u64, last: u64) -> bool {
        self.head.seq < last && first <= self.tail.seq
    }

    fn encode(&self) -> [u8; SIZE] {
        let mut out = [0; SIZE];
        let numbers = [self.head, self.tail]
            .into_iter()
            .flat_map(|position| std::iter::once(position.seq).chain(position.ends.0));
        for (field, number) in out.chunks_exact_mut(8).zip(numbers) {
            field.copy_from_slice(&number.to_le_bytes());
        }
        let crc = crc32fast::hash(&out[..64]);
        out[64..].copy_from_slice(&crc.to_le_bytes());
        out
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (numbers, crc) = bytes.split_at_checked(64)?;
        if crc != crc32fast::hash(numbers).to_le_bytes() {
            return None;
        }
        let number = |i: usize| {
            let bytes = numbers.get(8 * i..8 * i + 8)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        let position = |i: usize| {
            let ends = Ends([number(i + 1)?, number(i + 2)?, number(i + 3)?]);
            Some(Position { seq: number(i)?, ends })
        };
        let (head, tail) = (position(0)?, position(4)?);
        let sane = head.seq <= tail.seq
            && tail.seq <= MAX_SEQ
            && head.ends.within(&tail.ends)
            && Stream::ALL.iter().all(|stream| i64::try_from(tail.ends.of(*stream)).is_ok());
        sane.then_some(Self { head, tail })
    }

    /// Reads the file; an empty one (a worker was killed between creating and writing it) counts as none.
    ///
    /// A damaged one is an error: without it a hole cannot be distinguished from zeros that a program printed.
    pub fn load(files: &Files) -> Result<Option<Self>, LogError> {
        let path = files.path("trim");
        let Some(fd) = files.open_existing("trim", OFlags::RDONLY)? else {
            return Ok(None);
        };
        // One byte more than the size, to detect a file that is too long.
        let bytes = read_full(&fd, SIZE + 1, 0).map_err(|e| LogError::io("read", &path, e))?;
        if bytes.is_empty() {
            return Ok(None);
        }
        match Self::decode(&bytes) {
            Some(trim) => Ok(Some(trim)),
            None => Err(LogError::corrupt(&path, "its checksum is wrong")),
        }
    }

    /// Writes the file. One small write inside a page: a killed worker leaves the old content or the new one.
    pub fn store(&self, files: &Files) -> Result<(), LogError> {
        let path = files.path("trim");
        let fail = |action| move |e| LogError::io(action, &path, e);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
        let fd = rustix::fs::open(files.path("trim"), flags, Mode::from_raw_mode(0o600))
            .map_err(fail.clone()("create"))?;
        write_full(&fd, &self.encode(), 0).map_err(fail("write"))
    }
}
