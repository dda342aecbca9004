//! The grammar, and what is accepted besides it.

use crate::harness::{Applied, all_apply};

const WHOLE: &[Applied] = &[
    Applied {
        name: "a plain patch",
        before: &[("a", b"one\ntwo\n")],
        patch: "*** Begin Patch\n*** Update File: a\n@@\n one\n-two\n+2\n*** End Patch",
        after: &[("a", b"one\n2\n")],
        summary: "M a",
    },
    Applied {
        name: "blank lines around the patch",
        before: &[],
        patch: "\n\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n\n \n",
        after: &[("a", b"x\n")],
        summary: "A a",
    },
    Applied {
        name: "whitespace around the markers",
        before: &[("a", b"one\n")],
        patch: "  *** Begin Patch  \n\t*** Update File:   a  \n@@  \n-one\n+1\n   *** End Patch\t",
        after: &[("a", b"1\n")],
        summary: "M a",
    },
    Applied {
        name: "a here-document with a quoted word",
        before: &[],
        patch: "<<'EOF'\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nEOF\n",
        after: &[("a", b"x\n")],
        summary: "A a",
    },
    Applied {
        name: "a here-document with double quotes",
        before: &[],
        patch: "<<\"PATCH\"\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nPATCH",
        after: &[("a", b"x\n")],
        summary: "A a",
    },
    Applied {
        name: "a here-document of the command",
        before: &[],
        patch: "apply_patch <<EOF\n*** Begin Patch\n*** Add File: a\n+EOF\n*** End Patch\nEOF",
        after: &[("a", b"EOF\n")],
        summary: "A a",
    },
    Applied {
        name: "a here-document through a pipe",
        before: &[],
        patch: "cat <<-'EOF' | apply_patch\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nEOF",
        after: &[("a", b"x\n")],
        summary: "A a",
    },
    Applied {
        name: "a here-document without its end",
        before: &[],
        patch: "<<EOF\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch",
        after: &[("a", b"x\n")],
        summary: "A a",
    },
    Applied {
        name: "a code fence",
        before: &[],
        patch: "```diff\n*** Begin Patch\n*** Add File: a\n+```\n*** End Patch\n```\n",
        after: &[("a", b"```\n")],
        summary: "A a",
    },
    Applied {
        name: "an indented patch",
        before: &[("a", b"one\n  two\n")],
        patch: "    *** Begin Patch\n    *** Update File: a\n    @@\n     one\n    -  two\n    +  2\n    *** End Patch",
        after: &[("a", b"one\n  2\n")],
        summary: "M a",
    },
    Applied {
        name: "an environment",
        before: &[],
        patch: "*** Begin Patch\n*** Environment ID: box-1\n*** Add File: a\n+x\n*** End Patch",
        after: &[("a", b"x\n")],
        summary: "A a",
    },
    Applied {
        name: "a patch with CRLF changes a file with newlines",
        before: &[("a", b"one\ntwo\n")],
        patch: "*** Begin Patch\r\n*** Update File: a\r\n@@\r\n one\r\n-two\r\n+2\r\n*** End Patch\r\n",
        after: &[("a", b"one\n2\n")],
        summary: "M a",
    },
    Applied {
        name: "a byte order mark before the patch",
        before: &[],
        patch: "\u{feff}*** Begin Patch\n*** Add File: a\n+x\n*** End Patch",
        after: &[("a", b"x\n")],
        summary: "A a",
    },
];

const SECTIONS: &[Applied] = &[
    Applied {
        name: "an empty new file",
        before: &[],
        patch: "*** Add File: pkg/__init__.py",
        after: &[("pkg/__init__.py", b"")],
        summary: "A pkg/__init__.py",
    },
    Applied {
        name: "a new file with empty lines and marks",
        before: &[],
        patch: "*** Add File: a\n+\n++plus\n+-minus\n+*** End Patch\n+",
        after: &[("a", b"\n+plus\n-minus\n*** End Patch\n\n")],
        summary: "A a",
    },
    Applied {
        name: "a forgotten plus before an empty line",
        before: &[],
        patch: "*** Add File: a\n+one\n\n+two\n\n*** Add File: b\n+x",
        after: &[("a", b"one\n\ntwo\n"), ("b", b"x\n")],
        summary: "A a\nA b",
    },
    Applied {
        name: "the first header may be missing",
        before: &[("a", b"one\ntwo\n")],
        patch: "*** Update File: a\n one\n-two\n+2",
        after: &[("a", b"one\n2\n")],
        summary: "M a",
    },
    Applied {
        name: "an empty line is a line of context",
        before: &[("a", b"one\n\ntwo\n")],
        patch: "*** Update File: a\n@@\n one\n\n-two\n+2",
        after: &[("a", b"one\n\n2\n")],
        summary: "M a",
    },
    Applied {
        name: "empty lines between hunks and sections",
        before: &[("a", b"one\ntwo\nthree\n"), ("b", b"x\n")],
        patch: "\n*** Update File: a\n\n@@\n-one\n+1\n\n@@\n-three\n+3\n\n\n*** Delete File: b\n",
        after: &[("a", b"1\ntwo\n3\n")],
        summary: "M a\nD b",
    },
    Applied {
        name: "all kinds of sections, listed by kind",
        before: &[("d", b"x\n"), ("m", b"one\n"), ("o", b"two\n")],
        patch: "*** Delete File: d\n*** Update File: m\n@@\n-one\n+1\n*** Add File: n\n+new\n\
                *** Update File: o\n*** Move to: p\n@@\n-two\n+2",
        after: &[("m", b"1\n"), ("n", b"new\n"), ("p", b"2\n")],
        summary: "A n\nM m\nM p\nD d",
    },
    Applied {
        name: "a marker with a space before it is context",
        before: &[("a", b"*** End of File\nx\n")],
        patch: "*** Update File: a\n@@\n *** End of File\n-x\n+y",
        after: &[("a", b"*** End of File\ny\n")],
        summary: "M a",
    },
    Applied {
        name: "the header of a unified diff selects the nearest match",
        before: &[("a", b"x\n1\nx\n2\nx\n3\n")],
        patch: "*** Update File: a\n@@ -3,1 +3,1 @@ fn f()\n-x\n+y",
        after: &[("a", b"x\n1\ny\n2\nx\n3\n")],
        summary: "M a",
    },
    Applied {
        name: "a hunk without changes leads to the next one",
        before: &[("a", b"f:\n x\ng:\n x\n")],
        patch: "*** Update File: a\n@@\n g:\n@@\n- x\n+ y",
        after: &[("a", b"f:\n x\ng:\n y\n")],
        summary: "M a",
    },
    Applied {
        name: "a path with spaces",
        before: &[("my file.txt", b"x\n")],
        patch: "*** Update File: my file.txt\n@@\n-x\n+y",
        after: &[("my file.txt", b"y\n")],
        summary: "M my file.txt",
    },
];

#[test]
fn a_patch_is_read_leniently_whatever_is_around_it() {
    all_apply(WHOLE, true);
}

#[test]
fn every_section_of_the_grammar_applies() {
    all_apply(SECTIONS, false);
}

#[test]
fn the_environment_and_the_paths_of_a_patch_are_returned() {
    let text =
        "*** Begin Patch\n*** Environment ID: box-1\n*** Update File: a\n*** Move to: b\n*** End Patch";
    let patch = headwater_tools::patch::Patch::parse(text).unwrap();
    assert_eq!(patch.environment_id.as_deref(), Some("box-1"));
    assert_eq!(patch.paths().collect::<Vec<_>>(), ["a", "b"]);
}
