//! No output panics, or takes more memory or time than it should.

use proptest::prelude::*;

use super::*;

#[test]
fn all_buffers_are_bounded() {
    let mut screen = screen(24, 80);
    screen.feed(b"e");
    for _ in 0..1000 {
        screen.feed("\u{301}".repeat(1000).as_bytes());
    }
    for at in 0..1000 {
        screen.feed(format!("\x1b]2;{}{at}\x07\x1b[22t", "x".repeat(8000)).as_bytes());
    }
    for at in 0..2000 {
        screen.feed(format!("\x1b]8;;{}{at}\x07y", "x".repeat(8000)).as_bytes());
    }
    assert!(screen.snapshot(None).len() < 64 << 10);
}

#[test]
fn a_few_bytes_cannot_make_much_work() {
    let mut screen = screen(24, 80);
    screen.feed(b"x");
    screen.feed(&b"\x1b[65535b".repeat(1000));
    // One line's worth each; otherwise this would be 65 million characters.
    assert!(screen.snapshot(None).len() < 1 << 20);
}

#[test]
fn huge_and_tiny_terminals_are_emulated_within_bounds() {
    for (rows, cols) in [(0, 0), (1, 1), (65_535, 65_535)] {
        let mut screen = screen(rows, cols);
        screen.feed("a\u{4e2d}\r\n\x1b[9;9Hb".as_bytes());
        screen.resize(cols, rows);
        let (rows, cols) = screen.size();
        assert!(rows <= 300 && cols <= 500 && rows >= 1 && cols >= 2);
        screen.snapshot(None);
    }
}

proptest! {
    #![proptest_config(cases())]


    #[test]
    fn no_bytes_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        sizes in prop::collection::vec((0..12_u16, 0..12_u16), 1..6),
    ) {
        let mut screen = screen(5, 9);
        for (chunk, (rows, cols)) in bytes.chunks(40).zip(sizes.iter().cycle()) {
            screen.feed(chunk);
            screen.resize(*rows, *cols);
            screen.snapshot(None);
        }
    }
}
