//! Patches that do not match their files, and what the model reads then.

use crate::harness::{Refused, all_are_refused};

const MISMATCHES: &[Refused] = &[
    Refused {
        name: "lines that are nowhere",
        before: &[("a", b"one\n")],
        patch: "*** Update File: a\n@@\n-two\n+2",
        code: "patch_does_not_match",
        says: &["not found in `a`:\ntwo\n", "No line of the file is `two`", "read the file again"],
    },
    Refused {
        name: "lines that match in part",
        before: &[("a", b"zero\none\ntwo\nthree\n")],
        patch: "*** Update File: a\n@@\n one\n two\n-four\n+4",
        code: "patch_does_not_match",
        says: &["The first 2 of 3 lines match at line 2, but line 4 is `three` and not `four`"],
    },
    Refused {
        name: "lines beyond the end of the file",
        before: &[("a", b"one\n")],
        patch: "*** Update File: a\n@@\n one\n-two",
        code: "patch_does_not_match",
        says: &["the file ends before `two`"],
    },
    Refused {
        name: "hunks in the wrong order",
        before: &[("a", b"one\ntwo\nthree\n")],
        patch: "*** Update File: a\n@@\n-three\n+3\n@@\n-one\n+1",
        code: "patch_does_not_match",
        says: &["line 6 of the patch", "They are at line 1, above the previous hunk", "order the hunks"],
    },
    Refused {
        name: "lines above their context",
        before: &[("a", b"x\ndef f():\ny\n")],
        patch: "*** Update File: a\n@@ def f():\n-x\n+z",
        code: "patch_does_not_match",
        says: &["They are at line 1, above the previous hunk or the `@@` context"],
    },
    Refused {
        name: "a context that is only a part of a line",
        before: &[("a", b"class A(B):\n    x\n")],
        patch: "*** Update File: a\n@@ class A\n-    x\n+    y",
        code: "patch_does_not_match",
        says: &["the context `@@ class A` was not found in `a`", "line 1 is `class A(B):`"],
    },
    Refused {
        name: "a context that is nowhere, though the lines are unique",
        before: &[("a", b"one\ntwo\n")],
        patch: "*** Update File: a\n@@ def f():\n-two\n+2",
        code: "patch_does_not_match",
        says: &["`@@ def f():` was not found", "must be a whole line"],
    },
    Refused {
        name: "added lines after a context that is nowhere",
        before: &[("a", b"one\n")],
        patch: "*** Update File: a\n@@ two\n+x",
        code: "patch_does_not_match",
        says: &["`@@ two` was not found"],
    },
    Refused {
        name: "lines of an empty file",
        before: &[("a", b"")],
        patch: "*** Update File: a\n@@\n-one",
        code: "patch_does_not_match",
        says: &["No line of the file is `one`"],
    },
    Refused {
        name: "overlapping hunks",
        before: &[("a", b"one\ntwo\nthree\n")],
        patch: "*** Update File: a\n@@\n one\n-two\n+2\n@@\n-two\n three",
        code: "patch_does_not_match",
        says: &["line 7 of the patch", "above the previous hunk"],
    },
    Refused {
        name: "the replacement character instead of bytes that are not UTF-8",
        before: &[("a", b"caf\xe9 one\n")],
        patch: "*** Update File: a\n@@\n-caf\u{fffd} one\n+caf\u{fffd} two",
        code: "patch_not_text",
        says: &["line 1 of `a` has bytes that are not UTF-8", "leave that line unchanged"],
    },
    Refused {
        name: "the second file does not match",
        before: &[("a", b"one\n"), ("b", b"one\n")],
        patch: "*** Update File: a\n@@\n-one\n+1\n*** Add File: c\n+x\n*** Update File: b\n@@\n-two\n+2",
        code: "patch_does_not_match",
        says: &["not found in `b`"],
    },
];

#[test]
fn a_patch_that_does_not_match_says_what_the_file_has_instead() {
    all_are_refused(MISMATCHES, false);
}
