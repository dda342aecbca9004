//! Packs a tree as an archive, written while it is read, with little memory.
//!
//! Each file is as it was while it was read. One that shrinks meanwhile is padded with zeros, one that grows is truncated:
//! its size was written before. Other kinds of entries are left out, and counted beforehand.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use headwater_contract::v1::ArchiveFormat;
use headwater_contract::{Fault, FaultKind};
use headwater_workspace::sparse::IsCancelled;
use headwater_workspace::{Entry, Kind, MAX_DEPTH, WalkEntry, Workspace, WorkspacePath};
use tar::{EntryType, Header};

use super::zip::ZipWriter;

/// The most entries of an archive.
const MAX_ENTRIES: u64 = 1_000_000;

/// The writer of an archive format.
trait Packer {
    fn folder(&mut self, name: &[u8], entry: &Entry) -> io::Result<()>;
    fn file(&mut self, name: &[u8], entry: &Entry, data: &mut dyn Read) -> io::Result<()>;
    fn link(&mut self, name: &[u8], entry: &Entry, target: &[u8]) -> io::Result<()>;
}

/// Counts the entries that an archive of a folder would leave out. Refuses a folder that is too large, before anything is
/// sent. `length` limits all files together, holes included, because the archive has no holes.
pub(crate) fn survey(
    workspace: &Workspace,
    folder: &WorkspacePath,
    length: u64,
    is_cancelled: IsCancelled<'_>,
) -> Result<u64, Fault> {
    let refused = |message: String, hint: &str| Err(Fault::new(FaultKind::Conflict, message).hint(hint));
    let (mut entries, mut total, mut left_out) = (0, 0_u64, 0);
    let mut walk = workspace.walk(folder, MAX_DEPTH, None)?;
    for step in &mut walk {
        entries += 1;
        if is_cancelled() {
            return Err(crate::files::copy::cancelled());
        }
        if entries > MAX_ENTRIES {
            let message = format!("an archive may have at most {MAX_ENTRIES} files and folders");
            return refused(message, "archive the folders in it separately");
        }
        match step.entry.kind {
            Kind::File => total = total.saturating_add(step.entry.size),
            Kind::Other => left_out += 1,
            Kind::Folder | Kind::Link => {}
        }
        if total > length {
            let message =
                format!("the files exceed the limit of {length} bytes for one archive at `{}`", step.path);
            return refused(
                message,
                "a sparse file counts with its full length; archive a folder without it",
            );
        }
    }
    if walk.is_incomplete() {
        let message = "a folder cannot be read, or is nested too deep".to_owned();
        return refused(message, "make all folders readable in the session, and nest them at most 128 deep");
    }
    Ok(left_out)
}

/// Writes the archive of a folder.
pub(crate) fn pack(
    workspace: &Workspace,
    folder: &WorkspacePath,
    format: ArchiveFormat,
    out: impl Write,
    is_cancelled: IsCancelled<'_>,
) -> io::Result<()> {
    let tree = Tree { workspace, folder, is_cancelled };
    match format {
        ArchiveFormat::Zip => {
            let mut zip = ZipWriter::new(out);
            tree.pack_into(&mut ZipPacker(&mut zip))?;
            zip.finish()
        }
        ArchiveFormat::TarGz => {
            let mut tar = tar::Builder::new(GzEncoder::new(out, Compression::fast()));
            tree.pack_into(&mut TarPacker(&mut tar))?;
            tar.into_inner()?.finish()?.flush()
        }
        _ => {
            let mut tar = tar::Builder::new(out);
            tree.pack_into(&mut TarPacker(&mut tar))?;
            tar.into_inner()?.flush()
        }
    }
}

/// The tree to pack.
struct Tree<'a> {
    workspace: &'a Workspace,
    folder: &'a WorkspacePath,
    is_cancelled: IsCancelled<'a>,
}

impl Tree<'_> {
    fn pack_into(&self, packer: &mut dyn Packer) -> io::Result<()> {
        let mut walk = self.workspace.walk(self.folder, MAX_DEPTH, None).map_err(io::Error::other)?;
        let mut entries = 0;
        for step in &mut walk {
            entries += 1;
            // It may have grown since the survey.
            if entries > MAX_ENTRIES {
                return Err(io::Error::other("the folder is too large for one archive"));
            }
            self.pack_one(&step, packer)?;
        }
        // An incomplete archive must not look complete.
        if walk.is_incomplete() {
            Err(io::Error::other("a folder cannot be read, or is nested too deep"))
        } else {
            Ok(())
        }
    }

    fn pack_one(&self, step: &WalkEntry, packer: &mut dyn Packer) -> io::Result<()> {
        let workspace = self.workspace;
        let names = step.path.names().get(self.folder.names().len()..).unwrap_or_default();
        let mut name = names.join(&b'/');
        match step.entry.kind {
            Kind::Folder => {
                name.push(b'/');
                packer.folder(&name, &step.entry)
            }
            Kind::File => match workspace.open_file(&step.path) {
                Ok((file, entry)) => {
                    let mut data = Exactly {
                        inner: File::from(file),
                        left: entry.size,
                        is_cancelled: self.is_cancelled,
                    };
                    packer.file(&name, &entry, &mut data)
                }
                Err(error) if error.is_gone() => Ok(()),
                Err(error) => Err(io::Error::other(error)),
            },
            Kind::Link => match workspace.read_link(&step.path) {
                Ok(target) => packer.link(&name, &step.entry, &target),
                Err(error) if error.is_gone() => Ok(()),
                Err(error) => Err(io::Error::other(error)),
            },
            Kind::Other => Ok(()),
        }
    }
}

struct TarPacker<'a, W: Write>(&'a mut tar::Builder<W>);

fn header(kind: EntryType, entry: &Entry, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(entry.mode & 0o777);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(entry.modified_at_ms() / 1000);
    header
}

fn path(name: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(name))
}

impl<W: Write> Packer for TarPacker<'_, W> {
    fn folder(&mut self, name: &[u8], entry: &Entry) -> io::Result<()> {
        self.0.append_data(&mut header(EntryType::Directory, entry, 0), path(name), io::empty())
    }

    fn file(&mut self, name: &[u8], entry: &Entry, data: &mut dyn Read) -> io::Result<()> {
        self.0.append_data(&mut header(EntryType::Regular, entry, entry.size), path(name), data)
    }

    fn link(&mut self, name: &[u8], entry: &Entry, target: &[u8]) -> io::Result<()> {
        let mut header = header(EntryType::Symlink, entry, 0);
        // The exact bytes where they fit: the library would turn `a//b` into `a/b`.
        if header.set_link_name_literal(target).is_ok() {
            return self.0.append_data(&mut header, path(name), io::empty());
        }
        self.0.append_link(&mut header, path(name), path(target))
    }
}

struct ZipPacker<'a, W: Write>(&'a mut ZipWriter<W>);

impl<W: Write> Packer for ZipPacker<'_, W> {
    fn folder(&mut self, name: &[u8], entry: &Entry) -> io::Result<()> {
        self.0.folder(name, entry.mode)
    }

    fn file(&mut self, name: &[u8], entry: &Entry, mut data: &mut dyn Read) -> io::Result<()> {
        self.0.file(name, entry.mode, entry.size, &mut data)
    }

    fn link(&mut self, name: &[u8], _: &Entry, target: &[u8]) -> io::Result<()> {
        self.0.link(name, target)
    }
}

/// Exactly `left` bytes, whatever the size of the file is now.
struct Exactly<'a> {
    inner: File,
    left: u64,
    is_cancelled: IsCancelled<'a>,
}

impl Read for Exactly<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.is_cancelled)() {
            return Err(io::Error::other("the archive was cancelled"));
        }
        let wanted = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let Some(buffer) = buffer.get_mut(..wanted).filter(|buffer| !buffer.is_empty()) else {
            return Ok(0);
        };
        let n = match self.inner.read(buffer)? {
            0 => {
                buffer.fill(0);
                buffer.len()
            }
            n => n,
        };
        self.left -= n as u64;
        Ok(n)
    }
}
