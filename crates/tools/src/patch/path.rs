//! Paths in a patch: they stay inside the workspace.

use std::fmt;

/// The longest path, in bytes: the limit of the kernel.
const MAX_PATH_BYTES: usize = 4096;
/// The longest name in a path, in bytes: the limit of the usual file systems.
const MAX_NAME_BYTES: usize = 255;
/// The path of the workspace inside a session.
const WORKSPACE: &str = "/workspace";

/// The path of a file, relative to the workspace. It contains no `.`, no `..` and no empty name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(String);

/// Why a text is not the path of a file in the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// No name is left.
    #[error("it does not name a file")]
    Folder,
    /// A name is `..`.
    #[error("it contains `..`")]
    Upwards,
    /// It begins with `~`.
    #[error("it begins with `~`, which only a shell replaces")]
    Home,
    /// It is absolute, and not below the workspace.
    #[error("it is outside the workspace")]
    Outside,
    /// It contains a zero byte.
    #[error("it contains a zero byte")]
    ZeroByte,
    /// It, or a name in it, is too long.
    #[error("it is too long: a path has at most {MAX_PATH_BYTES} bytes, a name {MAX_NAME_BYTES}")]
    TooLong,
}

impl FilePath {
    /// Reads a path. `home` is the absolute path of the workspace for the session's programs; `/workspace` is
    /// accepted in any case.
    pub fn parse(text: &str, home: &str) -> Result<Self, PathError> {
        if text.contains('\0') {
            return Err(PathError::ZeroByte);
        }
        if text.len() > MAX_PATH_BYTES {
            return Err(PathError::TooLong);
        }
        if text == "~" || text.starts_with("~/") {
            return Err(PathError::Home);
        }
        let within = [home, WORKSPACE].into_iter().find_map(|root| below(text, root));
        if within.is_none() && text.starts_with('/') {
            return Err(PathError::Outside);
        }
        let within = within.unwrap_or(text);
        let names: Vec<_> = within.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
        if names.contains(&"..") {
            return Err(PathError::Upwards);
        }
        if names.iter().any(|name| name.len() > MAX_NAME_BYTES) {
            return Err(PathError::TooLong);
        }
        if names.is_empty() || within.ends_with('/') || within.ends_with("/.") {
            return Err(PathError::Folder);
        }
        Ok(Self(names.join("/")))
    }

    /// The path relative to the workspace.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the file is inside this folder, at any depth.
    pub fn is_below(&self, folder: &Self) -> bool {
        self.0.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
    }

    /// The lower bound of everything that is inside this folder, in the order of paths. Not a path itself.
    pub(super) fn below_bound(&self) -> Self {
        Self(format!("{}/", self.0))
    }

    /// The folders that contain the file, from the outermost one, without the workspace itself.
    pub fn parents(&self) -> impl Iterator<Item = Self> {
        self.0.match_indices('/').map(|(at, _)| Self(self.0[..at].to_owned()))
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The rest of an absolute path below a folder.
fn below<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    let root = root.trim_end_matches('/');
    if root.is_empty() {
        return None; // the whole file system is not a workspace
    }
    path.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}
