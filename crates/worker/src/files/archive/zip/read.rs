//! Reads uploaded ZIP archives: by the directory, one entry at a time, without trusting sizes.

use std::io::{self, BufReader, Read, Seek, SeekFrom, Take};

use flate2::read::DeflateDecoder;

use super::{CENTRAL, DEFLATED, END, END_64, EXTRA_64, IN_EXTRA_64, LOCAL, LOCATOR_64, STORED, UNIX};

/// The end record with the longest comment.
const MAX_END_BYTES: u64 = 22 + 65_535;
/// The longest name and the longest extra field of an entry.
const MAX_FIELD_BYTES: usize = 65_535;

/// A ZIP archive that is open for reading.
#[derive(Debug)]
pub(crate) struct Zip<R> {
    file: R,
    /// The offset of the next directory entry.
    next: u64,
    left: u64,
    /// The bytes that the entries so far claim. Overlapping entries claim more than the archive has.
    claimed: u64,
    bytes: u64,
}

/// An entry of the directory.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) name: Vec<u8>,
    /// Type and permissions; 0 if the archive has none.
    pub(crate) mode: u32,
    pub(crate) size: u64,
    packed: u64,
    crc: u32,
    method: u16,
    at: u64,
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

impl<R: Read + Seek> Zip<R> {
    /// Finds the directory, which may have at most `max_entries`.
    pub(crate) fn open(mut file: R, max_entries: u64) -> io::Result<Self> {
        let bytes = file.seek(SeekFrom::End(0))?;
        let tail = bytes.min(MAX_END_BYTES);
        let from = bytes - tail;
        let tail = read_at(&mut file, from, usize::try_from(tail).map_err(io::Error::other)?)?;
        // The last one that ends with the file: a comment may look like one, but does not end there.
        let fits = |at: &usize| {
            let end = tail.get(*at..).unwrap_or_default();
            get32(end, 0) == Some(END) && get16(end, 20).is_some_and(|n| 22 + usize::from(n) == end.len())
        };
        let at = (0..tail.len().saturating_sub(21)).rev().find(fits);
        let at = at.ok_or_else(|| invalid("it has no end record"))?;
        let end = tail.get(at..).unwrap_or_default();
        let entries = u64::from(get16(end, 10).unwrap_or(0));
        let directory = u64::from(get32(end, 16).unwrap_or(0));
        let here = from + at as u64;
        let (entries, directory) = if entries == u64::from(u16::MAX) || directory == u64::from(IN_EXTRA_64) {
            end_64(&mut file, here)?.unwrap_or((entries, directory))
        } else {
            (entries, directory)
        };
        if entries > max_entries {
            return Err(invalid(&format!("it has {entries} entries, the maximum is {max_entries}")));
        }
        if directory > here {
            return Err(invalid("its directory is outside the file"));
        }
        Ok(Self { file, next: directory, left: entries, claimed: 0, bytes })
    }

    /// The next entry; `None` after the last.
    pub(crate) fn next(&mut self) -> io::Result<Option<Entry>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let head = read_at(&mut self.file, self.next, 46)?;
        let field = |at| get16(&head, at).unwrap_or(0);
        let wide = |at| get32(&head, at).unwrap_or(0);
        if wide(0) != CENTRAL {
            return Err(invalid("its directory is damaged"));
        }
        if field(8) & 1 != 0 {
            return Err(invalid("an entry is encrypted"));
        }
        let lengths = [field(28), field(30), field(32)].map(usize::from);
        let name = read_at(&mut self.file, self.next + 46, lengths[0])?;
        let extra = read_at(&mut self.file, self.next + 46 + lengths[0] as u64, lengths[1])?;
        self.next += 46 + lengths.iter().sum::<usize>() as u64;
        let made_by = head.get(5).copied().unwrap_or(0);
        let mut entry = Entry {
            name,
            mode: if made_by == UNIX { wide(38) >> 16 } else { 0 },
            size: wide(24).into(),
            packed: wide(20).into(),
            crc: wide(16),
            method: field(10),
            at: wide(42).into(),
        };
        widen(&mut entry, &extra)?;
        self.claimed = self.claimed.saturating_add(entry.packed).saturating_add(30);
        if self.claimed > self.bytes {
            return Err(invalid("its entries overlap"));
        }
        Ok(Some(entry))
    }

    /// The content of an entry. The read fails at the end if it does not match the directory.
    pub(crate) fn content(&mut self, entry: &Entry) -> io::Result<Content<'_, R>> {
        let head = read_at(&mut self.file, entry.at, 30)?;
        if get32(&head, 0) != Some(LOCAL) {
            return Err(invalid("an entry is not at its offset"));
        }
        let skip = [26, 28].map(|at| u64::from(get16(&head, at).unwrap_or(0)));
        self.file.seek(SeekFrom::Start(entry.at + 30 + skip[0] + skip[1]))?;
        let packed = (&mut self.file).take(entry.packed);
        let data = match entry.method {
            STORED => Data::Stored(packed),
            DEFLATED => Data::Deflated(Box::new(DeflateDecoder::new(BufReader::new(packed)))),
            other => return Err(invalid(&format!("an entry uses compression method {other}"))),
        };
        Ok(Content { data, crc: crc32fast::Hasher::new(), expected: entry.crc, left: entry.size })
    }
}

/// Takes sizes from the 64-bit extra field.
fn widen(entry: &mut Entry, mut extra: &[u8]) -> io::Result<()> {
    let more = u64::from(IN_EXTRA_64);
    while let (Some(kind), Some(length)) = (get16(extra, 0), get16(extra, 2)) {
        let end = 4 + usize::from(length);
        let mut field = extra.get(4..end).ok_or_else(|| invalid("an extra field is truncated"))?;
        if kind == EXTRA_64 {
            for size in [&mut entry.size, &mut entry.packed, &mut entry.at] {
                if *size == more {
                    let (first, rest) =
                        field.split_at_checked(8).ok_or_else(|| invalid("a size is truncated"))?;
                    *size = u64::from_le_bytes(first.try_into().map_err(io::Error::other)?);
                    field = rest;
                }
            }
        }
        extra = extra.get(end..).unwrap_or_default();
    }
    Ok(())
}

/// The number of entries and the directory by the 64-bit end record, if it precedes this one.
fn end_64<R: Read + Seek>(file: &mut R, end: u64) -> io::Result<Option<(u64, u64)>> {
    let Some(locator) = end.checked_sub(20) else { return Ok(None) };
    let locator = read_at(file, locator, 20)?;
    if get32(&locator, 0) != Some(LOCATOR_64) {
        return Ok(None);
    }
    let at = get64(&locator, 8).unwrap_or(u64::MAX);
    if at >= end {
        return Err(invalid("its end record is outside the file"));
    }
    let end = read_at(file, at, 56)?;
    if get32(&end, 0) != Some(END_64) {
        return Err(invalid("its end record is damaged"));
    }
    Ok(get64(&end, 32).zip(get64(&end, 48)))
}

fn read_at<R: Read + Seek>(file: &mut R, at: u64, length: usize) -> io::Result<Vec<u8>> {
    debug_assert!(length <= MAX_FIELD_BYTES + 22);
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = vec![0; length];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn get16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn get32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn get64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

enum Data<'a, R> {
    Stored(Take<&'a mut R>),
    Deflated(Box<DeflateDecoder<BufReader<Take<&'a mut R>>>>),
}

/// A reader of the content of an entry.
pub(crate) struct Content<'a, R> {
    data: Data<'a, R>,
    crc: crc32fast::Hasher,
    expected: u32,
    left: u64,
}

impl<R: Read> Read for Content<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let n = match &mut self.data {
            Data::Stored(data) => data.read(buffer)?,
            Data::Deflated(data) => data.read(buffer)?,
        };
        if n == 0 {
            let whole = self.left == 0 && self.crc.clone().finalize() == self.expected;
            return if whole { Ok(0) } else { Err(invalid("an entry is damaged")) };
        }
        self.left =
            self.left.checked_sub(n as u64).ok_or_else(|| invalid("an entry is larger than its size"))?;
        self.crc.update(buffer.get(..n).unwrap_or_default());
        Ok(n)
    }
}
