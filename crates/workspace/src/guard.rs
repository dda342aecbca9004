//! What may be changed in a workspace that is a folder of the host.
//!
//! The walls of such a session keep its programs from changing some paths. Calls from the host pass through no wall, so
//! the same rules are checked here, for every change.

use super::{WorkspaceError, WorkspacePath};

/// The rules of a workspace: the one with the longest path decides. Without a rule nothing may be changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guard(Vec<GuardRule>);

/// Whether a path and everything below it may be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardRule {
    /// The path; it need not exist.
    pub path: WorkspacePath,
    /// Whether it may be changed.
    pub writable: bool,
}

impl Guard {
    /// A guard with these rules, in any order.
    pub const fn new(rules: Vec<GuardRule>) -> Self {
        Self(rules)
    }

    /// Refuses to change the content or the mode of a path that is read-only.
    pub(crate) fn check_content(&self, path: &WorkspacePath) -> Result<(), WorkspaceError> {
        let decides = self
            .0
            .iter()
            .filter(|rule| is_within(path, &rule.path))
            .max_by_key(|rule| rule.path.names().len());
        if decides.is_some_and(|rule| rule.writable) { Ok(()) } else { Err(read_only(path)) }
    }

    /// Refuses to create, replace, rename or remove an entry if that would change a read-only folder, or replace a path
    /// that has a rule: programs of the session would still see the old one.
    pub(crate) fn check_entry(&self, path: &WorkspacePath) -> Result<(), WorkspaceError> {
        if self.0.iter().any(|rule| is_within(&rule.path, path)) {
            return Err(read_only(path));
        }
        self.check_content(&path.parent()).map_err(|_| read_only(path))
    }

    /// Refuses a change of the workspace as a whole.
    pub(crate) fn refuse_all() -> Result<(), WorkspaceError> {
        Err(read_only(&WorkspacePath::root()))
    }
}

/// Whether a path is a folder or in it. Case is ignored, because some file systems ignore it.
fn is_within(path: &WorkspacePath, folder: &WorkspacePath) -> bool {
    let (path, folder) = (path.names(), folder.names());
    path.len() >= folder.len() && path.iter().zip(folder).all(|(a, b)| a.eq_ignore_ascii_case(b))
}

fn read_only(path: &WorkspacePath) -> WorkspaceError {
    WorkspaceError::ReadOnly { path: path.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> WorkspacePath {
        WorkspacePath::parse_any(text.as_bytes(), "/workspace").unwrap()
    }

    fn guard(rules: &[(&str, bool)]) -> Guard {
        Guard::new(
            rules.iter().map(|(at, writable)| GuardRule { path: path(at), writable: *writable }).collect(),
        )
    }

    #[test]
    fn the_longest_rule_decides_and_nothing_else_is_writable() {
        let guard = guard(&[("", true), (".git", false), (".git/objects", true)]);
        for (text, may) in [
            ("a", true),
            ("a/.git/config", true),
            (".git", false),
            (".GIT/config", false),
            (".git/config", false),
            (".git/objects/ab", true),
            (".github/x", true),
        ] {
            assert_eq!(guard.check_content(&path(text)).is_ok(), may, "{text}");
        }
        assert!(Guard::default().check_content(&path("a")).is_err());
    }

    #[test]
    fn entries_of_read_only_folders_and_paths_with_a_rule_stay() {
        let open = guard(&[("", true), (".git", false), ("a/b", true)]);
        for (text, may) in [
            ("x", true),
            ("a/x", true),
            ("a/b/x", true),
            (".git", false),
            (".git/hooks", false),
            (".Git/hooks/pre-commit", false),
            ("a", false),
            ("a/b", false),
        ] {
            assert_eq!(open.check_entry(&path(text)).is_ok(), may, "{text}");
        }
        let closed = guard(&[("", false), ("out", true)]);
        assert!(closed.check_entry(&path("x")).is_err() && closed.check_entry(&path("out")).is_err());
        assert!(closed.check_entry(&path("out/x")).is_ok() && Guard::refuse_all().is_err());
    }
}
