//! Control sequences, progress bars and screens.

use super::*;

#[test]
fn ordinary_text_is_unchanged() {
    for text in ["", "\n", "a\nb", "a\tb\n\n  c  \n", "caf\u{e9} \u{4e2d}\u{6587} \u{1f600}\n"] {
        assert_eq!(clean(text), text);
    }
    assert_eq!(clean("a\r\nb\r\n"), "a\nb\n");
}

#[test]
fn colours_titles_and_links_are_removed() {
    assert_eq!(clean("\x1b[1;31merror\x1b[0m: \x1b[38:2:1:2:3mx\x1b[m\n"), "error: x\n");
    assert_eq!(clean("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b"), "alinkb");
    assert_eq!(clean("\x1b(Ba\x1bPq#1;2\x1b\\b\x1b_apc\x1b\\c\x1b[?25ld"), "abcd");
}

#[test]
fn ansi_is_kept_if_asked_for() {
    let options = Options { keep_ansi: true, ..roomy() };
    let text = "\x1b[31mred\x1b[0m\r50%\r100%\n";
    assert_eq!(render(&options, &[text.as_bytes()]).text(), text);
}

#[test]
fn a_progress_bar_becomes_its_last_state() {
    assert_eq!(clean("get\n 10%\r 50%\r100%\ndone\n"), "get\n100%\ndone\n");
    assert_eq!(clean("downloading 99%\r\x1b[Kdone\n"), "done\n");
    assert_eq!(clean("working...\r\x1b[2Kok\n"), "ok\n");
    assert_eq!(clean("downloading 99%\rdone           \n"), "done\n", "blanks cover older text");
    assert_eq!(clean("|\x08/\x08-\x08\\\x08ok\n"), "ok\n");
}

#[test]
fn the_rest_of_a_longer_text_stays_as_on_a_terminal() {
    assert_eq!(clean("abcdef\rxy\n"), "xycdef\n");
}

#[test]
fn several_bars_that_are_drawn_with_the_cursor_up_become_their_last_state() {
    let mut bytes = String::from("pull\n");
    for step in 0..=10 {
        if step > 0 {
            bytes.push_str("\x1b[3A");
        }
        for layer in ["a", "b", "c"] {
            bytes += format!("\r\x1b[K{layer}: {}%\n", step * 10).as_str();
        }
    }
    bytes.push_str("done\n");
    assert_eq!(clean(&bytes), "pull\na: 100%\nb: 100%\nc: 100%\ndone\n");
}

#[test]
fn a_block_that_is_erased_below_the_cursor_disappears() {
    assert_eq!(clean("start\none\ntwo\nthree\n\x1b[3A\x1b[Jend\n"), "start\nend\n");
}

#[test]
fn a_program_that_draws_the_whole_screen_leaves_its_last_screen_and_the_text_before_it() {
    let frame = |n: u8| format!("\x1b[H\x1b[2Jtop {n}\n\x1b[3;5Hcpu {n}");
    let bytes = format!("before\n{}{}{}", frame(1), frame(2), frame(3));
    assert_eq!(clean(&bytes), "before\ntop 3\n\n    cpu 3");
}

#[test]
fn text_after_the_alternate_screen_follows_it() {
    assert_eq!(clean("a\n\x1b[?1049h\x1b[Hfull\x1b[?1049lb\n"), "a\nfull\nb\n");
}

#[test]
fn the_cursor_is_saved_and_restored() {
    assert_eq!(clean("ab\x1b7cd\x1b8xy\n"), "abxy\n");
    assert_eq!(clean("ab\x1b[scd\x1b[uxy\n"), "abxy\n");
    assert_eq!(clean("hello world\r\x1b[6P\n"), "world\n");
}

#[test]
fn output_without_an_end_costs_bounded_memory_and_loses_nothing() {
    let options = Options { budget: Budget::bytes(100), ..Options::default() };
    let mut output = Output::new(&options);
    let piece = b"0123456789".repeat(1000);
    for seq in 1..=100 {
        output.push(Stream::Stdout, Seq(seq), &piece);
    }
    let live = output.lines.as_ref().map_or(0, Lines::live_cells);
    assert!(live <= 64 << 10, "{live}");
    let rendered = output.finish(End::Closed).0;
    assert_eq!(rendered.total, Size { bytes: 1_000_000, lines: 1 });
    assert_eq!(rendered.left_out.unwrap().size.bytes, 1_000_000 - 100);
}

#[test]
fn the_pieces_of_a_line_beyond_the_limit_do_not_matter() {
    let options = Options { budget: Budget::bytes(200), ..Options::default() };
    for ending in ["\rx\n", "\x1b[50Dy\n", "\x1b[1000P\x08z"] {
        let line = "0123456789".repeat(15_000) + ending;
        let whole = render(&options, &[line.as_bytes()]);
        for size in [1, 7, 65_537] {
            let mut output = Output::new(&options);
            line.as_bytes().chunks(size).for_each(|piece| output.push(Stream::Output, Seq(1), piece));
            assert_eq!(output.finish(End::Closed).0, whole, "pieces of {size} bytes before {ending:?}");
        }
    }
}

#[test]
fn control_characters_of_8_bits_print_nothing() {
    assert_eq!(clean("a\u{9b}b\u{85}\u{e9}c\n"), "ab\u{e9}c\n");
    assert_eq!(clean("abc\r\u{9b}x\n"), "xbc\n");
}

#[test]
fn an_endless_string_in_a_sequence_prints_nothing() {
    for begin in ["\x1b]0;", "\x1bP", "\x1b_", "\x1b["] {
        let mut bytes = begin.to_owned();
        bytes.push_str(&"1;".repeat(100_000));
        assert_eq!(clean(&bytes), "", "{begin:?}");
        bytes.push_str("\x18after");
        assert_eq!(clean(&bytes), "after", "{begin:?}");
    }
}

#[test]
fn odd_movements_do_not_fail() {
    let bytes =
        "\x1b[65535A\x1b[65535B\x1b[65535Cx\x1b[65535;65535Hy\x1b[99F\x1b[J\x1b[2J\x1bc\x1b[1K\x1b[9Xz\x1b8w";
    assert!(clean(bytes).contains('w'));
}
