//! Examples that can be read.

use super::view::view;
use super::*;

fn after(bytes: &str) -> Screen {
    let mut screen = screen(4, 10);
    screen.feed(bytes.as_bytes());
    screen
}

#[test]
fn a_snapshot_is_short_when_little_is_shown() {
    let snapshot = after("$ ").snapshot(None);
    assert!(snapshot.len() < 60, "{:?}", String::from_utf8_lossy(&snapshot));
}

#[test]
fn scrollback_is_drawn_as_far_as_it_is_wanted() {
    let mut screen = after("");
    for line in 0..20 {
        screen.feed(format!("line {line}\r\n").as_bytes());
    }
    let all = String::from_utf8(screen.snapshot(None)).unwrap();
    assert!(all.contains("line 0") && all.contains("line 19"));
    let some = String::from_utf8(screen.snapshot(Some(2))).unwrap();
    assert!(!some.contains("line 14") && some.contains("line 15"), "{some:?}");
}

#[test]
fn a_megabyte_of_scrollback_is_a_megabyte_of_text() {
    let mut screen =
        Screen::new(&Options { rows: 24, cols: 80, buffer_bytes: 1 << 20, secret: String::new() });
    // Each line has 15 bytes with its end: the last 69,905 are a megabyte, and the screen and the grid have 123.
    for line in 0..80_000 {
        screen.feed(format!("line {line:09}\r\n").as_bytes());
    }
    let all = String::from_utf8(screen.snapshot(None)).unwrap();
    assert!(all.contains("line 000010000") && !all.contains("line 000009900"), "{:?}", all.get(..100));
    screen.sleep();
    assert!(screen.snapshot(None) == all.as_bytes(), "a sleeping screen has the same scrollback");
    screen.feed(b"more");
    let numbers = |text: &str| text.lines().filter(|line| line.contains("line 0")).count();
    let kept = numbers(&all);
    assert_eq!(numbers(&String::from_utf8(screen.snapshot(None)).unwrap()), kept);
    for wanted in [0, 50, 1000] {
        let some = String::from_utf8(screen.snapshot(Some(wanted))).unwrap();
        assert_eq!(numbers(&some), 23 + wanted, "23 lines of the screen");
    }
    screen.resize(24, 10);
    screen.resize(24, 80);
    let after = numbers(&String::from_utf8(screen.snapshot(None)).unwrap());
    // Each line became two, of one byte more.
    assert!(after > kept * 9 / 10, "{after} of {kept}");
    screen.feed(b"\x1b[3J");
    assert_eq!(numbers(&String::from_utf8(screen.snapshot(None)).unwrap()), 23, "cleared");
}

#[test]
fn archived_lines_are_wrapped_for_the_new_size() {
    let mut screen = archiving(2, 10, 1);
    screen.feed(b"abcdefghijklmno\r\nsecond\r\nx        y\r\n\r\n\r\n\r\n\r\nlast");
    screen.resize(2, 20);
    let wide = String::from_utf8(screen.snapshot(None)).unwrap();
    assert!(wide.contains("abcdefghijklmno\r\nsecond\r\nx        y\r\n"), "{wide:?}");
    screen.resize(2, 4);
    screen.resize(2, 10);
    let narrow = String::from_utf8(screen.snapshot(None)).unwrap();
    assert!(narrow.contains("abcdefghijklmno\r\nsecond\r\nx        y\r\n"), "{narrow:?}");
}

#[test]
fn wrapped_lines_flow_anew_after_a_snapshot() {
    let mut screen = after("abcdefghijklmno");
    let mut drawn = drawn(&mut screen);
    drawn.resize(4, 20);
    assert!(view(&mut drawn).contains("'o'"), "all in one line");
    screen.resize(4, 20);
    assert_eq!(view(&mut screen), view(&mut drawn));
}

#[test]
fn both_screens_are_kept() {
    let mut screen = after("shell\x1b[?1049h\x1b[31mfull\x1b[2;3H");
    let mut drawn = drawn(&mut screen);
    drawn.feed(b"\x1b[?1049l");
    let seen = view(&mut drawn);
    assert!(seen.contains("'s'") && !seen.contains("'f'"), "{seen}");
}

#[test]
fn questions_are_answered() {
    for (asked, answer) in [
        ("ab\x1b[6n", "\x1b[1;3R"),
        ("\x1b[5n", "\x1b[0n"),
        ("\x1b[c", "\x1b[?6c"),
        ("\x1b[?25$p", "\x1b[?25;1$y"),
        ("\x1b]11;?\x07", "\x1b]11;rgb:0000/0000/0000\x07"),
        ("\x1b]4;1;?\x1b\\", "\x1b]4;1;rgb:cdcd/0000/0000\x1b\\"),
        ("\x1b[18t", "\x1b[8;4;10t"),
    ] {
        let fed = screen(4, 10).feed(asked.as_bytes());
        assert_eq!(String::from_utf8_lossy(&fed.replies), answer, "{asked:?}");
    }
}

#[test]
fn marks_are_found_among_the_bytes_wherever_they_are_cut() {
    let mut screen = screen(4, 10);
    let bytes = b"a\x1b]133;A;hw=s\x07b\x1b]133;A\x07\x1b]633;E;ls;hw=s\x1b\\\x1b]133;C;hw=s\x07c\x1b]133;D;2;hw=s\x07";
    let marks: Vec<Mark> = bytes.iter().flat_map(|byte| screen.feed(&[*byte]).marks).collect();
    assert_eq!(marks, [Mark::Prompt, Mark::Command(Some("ls".into())), Mark::Ended(Some(2))]);
}

#[test]
fn a_screen_that_sleeps_knows_its_title_and_wakes_as_it_was() {
    let mut screen = after("\x1b]2;t\x07abc");
    let before = view(&mut screen);
    screen.sleep();
    assert_eq!((screen.title(), screen.is_awake()), (Some("t"), false));
    screen.feed(b"");
    assert!(screen.is_awake());
    assert_eq!(view(&mut screen), before);
}

#[test]
fn an_idle_screen_costs_little() {
    let mut screen = screen(24, 80);
    for line in 0..30 {
        screen.feed(format!("\x1b[32mline {line}\x1b[0m\r\n$ ").as_bytes());
    }
    screen.sleep();
    let held = screen.asleep.drawing.text.len() + screen.tokenizer.held().len() + size_of::<Screen>();
    assert!(held < 4096, "{held} bytes");
}
