//! Reading a ZIP archive that somebody sent: by its directory, an entry at a time, believing nothing that it says of sizes.

use std::io::{self, BufReader, Read, Seek, SeekFrom, Take};

use flate2::read::DeflateDecoder;

use super::{CENTRAL, DEFLATED, END, END_64, EXTRA_64, LOCAL, LOCATOR_64, MORE, STORED, UNIX};

/// The end with the longest comment that it may have.
const END_BYTES: u64 = 22 + 65_535;
/// An entry's name and extra fields have at most so much each.
const MAX_FIELD: usize = 65_535;

/// An archive.
#[derive(Debug)]
pub(crate) struct Zip<R> {
    file: R,
    /// Where the next entry of the directory is.
    next: u64,
    left: u64,
    /// What the entries so far claim to take in the archive. Entries that overlap claim more than there is.
    claimed: u64,
    bytes: u64,
}

/// An entry.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) name: Vec<u8>,
    /// Kind and rights; 0 where the archive does not say.
    pub(crate) mode: u32,
    pub(crate) size: u64,
    packed: u64,
    crc: u32,
    method: u16,
    at: u64,
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

impl<R: Read + Seek> Zip<R> {
    /// Finds the directory, of at most so many entries.
    pub(crate) fn open(mut file: R, max_entries: u64) -> io::Result<Self> {
        let bytes = file.seek(SeekFrom::End(0))?;
        let tail = bytes.min(END_BYTES);
        let from = bytes - tail;
        let tail = read_at(&mut file, from, usize::try_from(tail).map_err(io::Error::other)?)?;
        // The last one that ends with the file: a comment may look like one, but not end there too.
        let fits = |at: &usize| {
            let end = tail.get(*at..).unwrap_or_default();
            get32(end, 0) == Some(END) && get16(end, 20).is_some_and(|n| 22 + usize::from(n) == end.len())
        };
        let at = (0..tail.len().saturating_sub(21)).rev().find(fits);
        let at = at.ok_or_else(|| wrong("it has no end"))?;
        let end = tail.get(at..).unwrap_or_default();
        let entries = u64::from(get16(end, 10).unwrap_or(0));
        let directory = u64::from(get32(end, 16).unwrap_or(0));
        let here = from + at as u64;
        let (entries, directory) = if entries == u64::from(u16::MAX) || directory == u64::from(MORE) {
            end_64(&mut file, here)?.unwrap_or((entries, directory))
        } else {
            (entries, directory)
        };
        if entries > max_entries {
            return Err(wrong(&format!("it has {entries} entries: {max_entries} are the most")));
        }
        if directory > here {
            return Err(wrong("its directory lies outside"));
        }
        Ok(Self { file, next: directory, left: entries, claimed: 0, bytes })
    }

    /// The next entry; none after the last.
    pub(crate) fn next(&mut self) -> io::Result<Option<Entry>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let head = read_at(&mut self.file, self.next, 46)?;
        let field = |at| get16(&head, at).unwrap_or(0);
        let wide = |at| get32(&head, at).unwrap_or(0);
        if wide(0) != CENTRAL {
            return Err(wrong("its directory is damaged"));
        }
        if field(8) & 1 != 0 {
            return Err(wrong("an entry is encrypted"));
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
            return Err(wrong("its entries overlap"));
        }
        Ok(Some(entry))
    }

    /// The content of an entry. It is an error at its end if it is not what the directory says.
    pub(crate) fn content(&mut self, entry: &Entry) -> io::Result<Content<'_, R>> {
        let head = read_at(&mut self.file, entry.at, 30)?;
        if get32(&head, 0) != Some(LOCAL) {
            return Err(wrong("an entry is not where it should be"));
        }
        let skip = [26, 28].map(|at| u64::from(get16(&head, at).unwrap_or(0)));
        self.file.seek(SeekFrom::Start(entry.at + 30 + skip[0] + skip[1]))?;
        let packed = (&mut self.file).take(entry.packed);
        let data = match entry.method {
            STORED => Data::Stored(packed),
            DEFLATED => Data::Deflated(Box::new(DeflateDecoder::new(BufReader::new(packed)))),
            other => return Err(wrong(&format!("an entry is packed by method {other}"))),
        };
        Ok(Content { data, crc: crc32fast::Hasher::new(), expected: entry.crc, left: entry.size })
    }
}

/// Takes sizes from the extra field where 32 bits were not enough.
fn widen(entry: &mut Entry, mut extra: &[u8]) -> io::Result<()> {
    let more = u64::from(MORE);
    while let (Some(kind), Some(length)) = (get16(extra, 0), get16(extra, 2)) {
        let end = 4 + usize::from(length);
        let mut field = extra.get(4..end).ok_or_else(|| wrong("an extra field is cut"))?;
        if kind == EXTRA_64 {
            for size in [&mut entry.size, &mut entry.packed, &mut entry.at] {
                if *size == more {
                    let (first, rest) = field.split_at_checked(8).ok_or_else(|| wrong("a size is cut"))?;
                    *size = u64::from_le_bytes(first.try_into().map_err(io::Error::other)?);
                    field = rest;
                }
            }
        }
        extra = extra.get(end..).unwrap_or_default();
    }
    Ok(())
}

/// Entries and directory by the end with 64 bits, if there is one before this one.
fn end_64<R: Read + Seek>(file: &mut R, end: u64) -> io::Result<Option<(u64, u64)>> {
    let Some(locator) = end.checked_sub(20) else { return Ok(None) };
    let locator = read_at(file, locator, 20)?;
    if get32(&locator, 0) != Some(LOCATOR_64) {
        return Ok(None);
    }
    let at = get64(&locator, 8).unwrap_or(u64::MAX);
    if at >= end {
        return Err(wrong("its end lies outside"));
    }
    let end = read_at(file, at, 56)?;
    if get32(&end, 0) != Some(END_64) {
        return Err(wrong("its end is damaged"));
    }
    Ok(get64(&end, 32).zip(get64(&end, 48)))
}

fn read_at<R: Read + Seek>(file: &mut R, at: u64, length: usize) -> io::Result<Vec<u8>> {
    debug_assert!(length <= MAX_FIELD + 22);
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

/// The content of an entry.
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
            return if whole { Ok(0) } else { Err(wrong("an entry is damaged")) };
        }
        self.left =
            self.left.checked_sub(n as u64).ok_or_else(|| wrong("an entry is larger than it says"))?;
        self.crc.update(buffer.get(..n).unwrap_or_default());
        Ok(n)
    }
}
