//! Paths in a session's workspace, as clients write them: `/src/a`, `/workspace/src/a` and `src/a` are the same
//! path. The worker applies the same rule (`headwater_workspace::WorkspacePath`).

/// The path of the workspace inside a session.
pub(crate) const WORKSPACE: &str = "/workspace";
/// The longest path: the limit of the kernel.
pub(crate) const MAX_PATH_BYTES: usize = 4096;

/// The names of a path in the workspace; none for the workspace itself. `..` is a name like any other.
pub(crate) fn names(path: &str) -> impl Iterator<Item = &str> {
    let within = path.strip_prefix(WORKSPACE).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    within.unwrap_or(path).split('/').filter(|name| !matches!(*name, "" | "."))
}

/// The absolute path inside the session of a path in the workspace.
pub(crate) fn absolute(path: &str) -> String {
    names(path).fold(WORKSPACE.to_owned(), |path, name| path + "/" + name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_to_write_a_path_give_the_same_names() {
        for path in ["/workspace/src/a", "/src/a", "src/a", "./src//a/", "/workspace/./src/a"] {
            assert_eq!(names(path).collect::<Vec<_>>(), ["src", "a"], "{path}");
            assert_eq!(absolute(path), "/workspace/src/a", "{path}");
        }
    }

    #[test]
    fn the_workspace_itself_has_no_names() {
        for path in ["", ".", "/", "/workspace", "/workspace/"] {
            assert_eq!(names(path).count(), 0, "{path}");
            assert_eq!(absolute(path), WORKSPACE, "{path}");
        }
        assert_eq!(absolute("workspace"), "/workspace/workspace");
        assert_eq!(absolute("/workspacex"), "/workspace/workspacex");
    }
}
