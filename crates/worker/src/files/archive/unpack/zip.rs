//! Unpacks ZIP archives.

use std::fs::File;
use std::io::Read;

use headwater_contract::Fault;

use super::super::zip::{Entry, for_each};
use super::refused;
use crate::files::archive::unpack::extract::Extractor;

/// The file types, in the upper bits of the mode.
const KIND: u32 = 0o170_000;
const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
/// One byte more than the longest target of a link.
const MAX_TARGET_BYTES: u64 = 4097;

pub(crate) fn unpack(archive: File, extractor: &mut Extractor<'_>) -> Result<(), Fault> {
    for_each(archive, extractor.max_entries(), refused, |entry, content| {
        unpack_one(entry, content, extractor)
    })
}

fn unpack_one(entry: &Entry, mut content: &mut dyn Read, extractor: &mut Extractor<'_>) -> Result<(), Fault> {
    let is_folder = entry.name.ends_with(b"/");
    // 0 if the archive has no modes.
    let rights = (entry.mode != 0).then_some(entry.mode & 0o777);
    match entry.mode & KIND {
        FOLDER | 0 if is_folder && entry.size == 0 => extractor.folder(&entry.name, rights.unwrap_or(0o755)),
        FILE | 0 if !is_folder => extractor.file(&entry.name, rights.unwrap_or(0o644), None, &mut content),
        LINK if !is_folder => {
            let mut target = Vec::new();
            content.take(MAX_TARGET_BYTES).read_to_end(&mut target).map_err(refused)?;
            extractor.link(&entry.name, &target)
        }
        _ => Err(refused(format!("`{}` is of an unsupported kind", entry.name.escape_ascii()))),
    }
}
