//! Sections of a patch that concern several files, or one file several times.

use headwater_tools::patch::Change;

use crate::harness::{Applied, all_apply, files, path, planned, wrapped};

const CASES: &[Applied] = &[
    Applied {
        name: "adding replaces an existing file",
        before: &[("a", b"old\n")],
        patch: "*** Add File: a\n+new",
        after: &[("a", b"new\n")],
        summary: "A a",
    },
    Applied {
        name: "parents are created",
        before: &[],
        patch: "*** Add File: x/y/z\n+1",
        after: &[("x/y/z", b"1\n")],
        summary: "A x/y/z",
    },
    Applied {
        name: "a move without changes",
        before: &[("a", b"one\xff")],
        patch: "*** Update File: a\n*** Move to: b/c",
        after: &[("b/c", b"one\xff")],
        summary: "M b/c",
    },
    Applied {
        name: "a move replaces an existing file",
        before: &[("a", b"one\n"), ("b", b"two\n")],
        patch: "*** Update File: a\n*** Move to: b\n@@\n-one\n+1",
        after: &[("b", b"1\n")],
        summary: "M b",
    },
    Applied {
        name: "a move to the same path",
        before: &[("a", b"one\n")],
        patch: "*** Update File: a\n*** Move to: ./a\n@@\n-one\n+1",
        after: &[("a", b"1\n")],
        summary: "M a",
    },
    Applied {
        name: "a file is updated twice",
        before: &[("a", b"one\ntwo\n")],
        patch: "*** Update File: a\n@@\n-two\n+2\n*** Update File: a\n@@\n-one\n+1\n 2",
        after: &[("a", b"1\n2\n")],
        summary: "M a",
    },
    Applied {
        name: "a file is added and updated",
        before: &[],
        patch: "*** Add File: a\n+one\n*** Update File: a\n@@\n-one\n+1",
        after: &[("a", b"1\n")],
        summary: "A a\nM a",
    },
    Applied {
        name: "a file is deleted and added",
        before: &[("a", b"one\n")],
        patch: "*** Delete File: a\n*** Add File: a\n+1",
        after: &[("a", b"1\n")],
        summary: "A a\nD a",
    },
    Applied {
        name: "a file is added and deleted",
        before: &[],
        patch: "*** Add File: a\n+1\n*** Delete File: a",
        after: &[],
        summary: "A a\nD a",
    },
    Applied {
        name: "a file is moved and its old path used again",
        before: &[("a", b"one\n")],
        patch: "*** Update File: a\n*** Move to: b\n*** Add File: a\n+new",
        after: &[("a", b"new\n"), ("b", b"one\n")],
        summary: "A a\nM b",
    },
    Applied {
        name: "a file is moved twice",
        before: &[("a", b"one\n")],
        patch: "*** Update File: a\n*** Move to: b\n*** Update File: b\n*** Move to: c\n@@\n-one\n+1",
        after: &[("c", b"1\n")],
        summary: "M b\nM c",
    },
    Applied {
        name: "files move up in a chain",
        before: &[("a", b"1\n"), ("b", b"2\n")],
        patch: "*** Update File: b\n*** Move to: c\n*** Update File: a\n*** Move to: b",
        after: &[("b", b"1\n"), ("c", b"2\n")],
        summary: "M c\nM b",
    },
    Applied {
        name: "two files change places",
        before: &[("a", b"1\n"), ("b", b"2\n")],
        patch: "*** Update File: a\n*** Move to: t\n*** Update File: b\n*** Move to: a\n\
                *** Update File: t\n*** Move to: b",
        after: &[("a", b"2\n"), ("b", b"1\n")],
        summary: "M t\nM a\nM b",
    },
    Applied {
        name: "a file becomes a folder",
        before: &[("a", b"one\n")],
        patch: "*** Delete File: a\n*** Add File: a/b\n+1",
        after: &[("a/b", b"1\n")],
        summary: "A a/b\nD a",
    },
    Applied {
        name: "two files move below each other's old paths",
        before: &[("a", b"1\n"), ("b", b"2\n")],
        patch: "*** Update File: a\n*** Move to: t\n*** Update File: b\n*** Move to: a/b\n\
                *** Update File: t\n*** Move to: b/a",
        after: &[("a/b", b"2\n"), ("b/a", b"1\n")],
        summary: "M t\nM a/b\nM b/a",
    },
    Applied {
        name: "all ways to write a path",
        before: &[("src/a", b"one\n"), ("src/b", b"one\n")],
        patch: "*** Update File: ./src//a\n@@\n-one\n+1\n*** Update File: /workspace/src/b\n@@\n-one\n+2\n\
                *** Add File: /home/agent/project/c\n+3",
        after: &[("c", b"3\n"), ("src/a", b"1\n"), ("src/b", b"2\n")],
        summary: "A c\nM src/a\nM src/b",
    },
];

#[test]
fn sections_apply_in_order_to_the_result_of_those_before() {
    all_apply(CASES, false);
}

#[test]
fn a_moved_file_is_renamed_and_its_content_sent_only_if_it_changes() {
    let before = files(&[("a", b"one\n"), ("b", b"two\n")]);
    let patch =
        wrapped("*** Update File: a\n*** Move to: c\n*** Update File: b\n*** Move to: d\n@@\n-two\n+2");
    let changes = planned(&before, &patch).unwrap().changes;
    let rename = |from: &str, to: &str, version: &[u8], bytes: Option<&[u8]>| Change::Rename {
        from: path(from),
        version: format!("{version:?}"),
        to: path(to),
        replaces: None,
        bytes: bytes.map(<[u8]>::to_vec),
    };
    assert_eq!(changes, [rename("a", "c", b"one\n", None), rename("b", "d", b"two\n", Some(b"2\n"))]);
}

#[test]
fn a_patch_of_a_thousand_files_is_one_plan() {
    let before = (0..1000).map(|n| (format!("dir/{n}"), format!("{n}\nold\n").into_bytes())).collect();
    let sections: Vec<_> =
        (0..1000).map(|n| format!("*** Update File: dir/{n}\n@@\n {n}\n-old\n+new")).collect();
    let plan = planned(&before, &wrapped(&sections.join("\n"))).unwrap();
    assert_eq!((plan.changes.len(), plan.modified.len()), (1000, 1000));
}

#[test]
fn repeated_lines_do_not_make_a_search_slow() {
    // Compared line by line at every place, this would take 40 billion comparisons in each pass.
    let before = [("a".to_owned(), "x\n".repeat(400_000).into_bytes())].into();
    let hunk = " x\n".repeat(100_000);
    let error = planned(&before, &wrapped(&format!("*** Update File: a\n@@\n{hunk}-y"))).unwrap_err();
    assert_eq!(error.code(), "patch_does_not_match");
}
