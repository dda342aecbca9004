//! Paths that a patch must not name, and entries that it cannot change.

use crate::harness::{Refused, all_are_refused};

const PATHS: &[Refused] = &[
    Refused {
        name: "a path upwards",
        before: &[],
        patch: "*** Add File: ../escape.txt\n+x",
        code: "patch_path_invalid",
        says: &["`../escape.txt` is not valid: it contains `..`", "relative to the workspace"],
    },
    Refused {
        name: "a path upwards in the middle",
        before: &[],
        patch: "*** Delete File: src/../../escape.txt",
        code: "patch_path_invalid",
        says: &["it contains `..`"],
    },
    Refused {
        name: "a path upwards from the workspace's own path",
        before: &[],
        patch: "*** Add File: /workspace/../etc/passwd\n+x",
        code: "patch_path_invalid",
        says: &["it contains `..`"],
    },
    Refused {
        name: "a move upwards",
        before: &[("a", b"x\n")],
        patch: "*** Update File: a\n*** Move to: ../a",
        code: "patch_path_invalid",
        says: &["`../a` is not valid"],
    },
    Refused {
        name: "an absolute path",
        before: &[],
        patch: "*** Add File: /etc/passwd\n+x",
        code: "patch_path_invalid",
        says: &["it is outside the workspace"],
    },
    Refused {
        name: "an absolute path that begins like the workspace",
        before: &[],
        patch: "*** Add File: /workspace2/a\n+x",
        code: "patch_path_invalid",
        says: &["it is outside the workspace"],
    },
    Refused {
        name: "the workspace itself",
        before: &[],
        patch: "*** Delete File: /workspace",
        code: "patch_path_invalid",
        says: &["it does not name a file"],
    },
    Refused {
        name: "a folder",
        before: &[],
        patch: "*** Add File: src/\n+x",
        code: "patch_path_invalid",
        says: &["it does not name a file"],
    },
    Refused {
        name: "a zero byte",
        before: &[],
        patch: "*** Add File: a\0b\n+x",
        code: "patch_path_invalid",
        says: &["it contains a zero byte"],
    },
];

const ENTRIES: &[Refused] = &[
    Refused {
        name: "an update of a missing file",
        before: &[],
        patch: "*** Update File: a\n@@\n-x\n+y",
        code: "patch_file_missing",
        says: &["line 2 of the patch: the file `a` does not exist", "*** Add File:"],
    },
    Refused {
        name: "a deletion of a missing file",
        before: &[],
        patch: "*** Delete File: a",
        code: "patch_file_missing",
        says: &["the file `a` does not exist"],
    },
    Refused {
        name: "a file that the patch deleted",
        before: &[("a", b"x\n")],
        patch: "*** Delete File: a\n*** Update File: a\n@@\n-x\n+y",
        code: "patch_file_missing",
        says: &["line 3 of the patch"],
    },
    Refused {
        name: "a file that the patch moved",
        before: &[("a", b"x\n")],
        patch: "*** Update File: a\n*** Move to: b\n*** Delete File: a",
        code: "patch_file_missing",
        says: &["line 4 of the patch"],
    },
    Refused {
        name: "a deletion of a folder",
        before: &[("src/a", b"x\n")],
        patch: "*** Delete File: src",
        code: "patch_not_a_file",
        says: &["`src` is not a regular file"],
    },
    Refused {
        name: "a new file where a folder is",
        before: &[("src/a", b"x\n")],
        patch: "*** Add File: src\n+x",
        code: "patch_not_a_file",
        says: &["`src` is not a regular file"],
    },
    Refused {
        name: "a new file where the patch needs a folder",
        before: &[],
        patch: "*** Add File: a/b\n+x\n*** Add File: a\n+x",
        code: "patch_not_a_file",
        says: &["line 4 of the patch", "`a` is not a regular file"],
    },
    Refused {
        name: "a link",
        before: &[("a@", b"")],
        patch: "*** Add File: a\n+x",
        code: "patch_not_a_file",
        says: &["folders and links cannot be patched"],
    },
    Refused {
        name: "a path through a link",
        before: &[("a@", b"")],
        patch: "*** Add File: a/b\n+x",
        code: "patch_not_a_file",
        says: &["`a/b` cannot be created, because `a` is not a folder"],
    },
    Refused {
        name: "a path through a file",
        before: &[("a", b"x\n")],
        patch: "*** Add File: a/b/c\n+x",
        code: "patch_not_a_file",
        says: &["because `a` is not a folder"],
    },
    Refused {
        name: "a move into itself",
        before: &[("a", b"x\n")],
        patch: "*** Update File: a\n*** Move to: a/b",
        code: "patch_not_a_file",
        says: &["because `a` is not a folder"],
    },
];

#[test]
fn a_path_outside_the_workspace_is_refused() {
    all_are_refused(PATHS, false);
}

#[test]
fn an_entry_that_is_missing_or_not_a_file_is_refused() {
    all_are_refused(ENTRIES, false);
}
