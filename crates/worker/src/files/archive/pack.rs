//! A tree as an archive, written as it is read: nothing of it is held but what is on its way.
//!
//! Each file is as it was while it was read. One that shrinks meanwhile is filled up with zeros, one that grows is cut: the
//! archive has said its size by then. What is no file, folder or link is left out, and counted beforehand.

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
use headwater_workspace::{Entry, Kind, MAX_DEPTH, Step, Workspace, WorkspacePath};
use tar::{EntryType, Header};

use super::zip::ZipWriter;

/// Things in an archive, at most.
const MAX_ENTRIES: u64 = 1_000_000;

/// What takes a tree, entry by entry.
trait Packer {
    fn folder(&mut self, name: &[u8], entry: &Entry) -> io::Result<()>;
    fn file(&mut self, name: &[u8], entry: &Entry, data: &mut dyn Read) -> io::Result<()>;
    fn link(&mut self, name: &[u8], entry: &Entry, target: &[u8]) -> io::Result<()>;
}

/// Counts what an archive of a folder would leave out. Refuses a folder that is too much for one: of what is refused here
/// nothing has been sent yet. `length` bounds all files together, holes included: an archive of ours has none.
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
            let message = format!("more than {MAX_ENTRIES} files and folders are too many for one archive");
            return refused(message, "take an archive of each folder in it");
        }
        match step.entry.kind {
            Kind::File => total = total.saturating_add(step.entry.size),
            Kind::Other => left_out += 1,
            Kind::Folder | Kind::Link => {}
        }
        if total > length {
            let message =
                format!("with `{}` the files are longer than the `{length}` bytes of one archive", step.path);
            return refused(
                message,
                "a sparse file counts with all of its length; take an archive without it",
            );
        }
    }
    if walk.is_cut() {
        let message = "a folder cannot be read, or is nested too deep".to_owned();
        return refused(message, "make all folders readable in the session, and none deeper than 128");
    }
    Ok(left_out)
}

/// Writes a folder's tree.
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

/// What is packed.
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
            // It may have grown since it was surveyed.
            if entries > MAX_ENTRIES {
                return Err(io::Error::other("too much is in the folder for one archive"));
            }
            self.pack_one(&step, packer)?;
        }
        // An archive that lacks something must not look whole.
        if walk.is_cut() {
            Err(io::Error::other("a folder cannot be read, or is nested too deep"))
        } else {
            Ok(())
        }
    }

    fn pack_one(&self, step: &Step, packer: &mut dyn Packer) -> io::Result<()> {
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
        // As it is, byte for byte, where it fits: the library would make `a//b` into `a/b`.
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

/// So many bytes, whatever the file has by now.
struct Exactly<'a> {
    inner: File,
    left: u64,
    is_cancelled: IsCancelled<'a>,
}

impl Read for Exactly<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.is_cancelled)() {
            return Err(io::Error::other("nobody waits for it any more"));
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
