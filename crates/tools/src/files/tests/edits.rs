//! Texts that are replaced, and texts that are not found.

use proptest::prelude::*;

use crate::files::matches::{Edit, edit};
use crate::patch::FilePath;

fn path() -> FilePath {
    FilePath::parse("src/a.py", "/workspace").unwrap()
}

fn done(file: &[u8], old: &str, new: &str, all: bool) -> Edit {
    edit(&path(), file, old, new, all).unwrap()
}

fn refused(file: &[u8], old: &str) -> String {
    edit(&path(), file, old, "new", false).unwrap_err().to_string()
}

#[test]
fn one_occurrence_is_replaced_and_everything_else_keeps_its_bytes() {
    let Edit { bytes, lines } = done(b"a\xff\r\nb\x0c\nc", "b", "B", false);
    assert_eq!((bytes.as_slice(), lines), (b"a\xff\r\nB\x0c\nc".as_slice(), vec![2]));
    assert_eq!(done(b"abc", "b", "", false).bytes, b"ac");
}

#[test]
fn several_occurrences_need_all_and_the_error_names_their_lines() {
    let file = b"x = 1\ny = 2\nx = 1\nx = 1\n";
    let error = refused(file, "x = 1");
    assert!(error.contains("occurs 3 times in `src/a.py`, at lines 1, 3, 4"), "{error}");
    assert!(error.contains("set all to true"), "{error}");
    let Edit { bytes, lines } = done(file, "x = 1", "z", true);
    assert_eq!((bytes.as_slice(), lines), (b"z\ny = 2\nz\nz\n".as_slice(), vec![1, 3, 4]));
    let many = "x\n".repeat(50);
    assert!(refused(many.as_bytes(), "x").contains("9, 10, ..."));
}

#[test]
fn texts_with_plain_line_ends_fit_files_with_carriage_returns() {
    let file = b"one\r\ntwo\r\nthree\r\n";
    assert_eq!(done(file, "one\ntwo", "1\n2", false).bytes, b"1\r\n2\r\nthree\r\n");
    assert_eq!(done(file, "two", "2\nII", false).bytes, b"one\r\n2\r\nII\r\nthree\r\n");
    assert_eq!(done(file, "one\r\ntwo", "1\n2", false).bytes, b"1\n2\r\nthree\r\n", "exactly as given");
    let mixed = b"one\r\ntwo\nthree\n";
    assert_eq!(done(mixed, "two\nthree", "2\n3", false).bytes, b"one\r\n2\n3\n");
    assert_eq!(done(mixed, "one\ntwo", "1\n2", false).bytes, b"1\r\n2\nthree\n");
}

#[test]
fn an_error_shows_the_lines_that_differ_only_in_white_space() {
    let file = b"def f():\n    if x:\n        return 1\n";
    let error = refused(file, "if x:\n    return 1");
    assert!(error.contains("only in white space"), "{error}");
    assert!(error.contains("\nL2:     if x:\nL3:         return 1\n"), "{error}");
}

#[test]
fn an_error_shows_the_nearest_lines() {
    let file = b"start\nfirst\nother\nfirst\nsecond\nfourth\n";
    let error = refused(file, "first\nsecond\nthird");
    assert!(error.contains("2 of 3 agree"), "{error}");
    assert!(error.contains("\nL4: first\nL5: second\nL6: fourth\n"), "{error}");
    let error = refused(file, "nowhere\nfirst");
    assert!(error.contains("none of its lines is `nowhere`"), "{error}");
    assert!(refused(b"", "x").contains("does not occur"));
    assert!(refused(b"x", "\n \n").contains("does not occur"));
}

#[test]
fn a_huge_edit_is_refused_before_it_is_made() {
    let file = "ab".repeat(1 << 20);
    let error = edit(&path(), file.as_bytes(), "a", &"c".repeat(1000), true).unwrap_err();
    assert!(error.message.contains("would have more than"), "{error}");
    // Many equal lines in both must not take for ever.
    let lines = "same\n".repeat(100_000);
    assert!(refused(lines.as_bytes(), &format!("{}other", "same\n".repeat(50_000))).contains("agree"));
}

proptest! {
    #[test]
    fn replacing_a_part_gives_the_file_around_it(
        before in "[a-c\n\r]{0,20}", old in "[d-f][d-f\n]{0,8}", new in "[a-f\n]{0,8}", after in "[a-c\n\r]{0,20}",
    ) {
        let file = format!("{before}{old}{after}");
        let Edit { bytes, lines } = edit(&path(), file.as_bytes(), &old, &new, false).unwrap();
        let line = before.matches('\n').count() + 1;
        prop_assert_eq!(lines, vec![line]);
        // Without carriage returns in the file nothing is converted.
        if !file.contains('\r') {
            prop_assert_eq!(bytes, format!("{before}{new}{after}").into_bytes());
        }
    }
}
