//! A prepared `/etc`: binding one folder takes a tenth of the time of binding its forty entries one by one.
//!
//! The worker prepares it when it starts. The folder's name contains a fingerprint of its sources, so a
//! session that outlives its worker keeps its folder, and a change of the host's `/etc` creates a new one.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::etc;
use crate::wire::Bind;

/// Creates the folder below `parent` if it does not exist; the result belongs in [`Setup::binds`] of every
/// session. Sessions must not be able to reach `parent`. Only files that every user of the host may read are
/// copied.
///
/// [`Setup::binds`]: crate::wire::Setup::binds
pub fn prepare_etc(parent: &Path) -> io::Result<Bind> {
    let mut sources = etc::host_entries()?;
    sources.sort();
    let mut hasher = DefaultHasher::new();
    etc::GENERATED_FILES.hash(&mut hasher);
    for source in &sources {
        fingerprint(source, &mut hasher)?;
    }
    let folder = parent.join(format!("etc-{:016x}", hasher.finish()));
    if !folder.is_dir() {
        let draft = parent.join(format!("etc-draft-{}", std::process::id()));
        let _ = fs::remove_dir_all(&draft);
        fill(&draft, &sources)?;
        let renamed = fs::rename(&draft, &folder);
        if renamed.is_err() {
            fs::remove_dir_all(&draft)?;
        }
        // Another worker may have created the same folder meanwhile.
        if !folder.is_dir() {
            renamed?;
        }
    }
    let host = folder.into_os_string().into_string();
    let host =
        host.map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "the folder's path is not UTF-8"))?;
    Ok(Bind { host, inside: etc::INSIDE.to_owned(), optional: false })
}

fn fingerprint(path: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    let Some(metadata) = readable(path)? else { return Ok(()) };
    let changed = (metadata.ctime(), metadata.ctime_nsec());
    (path, metadata.mode(), metadata.len(), changed).hash(hasher);
    if metadata.is_dir() {
        for entry in sorted(path)? {
            fingerprint(&entry, hasher)?;
        }
    }
    Ok(())
}

/// The metadata of a link, or of a file that every user of the host may read. A missing file counts as
/// unreadable.
fn readable(path: &Path) -> io::Result<Option<Metadata>> {
    let metadata = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let needed = if metadata.is_dir() { 0o005 } else { 0o004 };
    let plain = metadata.is_dir() || metadata.is_file();
    let open = plain && metadata.mode() & needed == needed;
    Ok((open || metadata.is_symlink()).then_some(metadata))
}

fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn fill(draft: &Path, sources: &[PathBuf]) -> io::Result<()> {
    create_folder(draft)?;
    for (path, text) in etc::GENERATED_FILES {
        let name = Path::new(path).file_name().unwrap_or(OsStr::new(path));
        create_file(&draft.join(name), text.as_bytes(), 0o644)?;
    }
    symlink(etc::MTAB, draft.join("mtab"))?;
    sources.iter().try_for_each(|source| copy(source, draft, Top::Yes))
}

/// Whether an entry is on the list itself. A link there may lead anywhere, so its target is copied unless it
/// is in `/usr`, which exists inside as well.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Top {
    Yes,
    No,
}

fn copy(source: &Path, into: &Path, top: Top) -> io::Result<()> {
    let Some(metadata) = readable(source)? else { return Ok(()) };
    let target = into.join(source.file_name().unwrap_or_default());
    if metadata.is_symlink() {
        let link = fs::read_link(source)?;
        if top == Top::No || etc::stays_a_link(&link) {
            return symlink(link, target);
        }
        // A dangling link of the host is of no use inside either.
        return match fs::read(source) {
            Ok(bytes) if fs::metadata(source)?.mode() & 0o004 != 0 => create_file(&target, &bytes, 0o644),
            _ => Ok(()),
        };
    }
    if metadata.is_dir() {
        create_folder(&target)?;
        return sorted(source)?.iter().try_for_each(|entry| copy(entry, &target, Top::No));
    }
    create_file(&target, &fs::read(source)?, 0o644 | (metadata.mode() & 0o111))
}

/// Creates a folder that sessions can read, whatever the worker's umask is.
fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o755).create(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

fn create_file(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    fs::write(path, bytes)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_worker_finds_the_folder_and_every_user_can_read_all_of_it() {
        let parent = tempfile::tempdir().unwrap();
        let first = prepare_etc(parent.path()).unwrap();
        assert_eq!(prepare_etc(parent.path()).unwrap(), first);
        assert_eq!(sorted(parent.path()).unwrap(), [PathBuf::from(&first.host)]);
        assert_eq!(first.inside, "/etc");
        let passwd = fs::read_to_string(Path::new(&first.host).join("passwd")).unwrap();
        assert!(passwd.contains("user:x:1000:") && passwd.lines().count() == 3, "{passwd}");
        assert_eq!(readable(Path::new(&first.host)).unwrap().unwrap().mode() & 0o777, 0o755);
    }

    #[test]
    fn files_that_not_everybody_may_read_are_not_copied() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        create_folder(&from).unwrap();
        create_folder(&to).unwrap();
        create_file(&from.join("open"), b"1", 0o644).unwrap();
        create_file(&from.join("key"), b"2", 0o640).unwrap();
        create_folder(&from.join("private")).unwrap();
        create_file(&from.join("private/key"), b"3", 0o644).unwrap();
        fs::set_permissions(from.join("private"), fs::Permissions::from_mode(0o710)).unwrap();
        symlink("open", from.join("link")).unwrap();
        copy(&from, &to, Top::Yes).unwrap();
        let names: Vec<_> = sorted(&to.join("from")).unwrap();
        assert_eq!(names, [to.join("from/link"), to.join("from/open")]);
    }
}
