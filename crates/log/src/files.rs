//! The files of one log: opening, reading and writing at an offset, punching holes.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use headwater_protocol::Stream;
use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;

use super::LogError;
use super::positions::{Position, stream_index};
use super::record::{RECORD_BYTES, Record};

/// Logs are private: they contain what programs print.
const FILE_MODE: Mode = Mode::from_raw_mode(0o600);
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o700);

/// Holes consist of whole blocks.
const BLOCK: u64 = 4096;

/// Whether a log is opened for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

impl Access {
    fn flags(self) -> OFlags {
        OFlags::CLOEXEC
            | match self {
                Self::Read => OFlags::RDONLY,
                Self::Write => OFlags::RDWR,
            }
    }
}

/// The folder of a log and its open files.
#[derive(Debug)]
pub struct Files {
    dir: PathBuf,
    access: Access,
    index: OwnedFd,
    raw: [OnceLock<OwnedFd>; 3],
}

impl Files {
    /// Creates the folder, or uses one without a log, with an empty index.
    pub fn create(dir: &Path) -> Result<Self, LogError> {
        match rustix::fs::mkdir(dir, FOLDER_MODE) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(LogError::io("create", dir, errno)),
        }
        let path = dir.join("index");
        let cannot = |errno| LogError::io("create", &path, errno);
        let flags = Access::Write.flags() | OFlags::CREATE;
        let index = rustix::fs::open(&path, flags, FILE_MODE).map_err(cannot)?;
        if rustix::fs::fstat(&index).map_err(cannot)?.st_size != 0 {
            return Err(cannot(Errno::EXIST)); // it has a log
        }
        Ok(Self::new(dir, Access::Write, index))
    }

    /// Opens the folder of an existing log.
    pub fn open(dir: &Path, access: Access) -> Result<Self, LogError> {
        let path = dir.join("index");
        let index = rustix::fs::open(&path, access.flags(), Mode::empty())
            .map_err(|e| LogError::io("open", &path, e))?;
        Ok(Self::new(dir, access, index))
    }

    fn new(dir: &Path, access: Access, index: OwnedFd) -> Self {
        Self { dir: dir.to_owned(), access, index, raw: [const { OnceLock::new() }; 3] }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub const fn index(&self) -> &OwnedFd {
        &self.index
    }

    /// A file of this folder, if it exists.
    pub fn open_existing(&self, name: &str, flags: OFlags) -> Result<Option<OwnedFd>, LogError> {
        let path = self.path(name);
        match rustix::fs::open(&path, flags | OFlags::CLOEXEC, Mode::empty()) {
            Ok(fd) => Ok(Some(fd)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(LogError::io("open", &path, errno)),
        }
    }

    /// Creates an empty file in this folder, if it does not exist.
    pub fn touch(&self, name: &str) -> Result<(), LogError> {
        let path = self.path(name);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
        rustix::fs::open(&path, flags, FILE_MODE).map(drop).map_err(|e| LogError::io("create", &path, e))
    }

    /// The raw file of a stream, if it exists.
    pub fn raw(&self, stream: Stream) -> Result<Option<&OwnedFd>, LogError> {
        let cell = &self.raw[stream_index(stream)];
        if cell.get().is_none() {
            let Some(fd) = self.open_existing(stream.name(), self.access.flags())? else {
                return Ok(None);
            };
            return Ok(Some(cell.get_or_init(|| fd)));
        }
        Ok(cell.get())
    }

    /// Whether the raw file of a stream is open.
    pub fn has_raw(&self, stream: Stream) -> bool {
        self.raw[stream_index(stream)].get().is_some()
    }

    /// Removes a log that could not be created.
    pub fn discard(&self) {
        let _ = rustix::fs::unlink(self.path("index"));
        let _ = rustix::fs::rmdir(&self.dir);
    }

    /// The raw file of a stream, created if necessary.
    pub fn raw_or_create(&self, stream: Stream) -> Result<&OwnedFd, LogError> {
        let cell = &self.raw[stream_index(stream)];
        if let Some(fd) = cell.get() {
            return Ok(fd);
        }
        let path = self.path(stream.name());
        let fd = rustix::fs::open(&path, Access::Write.flags() | OFlags::CREATE, FILE_MODE)
            .map_err(|e| LogError::io("create", &path, e))?;
        Ok(cell.get_or_init(|| fd))
    }

    /// The size of a raw file, holes included, and when it was last written (Unix microseconds).
    pub fn raw_state(&self, stream: Stream) -> Result<(u64, u64), LogError> {
        let Some(fd) = self.raw(stream)? else {
            return Ok((0, 0));
        };
        let stat =
            rustix::fs::fstat(fd).map_err(|e| LogError::io("look at", &self.path(stream.name()), e))?;
        let seconds = u64::try_from(stat.st_mtime).unwrap_or(0);
        let micros = stat.st_mtime_nsec / 1000;
        let at = seconds.saturating_mul(1_000_000).saturating_add(micros);
        Ok((u64::try_from(stat.st_size).unwrap_or(0), at))
    }

    /// The size of the index in bytes.
    pub fn index_size(&self) -> Result<u64, LogError> {
        let stat =
            rustix::fs::fstat(&self.index).map_err(|e| LogError::io("look at", &self.path("index"), e))?;
        Ok(u64::try_from(stat.st_size).unwrap_or(0))
    }

    /// The bytes of up to `count` records from `seq` on; fewer at the end of the index.
    pub fn read_index(&self, seq: u64, count: usize) -> Result<Vec<u8>, LogError> {
        let wanted = count.saturating_mul(64);
        read_full(&self.index, wanted, seq.saturating_mul(RECORD_BYTES))
            .map_err(|e| LogError::io("read", &self.path("index"), e))
    }

    /// Reads one record.
    pub fn record(&self, seq: u64) -> Result<Record, LogError> {
        self.decode(seq, &self.read_index(seq, 1)?)
    }

    /// Decodes a record.
    pub fn decode(&self, seq: u64, bytes: &[u8]) -> Result<Record, LogError> {
        Record::decode(seq, bytes)
            .ok_or_else(|| LogError::corrupt(&self.path("index"), format!("record `{seq}` is damaged")))
    }

    /// The position of a record.
    pub fn position(&self, seq: u64) -> Result<Position, LogError> {
        if seq == 0 {
            return Ok(Position::default());
        }
        Ok(self.record(seq)?.position(seq))
    }

    /// Among the records after `low` up to and including `high`, the last one for which `holds`, which must be
    /// true up to some record and false from there on; `low` itself if it is true for none.
    ///
    /// Positions only grow, so a few dozen reads find any position in a log of any size.
    pub fn last_where(
        &self,
        mut low: Position,
        high: u64,
        holds: impl Fn(&Position) -> bool,
    ) -> Result<Position, LogError> {
        let mut beyond = high.saturating_add(1);
        while beyond.saturating_sub(low.seq) > 1 {
            let middle = self.position(low.seq + (beyond - low.seq) / 2)?;
            if holds(&middle) {
                low = middle;
            } else {
                beyond = middle.seq;
            }
        }
        Ok(low)
    }

    /// Sets the size of the index, which also releases the blocks that were reserved after its end.
    pub fn resize_index(&self, size: u64) -> Result<(), LogError> {
        rustix::fs::ftruncate(&self.index, size).map_err(|e| LogError::io("cut", &self.path("index"), e))
    }

    /// Sets the size of a raw file.
    pub fn resize_raw(&self, stream: Stream, size: u64) -> Result<(), LogError> {
        let fd = self.raw_or_create(stream)?;
        rustix::fs::ftruncate(fd, size).map_err(|e| LogError::io("cut", &self.path(stream.name()), e))
    }
}

/// Releases the whole blocks between two offsets; returns where to continue the next time.
pub(crate) fn punch(fd: impl AsFd, from: u64, to: u64) -> Result<u64, Errno> {
    let (start, end) = (from.next_multiple_of(BLOCK), to / BLOCK * BLOCK);
    if start >= end {
        return Ok(from);
    }
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    rustix::fs::fallocate(fd, flags, start, end - start)?;
    Ok(end)
}

/// The block that contains an offset.
pub(crate) const fn block_of(offset: u64) -> (u64, u64) {
    let start = offset / BLOCK * BLOCK;
    (start, start + BLOCK)
}

/// Reads `wanted` bytes, or fewer at the end of the file, into a buffer that is not cleared first.
pub(crate) fn read_full(fd: impl AsFd, wanted: usize, offset: u64) -> Result<Vec<u8>, Errno> {
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(wanted).map_err(|_| Errno::NOMEM)?;
    while buffer.len() < wanted {
        let at = offset.saturating_add(buffer.len() as u64);
        match rustix::io::pread(&fd, rustix::buffer::spare_capacity(&mut buffer), at) {
            Ok(0) => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    buffer.truncate(wanted);
    Ok(buffer)
}

/// Writes all bytes, or fails.
pub(crate) fn write_full(fd: impl AsFd, mut bytes: &[u8], mut offset: u64) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::pwrite(&fd, bytes, offset) {
            Ok(0) => return Err(Errno::NOSPC),
            Ok(count) => {
                bytes = &bytes[count..];
                offset += count as u64;
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}
