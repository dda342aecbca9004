//! Reads a ZIP archive that a user sent, one entry at a time. Nothing that the archive says about sizes is trusted.

use std::fs::File;
use std::io::{self, Read};

use flate2::read::DeflateDecoder;
use rawzip::{CompressionMethod, CreatorSystem, ZipArchive, ZipFileHeaderRecord};

/// The longest entry of the directory: its fixed part, and a name, extra fields and a comment of the maximum length.
const MAX_ENTRY_BYTES: usize = 46 + 3 * 65_535;
/// The fixed part of an entry's header before its data.
const LOCAL_HEADER_BYTES: u64 = 30;

/// An entry, as the directory describes it.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// As it is in the archive, in any encoding.
    pub(crate) name: Vec<u8>,
    /// File type and permissions; 0 if the archive has none.
    pub(crate) mode: u32,
    pub(crate) size: u64,
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Passes each entry and its content to `visit`. Reading the content fails at its end if its length or its checksum is
/// not the one in the directory.
pub(crate) fn for_each<E>(
    archive: File,
    max_entries: u64,
    to_error: impl Fn(io::Error) -> E,
    mut visit: impl FnMut(&Entry, &mut dyn Read) -> Result<(), E>,
) -> Result<(), E> {
    let archive_bytes = archive.metadata().map_err(&to_error)?.len();
    let mut buffer = vec![0; MAX_ENTRY_BYTES];
    let zip = ZipArchive::from_file(archive, &mut buffer).map_err(|error| to_error(invalid(error)))?;
    let mut limits = Limits { max_entries, archive_bytes, entries: 0, claimed_bytes: 0 };
    let mut headers = zip.entries(&mut buffer);
    while let Some(header) = headers.next_entry().map_err(|error| to_error(invalid(error)))? {
        limits.check(&header).map_err(&to_error)?;
        let entry = Entry {
            name: header.file_path().as_bytes().to_vec(),
            mode: mode(&header),
            size: header.uncompressed_size_hint(),
        };
        let method = header.compression_method();
        let found = zip.get_entry(header.wayfinder()).map_err(|error| to_error(invalid(error)))?;
        let packed = found.reader();
        match method {
            CompressionMethod::STORE => visit(&entry, &mut found.verifying_reader(packed))?,
            CompressionMethod::DEFLATE => {
                visit(&entry, &mut found.verifying_reader(DeflateDecoder::new(packed)))?;
            }
            other => return Err(to_error(invalid(format!("an entry is compressed by {other:?}")))),
        }
    }
    Ok(())
}

/// Unix modes are in the upper half of the attributes.
fn mode(header: &ZipFileHeaderRecord<'_>) -> u32 {
    let is_unix = header.version_made_by().creator_system() == CreatorSystem::UNIX;
    if is_unix { header.external_attributes() >> 16 } else { 0 }
}

/// What the entries so far come to.
struct Limits {
    max_entries: u64,
    archive_bytes: u64,
    entries: u64,
    /// Entries that overlap claim more bytes than the archive has.
    claimed_bytes: u64,
}

impl Limits {
    fn check(&mut self, header: &ZipFileHeaderRecord<'_>) -> io::Result<()> {
        self.entries += 1;
        if self.entries > self.max_entries {
            return Err(invalid(format!("it has more than {} entries", self.max_entries)));
        }
        if header.flags().is_encrypted() {
            return Err(invalid("an entry is encrypted"));
        }
        self.claimed_bytes = self
            .claimed_bytes
            .saturating_add(header.compressed_size_hint())
            .saturating_add(LOCAL_HEADER_BYTES);
        if self.claimed_bytes > self.archive_bytes {
            return Err(invalid("its entries overlap"));
        }
        Ok(())
    }
}
