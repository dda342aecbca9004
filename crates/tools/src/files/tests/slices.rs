//! Lines of files.

use crate::files::slice::{MAX_LINE_BYTES, NOT_TEXT, Slice, line_text};

/// The text of a slice of a file that arrives in pieces of this size.
fn sliced(file: &[u8], first: u64, limit: u64, piece: usize) -> (String, u64) {
    let mut slice = Slice::new(first, limit);
    file.chunks(piece).for_each(|piece| slice.push(piece));
    let total = slice.finish();
    (slice.into_text(Some(total)), total)
}

#[test]
fn lines_are_numbered_and_the_same_however_the_file_is_divided() {
    let file = "one\ntwo\r\n\ngrün\nlast".as_bytes();
    for piece in 1..=file.len() {
        assert_eq!(
            sliced(file, 1, 2000, piece),
            ("L1: one\nL2: two\nL3: \nL4: grün\nL5: last".to_owned(), 5)
        );
        let (text, _) = sliced(file, 2, 2, piece);
        assert_eq!(text, "L2: two\nL3: \n[Lines 2 to 3 of 5. Read on with offset 4.]");
    }
}

#[test]
fn a_last_line_end_begins_no_line() {
    assert_eq!(sliced(b"a\nb\n", 1, 10, 3), ("L1: a\nL2: b".to_owned(), 2));
    assert_eq!(sliced(b"", 1, 10, 3).1, 0);
    assert_eq!(sliced(b"\n", 1, 10, 3), ("L1: ".to_owned(), 1));
}

#[test]
fn a_slice_at_the_end_names_no_next_line() {
    assert_eq!(sliced(b"a\nb\nc\n", 2, 2, 9).0, "L2: b\nL3: c");
    assert_eq!(sliced(b"a\nb\nc\n", 3, 1, 9).0, "L3: c");
}

#[test]
fn a_file_of_unknown_length_says_that_more_lines_follow() {
    let mut slice = Slice::new(1, 2);
    slice.push(b"a\nb\nc");
    assert!(slice.is_complete());
    assert_eq!(slice.into_text(None), "L1: a\nL2: b\n[More lines follow. Read on with offset 3.]");
}

#[test]
fn long_lines_are_cut_at_a_character_with_the_bytes_that_are_left_out() {
    // Two bytes for each character, and one before them: the limit is inside a character.
    let line = format!("x{}", "ü".repeat(MAX_LINE_BYTES));
    let file = format!("{line}\nnext\n");
    for piece in [1, 7, 4096, file.len()] {
        let (text, total) = sliced(file.as_bytes(), 1, 10, piece);
        let (first, second) = text.split_once('\n').unwrap();
        let kept = MAX_LINE_BYTES - 1;
        assert_eq!(first, format!("L1: {} [line cut: {} more bytes]", &line[..kept], line.len() - kept));
        assert_eq!((second, total), ("L2: next", 2));
    }
    let exact = "y".repeat(MAX_LINE_BYTES);
    assert_eq!(line_text(exact.as_bytes(), exact.len() as u64), (exact, false));
}

#[test]
fn a_line_without_end_takes_no_memory() {
    let mut slice = Slice::new(1, 10);
    let piece = vec![b'z'; 100_000];
    for _ in 0..1000 {
        slice.push(&piece);
    }
    assert_eq!(slice.finish(), 1);
    let text = slice.into_text(Some(1));
    assert!(text.len() < 2 * MAX_LINE_BYTES);
    assert!(text.ends_with(&format!("[line cut: {} more bytes]", 100_000_000 - MAX_LINE_BYTES)));
}

#[test]
fn a_result_ends_before_it_is_longer_than_a_model_can_read() {
    let file = format!("{}\n", "w".repeat(1000)).repeat(2000);
    let (text, total) = sliced(file.as_bytes(), 1, 2000, 65_536);
    assert_eq!(total, 2000);
    assert!(text.len() < 300_000);
    let shown = text.lines().filter(|line| line.starts_with('L')).count();
    assert!(text.ends_with(&format!("[Lines 1 to {shown} of 2000. Read on with offset {}.]", shown + 1)));
}

#[test]
fn bytes_that_are_not_text_are_noted() {
    assert_eq!(sliced(b"a\xffb\n", 1, 5, 9).0, format!("L1: a\u{fffd}b{NOT_TEXT}"));
    assert_eq!(sliced(b"a\xffb\nok\n", 2, 5, 9).0, "L2: ok", "only lines that are shown count");
}
