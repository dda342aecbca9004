//! The programs that a build of make or `CMake` left in its folder: only the build knows their names.

use headwater_contract::{ContractError, v1};
use headwater_protocol::SessionId;

use crate::state::Gateway;
use crate::workspace_path::WORKSPACE;

/// The maximum number of programs of a build.
const MAX_PROGRAMS: usize = 100;
/// The maximum number of entries of the folder that are checked.
const MAX_ENTRIES: usize = 20_000;
/// The entries of one call.
const PAGE: u32 = 1_000;
/// How deep programs are searched for.
const DEPTH: u32 = 8;
/// How executables and shared libraries begin.
const ELF: &[u8] = b"\x7fELF";

impl Gateway {
    /// The executables and shared libraries below a folder of the workspace, by path. `own` is whether folders of other
    /// projects are left out: those in a build folder whose names begin with `_`.
    pub(super) async fn programs_in(
        &self,
        session: SessionId,
        folder: &str,
        own: bool,
    ) -> Result<Vec<String>, ContractError> {
        let (mut programs, mut after, mut entries) = (Vec::new(), None, 0);
        loop {
            let request = v1::ListFilesRequest {
                session_id: session.to_string(),
                path: folder.as_bytes().to_vec().into(),
                depth: DEPTH,
                limit: PAGE,
                after,
            };
            let listed = self.worker.list_files(request).await?;
            entries += listed.entries.len();
            for entry in listed.entries.iter().filter(|entry| may_be_a_program(entry, folder, own)) {
                if programs.len() < MAX_PROGRAMS && self.is_elf(session, entry).await {
                    programs.push(format!("{WORKSPACE}/{}", String::from_utf8_lossy(&entry.path)));
                }
            }
            after = listed.next;
            if after.is_none() || entries >= MAX_ENTRIES || programs.len() >= MAX_PROGRAMS {
                programs.sort();
                return Ok(programs);
            }
        }
    }

    /// Whether a file is an executable or a library. One that was removed meanwhile is not.
    async fn is_elf(&self, session: SessionId, entry: &v1::FileEntry) -> bool {
        let request = v1::ReadFileRequest {
            session_id: session.to_string(),
            path: entry.path.clone(),
            from_byte: 0,
            to_byte: Some(ELF.len() as u64),
            etag: None,
        };
        let Ok(mut reader) = self.worker.read_file(request).await else { return false };
        let mut begin = Vec::new();
        while let Ok(Some(bytes)) = reader.next().await {
            begin.extend_from_slice(&bytes);
        }
        begin == ELF
    }
}

/// Whether an entry may be a program of the build: an executable file that is in no hidden folder, and in none where
/// tools keep their own programs.
fn may_be_a_program(entry: &v1::FileEntry, folder: &str, own: bool) -> bool {
    let path = String::from_utf8_lossy(&entry.path);
    let folder = if folder == "." { "" } else { folder };
    let within = path.strip_prefix(folder).unwrap_or(&path).trim_start_matches('/');
    let is_foreign = |name: &str| name.starts_with('.') || matches!(name, "CMakeFiles" | "node_modules");
    entry.kind() == v1::FileKind::File
        && entry.mode & 0o111 != 0
        && entry.size > ELF.len() as u64
        && !within.split('/').any(is_foreign)
        && !(own && within.starts_with('_') && within.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_executable_files_outside_of_the_folders_of_tools_are_programs() {
        let entry = |path: &str, kind: v1::FileKind, mode, size| v1::FileEntry {
            path: path.as_bytes().to_vec().into(),
            kind: kind.into(),
            mode,
            size,
            ..v1::FileEntry::default()
        };
        let file = v1::FileKind::File;
        assert!(may_be_a_program(&entry("build/bin/app", file, 0o755, 100), "build", true));
        assert!(may_be_a_program(&entry(".hidden/app", file, 0o755, 100), ".hidden", true));
        assert!(may_be_a_program(&entry("_build/app", file, 0o755, 100), ".", false));
        assert!(!may_be_a_program(&entry(".venv/bin/python", file, 0o755, 100), ".", false));
        assert!(!may_be_a_program(&entry("build/_other/app", file, 0o755, 100), "build", true));
        for other in [
            entry("build/app.o", file, 0o644, 100),
            entry("build/empty", file, 0o755, 0),
            entry("build/sub", v1::FileKind::Folder, 0o755, 100),
            entry("build/link", v1::FileKind::Link, 0o777, 100),
            entry("build/CMakeFiles/3.25/a.out", file, 0o755, 100),
            entry("build/.venv/bin/python", file, 0o755, 100),
            entry("build/node_modules/x/esbuild", file, 0o755, 100),
        ] {
            assert!(!may_be_a_program(&other, "build", true), "{other:?}");
        }
    }
}
