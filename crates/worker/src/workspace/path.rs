//! Paths in a workspace, as callers write them.

use std::fmt;

/// The longest path that is taken: what the kernel takes, too.
const MAX_PATH_BYTES: usize = 4096;
/// The longest name in one.
const MAX_NAME_BYTES: usize = 255;
/// Where programs find the workspace behind walls.
const INSIDE: &str = "/workspace";

/// The path of a file in a workspace. `/src/main.py`, `/workspace/src/main.py` and `src/main.py` are the same one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkspacePath {
    /// At least one; none is empty, `.` or `..`, or has a slash or a zero byte.
    names: Vec<String>,
}

/// Why a text is no path of a file in a workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PathError {
    #[error("the path is empty")]
    Empty,
    #[error("the path `{path}` names a folder")]
    Folder { path: String },
    #[error("the path `{path}` contains `..`")]
    Upwards { path: String },
    #[error("the path contains a zero byte")]
    ZeroByte,
    #[error("the path is {bytes} bytes long: {MAX_PATH_BYTES} are the most")]
    TooLong { bytes: usize },
    #[error("a name in the path is {bytes} bytes long: {MAX_NAME_BYTES} are the most")]
    NameTooLong { bytes: usize },
}

impl PathError {
    /// What to do next.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Empty | Self::Folder { .. } => "name a file in the workspace, for example `src/main.py`",
            Self::Upwards { .. } => "write the path from the workspace on, for example `src/main.py`",
            Self::ZeroByte => "leave out the zero byte",
            Self::TooLong { .. } | Self::NameTooLong { .. } => "choose a shorter path",
        }
    }
}

impl WorkspacePath {
    /// Understands a path. `home` is where programs of the session see the workspace.
    pub(crate) fn parse(text: &str, home: &str) -> Result<Self, PathError> {
        if text.len() > MAX_PATH_BYTES {
            return Err(PathError::TooLong { bytes: text.len() });
        }
        if text.contains('\0') {
            return Err(PathError::ZeroByte);
        }
        let within = [home, INSIDE].iter().find_map(|root| below(text, root)).unwrap_or(text);
        let names: Vec<_> = within.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
        if names.contains(&"..") {
            return Err(PathError::Upwards { path: text.to_owned() });
        }
        if let Some(long) = names.iter().find(|name| name.len() > MAX_NAME_BYTES) {
            return Err(PathError::NameTooLong { bytes: long.len() });
        }
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        if names.is_empty() || within.ends_with('/') || within.ends_with("/.") {
            return Err(PathError::Folder { path: text.to_owned() });
        }
        Ok(Self { names: names.into_iter().map(str::to_owned).collect() })
    }

    /// The names of the folders it goes through, and of the file.
    pub(super) fn split(&self) -> (&[String], &str) {
        self.names.split_last().map_or((&[], ""), |(file, folders)| (folders, file))
    }

    /// As programs see it that see the workspace at `home`.
    pub(crate) fn inside(&self, home: &str) -> String {
        format!("{home}/{self}")
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names.join("/"))
    }
}

/// What comes after a folder in a path that begins with it.
fn below<'a>(text: &'a str, root: &str) -> Option<&'a str> {
    text.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/'))
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
        assert_eq!(path.inside("/workspace"), "/workspace/a/b");
    }

    #[test]
    fn what_is_no_path_of_a_file_is_refused_with_the_reason() {
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
}
