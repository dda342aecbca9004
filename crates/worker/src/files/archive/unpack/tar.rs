//! Unpacks tar archives.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use headwater_contract::Fault;
use tar::{Archive, EntryType};

use super::refused;
use crate::files::archive::unpack::extract::Extractor;

/// The most bytes between the content of two files: headers with long names and links, which are kept in memory.
const MAX_HEADER_BYTES: u64 = 256 << 10;

pub(crate) fn unpack(archive: impl Read, extractor: &mut Extractor<'_>) -> Result<(), Fault> {
    let budget = Rc::new(Cell::new(MAX_HEADER_BYTES));
    let mut archive = Archive::new(LimitedReader { inner: archive, budget: Rc::clone(&budget) });
    let mut entries = archive.entries().map_err(refused)?;
    let mut seen = 0;
    loop {
        budget.set(MAX_HEADER_BYTES);
        let Some(entry) = entries.next() else {
            return if seen == 0 { at_end(&budget) } else { Ok(()) };
        };
        let mut entry = entry.map_err(refused)?;
        seen += 1;
        if seen > extractor.max_entries() {
            return Err(refused(format!("it has more than {} entries", extractor.max_entries())));
        }
        budget.set(u64::MAX); // the extractor limits the content
        let kind = entry.header().entry_type();
        let name = entry.path_bytes().into_owned();
        let mode = entry.header().mode().unwrap_or(0o644);
        match kind {
            EntryType::Regular | EntryType::Continuous if !name.ends_with(b"/") => {
                let modified = entry.header().mtime().ok();
                extractor.file(&name, mode, modified, &mut entry)?;
            }
            // Old archives have folders as files whose names end with a slash.
            EntryType::Regular | EntryType::Directory if entry.size() == 0 => {
                extractor.folder(&name, mode)?;
            }
            EntryType::Symlink => {
                let target = entry.link_name_bytes().unwrap_or_default().into_owned();
                extractor.link(&name, &target)?;
            }
            EntryType::XGlobalHeader => {}
            other => return Err(refused(format!("`{}` is {}", name.escape_ascii(), what(other)))),
        }
    }
}

/// An archive without entries is valid, unless it is completely empty.
fn at_end(budget: &Cell<u64>) -> Result<(), Fault> {
    if budget.get() == MAX_HEADER_BYTES { Err(refused("it is empty")) } else { Ok(()) }
}

const fn what(kind: EntryType) -> &'static str {
    match kind {
        EntryType::Link => "a hard link",
        EntryType::Char | EntryType::Block => "a device",
        EntryType::Fifo => "a FIFO",
        EntryType::GNUSparse => "a file with holes",
        EntryType::Directory => "a folder with content",
        _ => "of an unsupported kind",
    }
}

/// A reader with a budget: it limits what the library reads into memory because of sizes in the archive.
struct LimitedReader<R> {
    inner: R,
    budget: Rc<Cell<u64>>,
}

impl<R: Read> Read for LimitedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.budget.get();
        if left == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a header is too long"));
        }
        let wanted = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let n = self.inner.read(buffer.get_mut(..wanted).unwrap_or_default())?;
        self.budget.set(left.saturating_sub(n as u64));
        Ok(n)
    }
}
