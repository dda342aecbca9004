//! Texts that are not patches, and what the model reads then.

use crate::harness::{Refused, all_are_refused};

const MALFORMED: &[Refused] = &[
    Refused {
        name: "nothing at all",
        before: &[],
        patch: " \n",
        code: "patch_malformed",
        says: &["the patch is empty", "*** Begin Patch"],
    },
    Refused {
        name: "no sections",
        before: &[],
        patch: "*** Begin Patch\n*** End Patch",
        code: "patch_malformed",
        says: &["it changes no file", "at least one section"],
    },
    Refused {
        name: "no beginning",
        before: &[],
        patch: "Here is the patch:\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch",
        code: "patch_malformed",
        says: &[
            "line 1 of the patch",
            "the first line of the patch must be `*** Begin Patch`",
            "send only the patch",
        ],
    },
    Refused {
        name: "a unified diff",
        before: &[],
        patch: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n",
        code: "patch_malformed",
        says: &["this is a unified diff", "*** Update File: PATH"],
    },
    Refused {
        name: "cut off before its end",
        before: &[],
        patch: "*** Begin Patch\n*** Add File: a\n+x",
        code: "patch_malformed",
        says: &["line 3 of the patch", "the last line of the patch must be `*** End Patch`", "cut off"],
    },
    Refused {
        name: "text after the end",
        before: &[],
        patch: "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nDone!",
        code: "patch_malformed",
        says: &["line 5", "remove the text after `*** End Patch`"],
    },
    Refused {
        name: "two patches",
        before: &[],
        patch: "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n*** Begin Patch\n*** Add File: b\n*** End Patch",
        code: "patch_malformed",
        says: &["line 4", "`*** End Patch` does not begin a section"],
    },
];

const SECTIONS: &[Refused] = &[
    Refused {
        name: "an unknown section",
        before: &[],
        patch: "*** Rename File: a",
        code: "patch_malformed",
        says: &["line 2", "`*** Rename File: a` does not begin a section", "*** Add File: PATH"],
    },
    Refused {
        name: "a section without a path",
        before: &[],
        patch: "*** Delete File:",
        code: "patch_malformed",
        says: &["the section names no file"],
    },
    Refused {
        name: "a move without a path",
        before: &[("a", b"x\n")],
        patch: "*** Update File: a\n*** Move to:\n@@\n-x",
        code: "patch_malformed",
        says: &["line 3", "the move names no file"],
    },
    Refused {
        name: "a new file without plus",
        before: &[],
        patch: "*** Add File: a\n+one\ntwo",
        code: "patch_malformed",
        says: &["line 4", "`two` is not a line of a new file", "begin every line of the new file with `+`"],
    },
    Refused {
        name: "a hunk line without its mark",
        before: &[("a", b"one\n")],
        patch: "*** Update File: a\n@@\n-one\nwhat",
        code: "patch_malformed",
        says: &["line 5", "`what` is not a line of a hunk", "a space"],
    },
    Refused {
        name: "a header without a space",
        before: &[("a", b"@@x = 1\n")],
        patch: "*** Update File: a\n@@x = 1\n-y",
        code: "patch_malformed",
        says: &["`@@x = 1` is not the header of a hunk"],
    },
    Refused {
        name: "an update without hunks",
        before: &[("a", b"one\n")],
        patch: "*** Update File: a",
        code: "patch_malformed",
        says: &["the section of `a` changes nothing"],
    },
    Refused {
        name: "an update that only has context",
        before: &[("a", b"one\n")],
        patch: "*** Update File: a\n@@\n one",
        code: "patch_malformed",
        says: &["the section of `a` changes nothing"],
    },
    Refused {
        name: "a header without lines",
        before: &[("a", b"one\n")],
        patch: "*** Update File: a\n@@\n-one\n@@ one",
        code: "patch_malformed",
        says: &["line 5", "the hunk has no lines"],
    },
    Refused {
        name: "only the end of the file",
        before: &[("a", b"one\n")],
        patch: "*** Update File: a\n@@\n*** End of File",
        code: "patch_malformed",
        says: &["the hunk has no lines"],
    },
];

#[test]
fn a_text_that_is_not_one_whole_patch_is_refused() {
    all_are_refused(MALFORMED, true);
}

#[test]
fn a_malformed_section_is_refused_with_its_line_and_the_right_form() {
    all_are_refused(SECTIONS, false);
}

#[test]
fn a_patch_that_is_too_long_is_refused_before_it_is_read() {
    let error = headwater_tools::patch::Patch::parse(&"x".repeat(20 << 20)).unwrap_err();
    assert_eq!(error.code(), "patch_too_large");
    assert!(error.text().contains("split the patch"), "{}", error.text());
}
