//! Budgets, counts, positions, and characters that a poll cuts in two.

use super::*;

fn small(bytes: u64) -> Options {
    Options { budget: Budget::bytes(bytes), ..Options::default() }
}

#[test]
fn output_within_the_budget_is_whole() {
    let rendered = render(&small(10), &[b"0123456789"]);
    assert_eq!((rendered.text().as_str(), rendered.left_out), ("0123456789", None));
    assert_eq!(rendered.total.tokens(), 3, "four bytes each, rounded up");
}

#[test]
fn a_cut_keeps_head_and_tail_and_counts_the_rest() {
    let lines: Vec<String> = (0..100).map(|n| format!("line {n:02}\n")).collect();
    let text = lines.concat();
    let rendered = render(&small(32), &[text.as_bytes()]);
    assert_eq!(
        (rendered.head.as_str(), rendered.tail.as_str()),
        ("line 00\nline 01\n", "line 98\nline 99\n")
    );
    assert_eq!(rendered.total, Size { bytes: 800, lines: 100 });
    let left_out = rendered.left_out.unwrap();
    assert_eq!(left_out.size, Size { bytes: 768, lines: 96 });
    assert_eq!((left_out.from.offset, left_out.to.offset), (16, 783));
    assert_eq!(
        rendered.text(),
        "Warning: truncated output (original token count: 200)\nTotal output lines: 100\n\n\
         line 00\nline 01\n…192 tokens truncated…line 98\nline 99\n\
         [left out: 768 bytes, 96 line ends; read them with read_output, after_seq 0, skip_bytes 16]"
    );
}

#[test]
fn a_cut_names_the_event_from_which_the_rest_can_be_read() {
    let rendered = render(&small(8), &[b"aaaa", b"bbbb", b"cccc", b"dddd"]);
    let left_out = rendered.left_out.unwrap();
    assert_eq!(left_out.from, Position { offset: 4, seq: Seq(2), event: 4 });
    assert_eq!(left_out.to, Position { offset: 11, seq: Seq(3), event: 8 });
    assert!(rendered.text().ends_with("read_output, after_seq 1]"), "{}", rendered.text());
    let later = Options { start_offset: 1000, ..small(8) };
    let rendered = render(&later, &[b"aaaa", b"bbbbcccccccc", b"dddd"]);
    assert_eq!(
        rendered.left_out.unwrap().arguments(),
        "after_seq 1",
        "counted from the event, not from the start"
    );
    let rendered =
        render(&Options { budget: Budget::bytes(12), ..later }, &[b"aaaa", b"bbbbcccccccc", b"dddd"]);
    assert_eq!(rendered.left_out.unwrap().arguments(), "after_seq 1, skip_bytes 2");
}

#[test]
fn positions_count_from_the_start_that_was_given_and_include_sequences() {
    let options = Options { start_offset: 1000, ..small(4) };
    let rendered = render(&options, &[b"\x1b[1mab\x1b[0mcdef"]);
    assert_eq!((rendered.head.as_str(), rendered.tail.as_str()), ("ab", "ef"));
    assert_eq!(rendered.left_out.unwrap().from.offset, 1010);
}

#[test]
fn the_rest_of_a_line_that_was_drawn_again_is_read_from_its_first_byte() {
    // The first line is drawn last. Everything that was left out lies behind the position.
    let rendered = render(&small(2), &[b"one\ntwo\n", b"\x1b[2AONE\n"]);
    let left_out = rendered.left_out.unwrap();
    assert_eq!(left_out.from, Position { offset: 4, seq: Seq(1), event: 0 }, "the second line");
    assert_eq!(left_out.to.seq, Seq(2));
}

#[test]
fn a_cut_never_splits_a_character() {
    for budget in 0..24 {
        let rendered =
            render(&small(budget), &["\u{4e2d}\u{6587}\u{1f600}\u{e9}\u{4e2d}\u{6587}".as_bytes()]);
        assert!(!rendered.text().contains('\u{fffd}'));
        assert!((rendered.head.len() + rendered.tail.len()) as u64 <= budget);
    }
}

#[test]
fn a_character_that_is_cut_by_a_poll_is_whole_in_the_next_one() {
    let bytes = "\u{1f600}".as_bytes();
    for cut in 1..4 {
        let mut first = Output::new(&roomy());
        first.push(Stream::Stdout, Seq(1), b"a");
        first.push(Stream::Stdout, Seq(2), &bytes[..cut]);
        let (rendered, carry) = first.finish(End::Open);
        assert_eq!(rendered.text(), "a");
        assert_eq!(carry.next_offset, 1 + cut as u64);
        let mut second = Output::resume(&roomy(), carry);
        second.push(Stream::Stdout, Seq(3), &bytes[cut..]);
        assert_eq!(second.finish(End::Closed).0.text(), "\u{1f600}");
    }
}

#[test]
fn a_sequence_that_is_cut_by_a_poll_does_not_show() {
    let mut first = Output::new(&roomy());
    first.push(Stream::Output, Seq(1), b"a\x1b[3");
    let (rendered, carry) = first.finish(End::Open);
    assert_eq!(rendered.text(), "a");
    let mut second = Output::resume(&roomy(), carry);
    second.push(Stream::Output, Seq(2), b"1mb");
    assert_eq!(second.finish(End::Closed).0.text(), "b");
}

#[test]
fn characters_of_two_streams_do_not_mix() {
    let bytes = "\u{4e2d}".as_bytes();
    let mut output = Output::new(&roomy());
    output.push(Stream::Stdout, Seq(1), &bytes[..1]);
    output.push(Stream::Stderr, Seq(2), "\u{e9}".as_bytes());
    output.push(Stream::Stdout, Seq(3), &bytes[1..]);
    assert_eq!(output.finish(End::Closed).0.text(), "\u{e9}\u{4e2d}");
}

#[test]
fn bytes_that_are_not_utf_8_become_replacement_characters() {
    let bytes = b"a\xffb\xe2\x82c\xe2\x82\nd\xf0\x9f";
    assert_eq!(render(&roomy(), &[bytes]).text(), String::from_utf8_lossy(bytes));
}
