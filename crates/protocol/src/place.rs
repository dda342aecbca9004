//! In-place workspaces: a session whose workspace is an existing folder of the host.

use serde::{Deserialize, Serialize};

use crate::SpecError;

/// The longest path that the kernel accepts, in bytes.
const MAX_PATH_BYTES: usize = 4096;
/// The most further writable paths: each takes a few mounts, and a session's root has room for hundreds.
const MAX_WRITABLE: usize = 64;

/// How far the walls of an in-place session let its programs go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlaceMode {
    /// Everything but `/tmp` is read-only.
    ReadOnly,
    /// The folder and the further writable paths are writable.
    WorkspaceWrite,
    /// No walls at all: an explicit choice of the person at the command line.
    DangerFullAccess,
}

impl PlaceMode {
    /// All modes.
    pub const ALL: [Self; 3] = [Self::ReadOnly, Self::WorkspaceWrite, Self::DangerFullAccess];

    /// The name on the wire and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::DangerFullAccess => "danger-full-access",
        }
    }

    /// Whether programs run behind walls.
    pub const fn has_walls(self) -> bool {
        !matches!(self, Self::DangerFullAccess)
    }
}

/// The folder of an in-place session. Only callers on this machine can set it; the API has no field for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The absolute path of the folder on the host, which is also its path inside.
    pub folder: String,
    /// How far the walls let programs go.
    pub mode: PlaceMode,
    /// Absolute paths of further files and folders of the host that programs may change.
    #[serde(default)]
    pub writable: Vec<String>,
}

impl Place {
    /// Checks everything that does not depend on the host.
    pub(crate) fn check(&self) -> Result<(), SpecError> {
        check_path("the folder", &self.folder)?;
        if self.writable.len() > MAX_WRITABLE {
            let what =
                format!("{} writable paths were given: the maximum is {MAX_WRITABLE}", self.writable.len());
            return Err(SpecError::Place { what });
        }
        self.writable.iter().try_for_each(|path| check_path("the writable path", path))
    }
}

/// Accepts an absolute path with one spelling: without `.`, `..`, empty names and a final slash.
fn check_path(what: &str, path: &str) -> Result<(), SpecError> {
    let names = || path.strip_prefix('/').into_iter().flat_map(|rest| rest.split('/'));
    let plain =
        path == "/" || (path.starts_with('/') && names().all(|name| !matches!(name, "" | "." | "..")));
    if plain && !path.contains('\0') && path.len() <= MAX_PATH_BYTES {
        return Ok(());
    }
    let what = format!(
        "{what} `{}` is not an absolute path in its plain form, such as `/home/me/project`",
        path.escape_debug()
    );
    Err(SpecError::Place { what })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(folder: &str, writable: &[&str]) -> Place {
        let writable = writable.iter().map(|path| (*path).to_owned()).collect();
        Place { folder: folder.to_owned(), mode: PlaceMode::WorkspaceWrite, writable }
    }

    #[test]
    fn a_place_has_plain_absolute_paths() {
        assert_eq!(place("/a/b c/ü", &["/x"]).check(), Ok(()));
        assert_eq!(place("/", &[]).check(), Ok(()));
        let long = format!("/{}", "x".repeat(MAX_PATH_BYTES));
        for wrong in ["", "a", "./a", "/a/", "/a//b", "/a/../b", "/a/./b", "/a\0", &long] {
            assert!(matches!(place(wrong, &[]).check(), Err(SpecError::Place { .. })), "{wrong}");
            assert!(matches!(place("/a", &[wrong]).check(), Err(SpecError::Place { .. })), "{wrong}");
        }
        assert!(place("/a", &["/x"; MAX_WRITABLE + 1]).check().is_err());
    }

    #[test]
    fn modes_have_the_same_name_everywhere() {
        for mode in PlaceMode::ALL {
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.name());
        }
    }
}
