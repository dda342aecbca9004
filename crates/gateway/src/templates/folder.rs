//! Reads the files of a template from its folder. They are kept in memory until they are written, so their number and
//! size are bounded.

use std::fs::{self, Metadata};
use std::io::{Error, Read, Result};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use bytes::Bytes;

/// The maximum number of files and folders.
const MAX_ENTRIES: usize = 2_000;
/// The maximum size of all files together.
const MAX_BYTES: usize = 16 << 20;

/// A file of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TemplateFile {
    /// The path in the workspace.
    pub(crate) path: Vec<u8>,
    pub(crate) content: Bytes,
    /// The permissions.
    pub(crate) mode: u32,
}

impl From<&(&'static str, &'static str)> for TemplateFile {
    fn from((path, content): &(&'static str, &'static str)) -> Self {
        Self { path: path.as_bytes().to_vec(), content: Bytes::from_static(content.as_bytes()), mode: 0o644 }
    }
}

/// Reads all files below a folder, in the order of their paths. Symbolic links and special files are left out.
pub(crate) fn read_folder(root: &Path) -> Result<Vec<TemplateFile>> {
    let (mut entries, mut left) = (0, MAX_BYTES);
    let (mut files, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            entries += 1;
            if entries > MAX_ENTRIES {
                return Err(Error::other(format!("it has more than {MAX_ENTRIES} files")));
            }
            let (path, kind) = (entry.path(), entry.file_type()?);
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                files.push(read_file(root, &path, &entry.metadata()?, &mut left)?);
            }
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

fn read_file(root: &Path, path: &Path, metadata: &Metadata, left: &mut usize) -> Result<TemplateFile> {
    let mut content = Vec::new();
    // One byte more than allowed shows that there is too much.
    let limit = u64::try_from(*left + 1).unwrap_or(u64::MAX);
    fs::File::open(path)?.take(limit).read_to_end(&mut content)?;
    *left = left
        .checked_sub(content.len())
        .ok_or_else(|| Error::other(format!("it has more than {} MiB", MAX_BYTES >> 20)))?;
    let mode = if metadata.permissions().mode() & 0o111 == 0 { 0o644 } else { 0o755 };
    let path = path.strip_prefix(root).map_err(Error::other)?.as_os_str().as_bytes().to_vec();
    Ok(TemplateFile { path, content: content.into(), mode })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_folder_is_read_with_its_subfolders_and_without_links() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("src")).unwrap();
        fs::write(at("src/main.py"), "print()").unwrap();
        fs::write(at("run.sh"), "true").unwrap();
        fs::set_permissions(at("run.sh"), fs::Permissions::from_mode(0o700)).unwrap();
        symlink("/etc/passwd", at("link")).unwrap();
        let files = read_folder(folder.path()).unwrap();
        let found: Vec<_> = files.iter().map(|file| (file.path.as_slice(), file.mode)).collect();
        assert_eq!(found, [(b"run.sh".as_slice(), 0o755), (b"src/main.py", 0o644)]);
        assert_eq!(files[1].content, "print()");
    }

    #[test]
    fn a_folder_that_is_too_large_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::File::create(folder.path().join("a")).unwrap().set_len(MAX_BYTES as u64).unwrap();
        assert_eq!(read_folder(folder.path()).unwrap().len(), 1);
        fs::write(folder.path().join("b"), "x").unwrap();
        assert!(read_folder(folder.path()).unwrap_err().to_string().contains("16 MiB"));
    }
}
