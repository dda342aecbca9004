//! Bytes that a patch must not change: line ends, byte order marks, what is not UTF-8.

use crate::harness::{Applied, all_apply};

const CASES: &[Applied] = &[
    Applied {
        name: "CRLF stays",
        before: &[("a", b"one\r\ntwo\r\nthree\r\n")],
        patch: "*** Update File: a\n@@\n one\n-two\n+2\n+2.5\n three",
        after: &[("a", b"one\r\n2\r\n2.5\r\nthree\r\n")],
        summary: "M a",
    },
    Applied {
        name: "mixed line ends stay",
        before: &[("a", b"one\r\ntwo\nthree\r\nfour\n")],
        patch: "*** Update File: a\n@@\n one\n-two\n+2\n-three\n+3\n four",
        after: &[("a", b"one\r\n2\n3\r\nfour\n")],
        summary: "M a",
    },
    Applied {
        name: "an added line is like the line before it",
        before: &[("a", b"one\r\ntwo\n")],
        patch: "*** Update File: a\n@@\n one\n+1.5\n two\n+3",
        after: &[("a", b"one\r\n1.5\r\ntwo\n3\n")],
        summary: "M a",
    },
    Applied {
        name: "an added first line is like the line after it",
        before: &[("a", b"one\r\n")],
        patch: "*** Update File: a\n@@\n+zero\n one",
        after: &[("a", b"zero\r\none\r\n")],
        summary: "M a",
    },
    Applied {
        name: "a carriage return in the patch is written",
        before: &[("a", b"one\ntwo\n")],
        patch: "*** Update File: a\n@@\n-one\n+1\r\n two",
        after: &[("a", b"1\r\ntwo\n")],
        summary: "M a",
    },
    Applied {
        name: "a carriage return in the patch is not needed for a match",
        before: &[("a", b"one\r\ntwo\r\n")],
        patch: "*** Update File: a\n@@\n one\r\n-two\r\n+2",
        after: &[("a", b"one\r\n2\r\n")],
        summary: "M a",
    },
    Applied {
        name: "a new file with CRLF",
        before: &[],
        patch: "*** Add File: run.bat\n+@echo off\r\n+exit\r",
        after: &[("run.bat", b"@echo off\r\nexit\r\n")],
        summary: "A run.bat",
    },
    Applied {
        name: "a missing final newline stays missing if another line changes",
        before: &[("a", b"one\ntwo")],
        patch: "*** Update File: a\n@@\n-one\n+1\n two",
        after: &[("a", b"1\ntwo")],
        summary: "M a",
    },
    Applied {
        name: "a missing final newline stays missing if the last line changes",
        before: &[("a", b"one\r\ntwo")],
        patch: "*** Update File: a\n@@\n-two\n+2\n+3\n*** End of File",
        after: &[("a", b"one\r\n2\r\n3")],
        summary: "M a",
    },
    Applied {
        name: "a missing final newline is added before another line",
        before: &[("a", b"one\ntwo")],
        patch: "*** Update File: a\n@@\n two\n+three",
        after: &[("a", b"one\ntwo\nthree")],
        summary: "M a",
    },
    Applied {
        name: "an added empty line ends a file with a newline",
        before: &[("a", b"one")],
        patch: "*** Update File: a\n@@\n one\n+",
        after: &[("a", b"one\n")],
        summary: "M a",
    },
    Applied {
        name: "the mark of a unified diff adds a final newline",
        before: &[("a", b"one\ntwo")],
        patch: "*** Update File: a\n@@\n one\n-two\n\\ No newline at end of file\n+two",
        after: &[("a", b"one\ntwo\n")],
        summary: "M a",
    },
    Applied {
        name: "the mark of a unified diff removes a final newline",
        before: &[("a", b"one\ntwo\n")],
        patch: "*** Update File: a\n@@\n one\n-two\n+two\n\\ No newline at end of file",
        after: &[("a", b"one\ntwo")],
        summary: "M a",
    },
    Applied {
        name: "the last line is removed",
        before: &[("a", b"one\ntwo")],
        patch: "*** Update File: a\n@@\n-two",
        after: &[("a", b"one\n")],
        summary: "M a",
    },
    Applied {
        name: "bytes that are not UTF-8 stay in other lines",
        before: &[("a", b"\xff\xfe\x00\none\n\xc3\x28\n")],
        patch: "*** Update File: a\n@@\n-one\n+1",
        after: &[("a", b"\xff\xfe\x00\n1\n\xc3\x28\n")],
        summary: "M a",
    },
    Applied {
        name: "bytes that are not UTF-8 stay in lines of context",
        before: &[("a", b"caf\xe9\none\n")],
        patch: "*** Update File: a\n@@\n caf\u{fffd}\n-one\n+1",
        after: &[("a", b"caf\xe9\n1\n")],
        summary: "M a",
    },
    Applied {
        name: "a line that is not UTF-8 is removed",
        before: &[("a", b"caf\xe9\none\n")],
        patch: "*** Update File: a\n@@\n-caf\u{fffd}\n+cafe\n one",
        after: &[("a", b"cafe\none\n")],
        summary: "M a",
    },
    Applied {
        name: "a form feed and other separators do not end a line",
        before: &[("a", "one\x0c\x0btwo\u{2028}\u{85}three\rfour\nx\n".as_bytes())],
        patch: "*** Update File: a\n@@\n-x\n+y",
        after: &[("a", "one\x0c\x0btwo\u{2028}\u{85}three\rfour\ny\n".as_bytes())],
        summary: "M a",
    },
    Applied {
        name: "a form feed in a line of context",
        before: &[("a", b"one\x0c\ntwo\n")],
        patch: "*** Update File: a\n@@\n one\n-two\n+2",
        after: &[("a", b"one\x0c\n2\n")],
        summary: "M a",
    },
    Applied {
        name: "a byte order mark stays, even if the first line changes",
        before: &[("a", b"\xef\xbb\xbfone\r\ntwo\r\n")],
        patch: "*** Update File: a\n@@\n-one\n+1\n two",
        after: &[("a", b"\xef\xbb\xbf1\r\ntwo\r\n")],
        summary: "M a",
    },
    Applied {
        name: "a context line keeps its trailing space and indentation",
        before: &[("a", b"\tone \t\ntwo\n")],
        patch: "*** Update File: a\n@@\n     one\n-two\n+2",
        after: &[("a", b"\tone \t\n2\n")],
        summary: "M a",
    },
];

#[test]
fn a_patch_changes_no_byte_of_other_lines() {
    all_apply(CASES, false);
}
