//! Paths in a workspace.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest path: the limit of the kernel.
const MAX_PATH_BYTES: usize = 4096;
/// The longest name in a path.
const MAX_NAME_BYTES: usize = 255;
/// The path of the workspace inside a sandbox.
const HOME_IN_SANDBOX: &str = "/workspace";

/// A path in a workspace, as bytes: names need not be UTF-8. `/src/main.py`, `/workspace/src/main.py` and
/// `src/main.py` are equal. Paths are ordered as in a walk: a folder, its content, then the next entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkspacePath {
    /// The names; no names mean the workspace itself. No name is empty, `.` or `..`, or contains a slash or a zero byte.
    names: Vec<Vec<u8>>,
}

/// Why a text is not a valid path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // each variant has its message
pub enum PathError {
    #[error("the path is empty")]
    Empty,
    #[error("the path `{path}` names a folder")]
    Folder { path: String },
    #[error("the path `{path}` contains `..`")]
    Upwards { path: String },
    #[error("the path contains a zero byte")]
    ZeroByte,
    #[error("the path is {bytes} bytes long, the maximum is {MAX_PATH_BYTES}")]
    TooLong { bytes: usize },
    #[error("a name in the path is {bytes} bytes long, the maximum is {MAX_NAME_BYTES}")]
    NameTooLong { bytes: usize },
}

impl PathError {
    /// How to fix the path.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Empty | Self::Folder { .. } => "name a file in the workspace, for example `src/main.py`",
            Self::Upwards { .. } => "use a path relative to the workspace, for example `src/main.py`",
            Self::ZeroByte => "leave out the zero byte",
            Self::TooLong { .. } | Self::NameTooLong { .. } => "choose a shorter path",
        }
    }
}

impl WorkspacePath {
    /// The workspace itself.
    pub const fn root() -> Self {
        Self { names: Vec::new() }
    }

    /// Parses the path of a file. `home` is the path of the workspace for programs of the session.
    pub fn parse(text: &str, home: &str) -> Result<Self, PathError> {
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        let path = Self::parse_any(text.as_bytes(), home)?;
        if path.is_root() || text.ends_with('/') || text.ends_with("/.") {
            return Err(PathError::Folder { path: text.to_owned() });
        }
        Ok(path)
    }

    /// Parses the path of a file or folder; the path of the workspace itself may be empty.
    pub fn parse_any(path: &[u8], home: &str) -> Result<Self, PathError> {
        if path.len() > MAX_PATH_BYTES {
            return Err(PathError::TooLong { bytes: path.len() });
        }
        if path.contains(&0) {
            return Err(PathError::ZeroByte);
        }
        let within =
            [home, HOME_IN_SANDBOX].iter().find_map(|root| below(path, root.as_bytes())).unwrap_or(path);
        let names = within.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
        let names: Vec<_> = names.map(<[u8]>::to_vec).collect();
        if names.iter().any(|name| name == b"..") {
            return Err(PathError::Upwards { path: shown(path) });
        }
        if let Some(long) = names.iter().find(|name| name.len() > MAX_NAME_BYTES) {
            return Err(PathError::NameTooLong { bytes: long.len() });
        }
        Ok(Self { names })
    }

    /// Whether this is the workspace itself.
    pub fn is_root(&self) -> bool {
        self.names.is_empty()
    }

    /// The names of the path.
    pub fn names(&self) -> &[Vec<u8>] {
        &self.names
    }

    /// The last name; empty for the workspace itself.
    #[allow(dead_code)] // the services of trees ask for it
    pub fn name(&self) -> &[u8] {
        self.names.last().map_or(&[], Vec::as_slice)
    }

    /// The path relative to the workspace, as bytes.
    pub fn bytes(&self) -> Vec<u8> {
        self.names.join(&b'/')
    }

    /// The path of an entry of this folder, unless it would be too long. The name comes from the kernel.
    pub fn join(&self, name: &[u8]) -> Option<Self> {
        let bytes = self.names.iter().map(|name| name.len() + 1).sum::<usize>() + name.len();
        let names = || self.names.iter().cloned().chain([name.to_vec()]).collect();
        (bytes <= MAX_PATH_BYTES).then(|| Self { names: names() })
    }

    /// The parent folder; the workspace is its own parent.
    #[must_use]
    pub fn parent(&self) -> Self {
        Self { names: self.split().0.to_vec() }
    }

    /// The path relative to `folder`, which must contain it.
    #[must_use]
    pub fn below(&self, folder: &Self) -> Self {
        Self { names: self.names.get(folder.names.len()..).unwrap_or_default().to_vec() }
    }

    /// Whether this is `folder` or inside it.
    pub fn is_within(&self, folder: &Self) -> bool {
        self.names.starts_with(&folder.names)
    }

    /// The names of the parents, and the last name.
    pub fn split(&self) -> (&[Vec<u8>], &[u8]) {
        self.names.split_last().map_or((&[], &[]), |(file, folders)| (folders, file))
    }

    /// The absolute path for programs of the session, with the workspace at `home`.
    pub fn in_session(&self, home: &str) -> String {
        format!("{home}/{}", String::from_utf8_lossy(&self.bytes()))
    }
}

/// For messages: bytes that are not text, and control characters, are escaped.
impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.bytes()))
    }
}

fn shown(bytes: &[u8]) -> String {
    let mut shown = String::new();
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            if letter.is_control() {
                shown.extend(letter.escape_default());
            } else {
                shown.push(letter);
            }
        }
        for byte in chunk.invalid() {
            shown.extend(byte.escape_ascii().map(char::from));
        }
    }
    shown
}

/// The rest of a path that begins with a folder.
fn below<'a>(path: &'a [u8], root: &[u8]) -> Option<&'a [u8]> {
    path.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<String, PathError> {
        WorkspacePath::parse(text, "/data/work").map(|path| path.to_string())
    }

    #[test]
    fn a_file_has_one_path_however_it_is_written() {
        for text in [
            "src/main.py",
            "/src/main.py",
            "/workspace/src/main.py",
            "./src//main.py",
            "/workspace//src/./main.py",
            "/data/work/src/main.py",
        ] {
            assert_eq!(parse(text).as_deref(), Ok("src/main.py"), "{text}");
        }
        assert_eq!(parse("/workspacex/a").as_deref(), Ok("workspacex/a"));
        assert_eq!(parse("workspace/a").as_deref(), Ok("workspace/a"));
        assert_eq!(parse("...").as_deref(), Ok("..."));
        let path = WorkspacePath::parse("/a/b", "/workspace").unwrap();
        assert_eq!(path.in_session("/workspace"), "/workspace/a/b");
    }

    #[test]
    fn an_invalid_path_is_refused_with_the_reason() {
        assert_eq!(parse(""), Err(PathError::Empty));
        for folder in ["/", ".", "/workspace", "/workspace/", "src/", "src/.", "./"] {
            assert_eq!(parse(folder), Err(PathError::Folder { path: folder.into() }), "{folder}");
        }
        for upwards in ["..", "../x", "a/../b", "/workspace/../x", "a/.."] {
            assert_eq!(parse(upwards), Err(PathError::Upwards { path: upwards.into() }), "{upwards}");
        }
        assert_eq!(parse("a\0b"), Err(PathError::ZeroByte));
        assert_eq!(parse(&"a/".repeat(2049)), Err(PathError::TooLong { bytes: 4098 }));
        assert_eq!(parse(&"n".repeat(256)), Err(PathError::NameTooLong { bytes: 256 }));
        assert!(parse(&"n".repeat(255)).is_ok());
    }

    #[test]
    fn names_are_bytes_and_the_workspace_itself_has_a_path() {
        for root in ["", "/", ".", "/workspace", "/workspace/", "/data/work"] {
            let path = WorkspacePath::parse_any(root.as_bytes(), "/data/work").unwrap();
            assert!(path.is_root() && path == WorkspacePath::root(), "{root}");
        }
        let odd = WorkspacePath::parse_any(b"a/\xff\n\x1b[2J", "/workspace").unwrap();
        assert_eq!(odd.bytes(), b"a/\xff\n\x1b[2J");
        assert_eq!(odd.to_string(), "a/\\xff\\n\\u{1b}[2J", "people see it on one line");
        let folder = WorkspacePath::parse_any(b"a/", "/workspace").unwrap();
        assert!(odd.is_within(&folder) && !folder.is_within(&odd) && odd.is_within(&WorkspacePath::root()));
        assert_eq!(folder.join(b"\xff\n\x1b[2J"), Some(odd));
        assert_eq!(folder.join(&vec![b'n'; 5000]), None);
        let beside = WorkspacePath::parse_any(b"a.txt", "/workspace").unwrap();
        assert!(folder < folder.join(b"z").unwrap() && folder.join(b"z").unwrap() < beside);
        assert!(WorkspacePath::parse_any(b"a/..", "/workspace").is_err());
    }
}
