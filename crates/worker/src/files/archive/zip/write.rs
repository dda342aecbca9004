//! Writes a ZIP archive to a stream without seeking: sizes follow the data.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::write::DeflateEncoder;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const DESCRIPTOR: u32 = 0x0807_4b50;
const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const LOCATOR_64: u32 = 0x0706_4b50;
/// The extra field with sizes that need more than 32 bits.
const EXTRA_64: u16 = 0x0001;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// The name is UTF-8.
const UTF8: u16 = 1 << 11;
/// Sizes and checksum come after the data.
const STREAMED: u16 = 1 << 3;
/// The system code of Unix: the mode is in the upper half of the attributes.
const UNIX: u8 = 3;

/// The value of a 32-bit field whose real value is in the 64-bit extra field; also the largest 32-bit size.
const IN_EXTRA_64: u32 = u32::MAX;

/// The largest directory, which is kept in memory until the end.
const MAX_DIRECTORY_BYTES: usize = 64 << 20;
/// From this size on 64-bit sizes are used. Compression may enlarge a file, but by less than the rest.
const ZIP64_BYTES: u64 = 3 << 30;
/// 1 January 1980, the earliest date of the format.
const EARLIEST_DATE: u16 = (1 << 5) | 1;

/// An archive that is being written.
#[derive(Debug)]
pub(crate) struct ZipWriter<W: Write> {
    out: Counted<W>,
    directory: Vec<u8>,
    entries: u64,
}

/// What is known of an entry after its data was written.
struct Written {
    crc: u32,
    packed: u64,
    size: u64,
}

impl<W: Write> ZipWriter<W> {
    pub(crate) const fn new(out: W) -> Self {
        Self { out: Counted { inner: out, written: 0 }, directory: Vec::new(), entries: 0 }
    }

    /// Appends a folder; its name ends with a slash.
    pub(crate) fn folder(&mut self, name: &[u8], mode: u32) -> io::Result<()> {
        self.stored(name, 0o040_000 | (mode & 0o777), b"")
    }

    /// Appends a symbolic link.
    pub(crate) fn link(&mut self, name: &[u8], target: &[u8]) -> io::Result<()> {
        self.stored(name, 0o120_777, target)
    }

    fn stored(&mut self, name: &[u8], mode: u32, data: &[u8]) -> io::Result<()> {
        let at = self.out.written;
        let size = data.len() as u64;
        let written = Written { crc: crc32fast::hash(data), packed: size, size };
        let sizes = (written.crc, low(size), low(size));
        self.local(name, STORED, flags(name), sizes, false)?;
        self.out.write_all(data)?;
        self.list(name, mode, STORED, flags(name), at, &written)
    }

    /// Appends a file of exactly this size.
    pub(crate) fn file(&mut self, name: &[u8], mode: u32, size: u64, data: &mut impl Read) -> io::Result<()> {
        let (at, large) = (self.out.written, size >= ZIP64_BYTES);
        let flags = flags(name) | STREAMED;
        self.local(name, DEFLATED, flags, (0, 0, 0), large)?;
        let begun = self.out.written;
        let mut crc = crc32fast::Hasher::new();
        let mut packer = DeflateEncoder::new(&mut self.out, Compression::fast());
        let mut buffer = vec![0; 64 << 10];
        loop {
            let n = data.read(&mut buffer)?;
            let Some(piece) = buffer.get(..n).filter(|piece| !piece.is_empty()) else { break };
            crc.update(piece);
            packer.write_all(piece)?;
        }
        packer.finish()?;
        let written = Written { crc: crc.finalize(), packed: self.out.written - begun, size };
        let mut after = Vec::new();
        put32(&mut after, DESCRIPTOR);
        put32(&mut after, written.crc);
        for size in [written.packed, written.size] {
            if large { put64(&mut after, size) } else { put32(&mut after, low(size)) }
        }
        self.out.write_all(&after)?;
        self.list(name, 0o100_000 | (mode & 0o777), DEFLATED, flags, at, &written)
    }

    fn local(
        &mut self,
        name: &[u8],
        method: u16,
        flags: u16,
        (crc, packed, size): (u32, u32, u32),
        large: bool,
    ) -> io::Result<()> {
        let mut header = Vec::with_capacity(64 + name.len());
        put32(&mut header, LOCAL);
        for field in [if large { 45 } else { 20 }, flags, method, 0, EARLIEST_DATE] {
            put16(&mut header, field);
        }
        let (packed, size) = if large { (IN_EXTRA_64, IN_EXTRA_64) } else { (packed, size) };
        for field in [crc, packed, size] {
            put32(&mut header, field);
        }
        put16(&mut header, length(name)?);
        put16(&mut header, if large { 20 } else { 0 });
        header.extend_from_slice(name);
        if large {
            put16(&mut header, EXTRA_64);
            put16(&mut header, 16);
            header.extend_from_slice(&[0; 16]);
        }
        self.out.write_all(&header)
    }

    /// Notes an entry for the directory.
    fn list(
        &mut self,
        name: &[u8],
        mode: u32,
        method: u16,
        flags: u16,
        at: u64,
        written: &Written,
    ) -> io::Result<()> {
        let large: Vec<u64> =
            [written.size, written.packed, at].into_iter().filter(|size| low(*size) == IN_EXTRA_64).collect();
        let extra = if large.is_empty() { 0 } else { 4 + 8 * large.len() };
        let out = &mut self.directory;
        put32(out, CENTRAL);
        out.extend_from_slice(&[45, UNIX]);
        for field in [45, flags, method, 0, EARLIEST_DATE] {
            put16(out, field);
        }
        for field in [written.crc, low(written.packed), low(written.size)] {
            put32(out, field);
        }
        for field in [length(name)?, u16::try_from(extra).map_err(io::Error::other)?, 0, 0, 0] {
            put16(out, field);
        }
        put32(out, mode << 16 | if mode & 0o170_000 == 0o040_000 { 0x10 } else { 0 });
        put32(out, low(at));
        out.extend_from_slice(name);
        if !large.is_empty() {
            put16(out, EXTRA_64);
            put16(out, u16::try_from(8 * large.len()).map_err(io::Error::other)?);
            for size in large {
                put64(out, size);
            }
        }
        self.entries += 1;
        if out.len() > MAX_DIRECTORY_BYTES {
            return Err(io::Error::other("too many names for a ZIP archive: use tar"));
        }
        Ok(())
    }

    /// Writes the directory and the end.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let (at, length) = (self.out.written, self.directory.len() as u64);
        self.out.write_all(&self.directory)?;
        let mut end = Vec::new();
        let entries = u16::try_from(self.entries).unwrap_or(u16::MAX);
        if entries == u16::MAX || low(at) == IN_EXTRA_64 {
            let here = self.out.written;
            put32(&mut end, END_64);
            put64(&mut end, 44);
            put16(&mut end, 45);
            put16(&mut end, 45);
            put32(&mut end, 0);
            put32(&mut end, 0);
            for field in [self.entries, self.entries, length, at] {
                put64(&mut end, field);
            }
            put32(&mut end, LOCATOR_64);
            put32(&mut end, 0);
            put64(&mut end, here);
            put32(&mut end, 1);
        }
        put32(&mut end, END);
        for field in [0, 0, entries, entries] {
            put16(&mut end, field);
        }
        put32(&mut end, low(length));
        put32(&mut end, low(at));
        put16(&mut end, 0);
        self.out.write_all(&end)?;
        self.out.flush()
    }
}

fn flags(name: &[u8]) -> u16 {
    if std::str::from_utf8(name).is_ok() { UTF8 } else { 0 }
}

fn length(name: &[u8]) -> io::Result<u16> {
    u16::try_from(name.len()).map_err(io::Error::other)
}

/// The low 32 bits, or the value that refers to the extra field.
fn low(size: u64) -> u32 {
    u32::try_from(size).unwrap_or(IN_EXTRA_64)
}

fn put16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Counts the bytes that are written.
#[derive(Debug)]
struct Counted<W> {
    inner: W,
    written: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.inner.write(bytes)?;
        self.written += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
