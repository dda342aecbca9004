//! Locations of files: here, or in a session.

use std::path::PathBuf;

/// The workspace inside a session: absolute paths may begin with it.
const WORKSPACE: &str = "/workspace";

/// Where a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// On this machine.
    Here(PathBuf),
    /// In a session.
    Session {
        /// The id, a prefix of the id, or the name of the session.
        session: String,
        /// The path below the workspace, as it was written.
        path: String,
    },
}

impl Location {
    /// `SESSION:PATH` is in a session, unless a slash precedes the colon or, on Windows, a drive does.
    pub fn parse(text: &str) -> Self {
        let split = text.split_once(':').filter(|(session, _)| {
            let is_drive = cfg!(windows) && session.len() == 1;
            !session.is_empty() && !session.contains(['/', '\\']) && *session != "." && !is_drive
        });
        match split {
            Some((session, path)) => {
                let path = match path.strip_prefix(WORKSPACE) {
                    Some(rest) if rest.is_empty() || rest.starts_with('/') => rest.trim_start_matches('/'),
                    _ => path,
                };
                Self::Session { session: session.to_owned(), path: path.to_owned() }
            }
            None => Self::Here(text.into()),
        }
    }
}

/// A path in a workspace as a folder and a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InWorkspace {
    /// The path without `.` and unneeded slashes; empty for the workspace.
    pub path: String,
    /// Whether only the contents of the folder are meant: it ends in `/.`, or is the workspace.
    pub contents: bool,
    /// Whether it must be a folder: it ends in a slash.
    pub folder: bool,
}

impl InWorkspace {
    /// Parses a path as it was written.
    pub fn new(text: &str) -> Self {
        let parts: Vec<_> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        let contents = parts.is_empty() || text.ends_with("/.");
        Self { path: parts.join("/"), contents, folder: text.ends_with('/') || contents }
    }

    /// The folder and the name.
    pub fn split(&self) -> (&str, &str) {
        self.path.rsplit_once('/').unwrap_or(("", &self.path))
    }

    /// The path of something in this folder.
    pub fn join(&self, name: &str) -> Self {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}/{name}", self.path) };
        Self { path, contents: false, folder: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_in_a_session_if_a_name_and_a_colon_precede_the_path() {
        let inside = |text: &str| match Location::parse(text) {
            Location::Session { session, path } => Some((session, path)),
            Location::Here(_) => None,
        };
        let at = |session: &str, path: &str| Some((session.to_owned(), path.to_owned()));
        assert_eq!(inside("dev:a/b"), at("dev", "a/b"));
        assert_eq!(inside("dev:"), at("dev", ""));
        assert_eq!(inside("dev:/workspace/a"), at("dev", "a"));
        assert_eq!(inside("dev:/workspaces"), at("dev", "/workspaces"));
        for here in ["a", "./a:b", "/a:b", ":a", "a/b:c"] {
            assert_eq!(inside(here), None, "{here}");
        }
    }

    #[test]
    fn a_path_in_a_workspace_is_a_folder_and_a_name() {
        let parsed = |text| {
            let path = InWorkspace::new(text);
            (path.path, path.contents, path.folder)
        };
        assert_eq!(parsed("a//./b"), ("a/b".to_owned(), false, false));
        assert_eq!(parsed("a/b/"), ("a/b".to_owned(), false, true));
        assert_eq!(parsed("a/."), ("a".to_owned(), true, true));
        assert_eq!(parsed("."), (String::new(), true, true));
        assert_eq!(InWorkspace::new("a/b").split(), ("a", "b"));
        assert_eq!(InWorkspace::new("").join("x").path, "x");
    }
}
