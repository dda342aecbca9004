//! Random output of programs.

use proptest::prelude::*;

/// An event of a terminal.
#[derive(Debug, Clone)]
pub(super) enum Act {
    Print(String),
    Raw(Vec<u8>),
    Resize(u16, u16),
    Sleep,
}

fn number() -> impl Strategy<Value = u16> {
    prop_oneof![8 => 0..12_u16, 2 => 12..40_u16, 1 => Just(65_535)]
}

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z ]{1,12}",
        1 => "[a-z]{20,60}",
        2 => Just("\u{4e2d}\u{6587}".to_owned()),
        1 => Just("\u{1f600}".to_owned()),
        1 => Just("e\u{301}\u{302}".to_owned()),
        1 => Just("\u{301}".to_owned()),
        2 => Just("\r\n".to_owned()),
        1 => Just("\n".to_owned()),
        1 => Just("\t".to_owned()),
        1 => Just("\x08".to_owned()),
        1 => Just("\r".to_owned()),
        1 => Just("\x0e".to_owned()),
        1 => Just("\x0f".to_owned()),
    ];
    prop::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat())
}

/// Sequences with numbers: each `#` is replaced by one.
const SEQUENCES: [&str; 45] = [
    "\x1b[#A",
    "\x1b[#B",
    "\x1b[#C",
    "\x1b[#D",
    "\x1b[#E",
    "\x1b[#F",
    "\x1b[#G",
    "\x1b[#d",
    "\x1b[#;#H",
    "\x1b[#;#r",
    "\x1b[r",
    "\x1b[#@",
    "\x1b[#P",
    "\x1b[#X",
    "\x1b[#L",
    "\x1b[#M",
    "\x1b[#S",
    "\x1b[#T",
    "\x1b[#I",
    "\x1b[#Z",
    "\x1b[J",
    "\x1b[1J",
    "\x1b[2J",
    "\x1b[K",
    "\x1b[1K",
    "\x1b[2K",
    "\x1bM",
    "\x1bD",
    "\x1bE",
    "\x1b7",
    "\x1b8",
    "\x1bH",
    "\x1b[g",
    "\x1b[3g",
    "\x1b[3J",
    "\x1bc",
    "\x1b[s",
    "\x1b[u",
    "\x1b(0",
    "\x1b(B",
    "\x1b)0",
    "\x1b#8",
    "y\x1b[#b",
    "\u{6587}\x1b[#b",
    "\x1b[!p",
];

const STYLES: [&str; 26] = [
    "0",
    "1",
    "2",
    "3",
    "4",
    "4:2",
    "4:3",
    "4:4",
    "4:5",
    "7",
    "8",
    "9",
    "22",
    "24",
    "27",
    "31",
    "42",
    "95",
    "106",
    "38;5;9",
    "48;5;200",
    "38;2;1;2;3",
    "48;2;9;8;7",
    "58;5;3",
    "58;2;1;2;3",
    "39;49",
];

const MODES: [&str; 18] = [
    "?1", "?6", "?7", "?25", "?1000", "?1002", "?1003", "?1004", "?1005", "?1006", "?1007", "?2004", "?1049",
    "?1047", "?1048", "4", "20", "?3",
];

const STRINGS: [&str; 14] = [
    "\x1b]0;one\x07",
    "\x1b]2;two; three\x1b\\",
    "\x1b]2;\x07",
    "\x1b[22t",
    "\x1b[23t",
    "\x1b]8;;http://a/;b\x1b\\",
    "\x1b]8;id=x;http://b/\x07",
    "\x1b]8;;\x07",
    "\x1b]4;3;#102030\x07",
    "\x1b]11;rgb:10/20/30\x07",
    "\x1b]104\x07",
    "\x1b[5 q",
    "\x1b[4 q",
    "\x1b[0 q",
];

fn sequence() -> impl Strategy<Value = String> {
    let numbered = (prop::sample::select(&SEQUENCES[..]), number(), number())
        .prop_map(|(shape, a, b)| shape.replacen('#', &a.to_string(), 1).replacen('#', &b.to_string(), 1));
    let style = prop::sample::select(&STYLES[..]).prop_map(|style| format!("\x1b[{style}m"));
    let mode = (prop::sample::select(&MODES[..]), prop::bool::weighted(0.6))
        .prop_map(|(mode, set)| format!("\x1b[{mode}{}", if set { 'h' } else { 'l' }));
    let string = prop::sample::select(&STRINGS[..]).prop_map(str::to_owned);
    let keypad = prop::sample::select(&["\x1b=", "\x1b>"][..]).prop_map(str::to_owned);
    prop_oneof![8 => numbered, 5 => style, 3 => mode, 1 => string, 1 => keypad]
}

/// A random series of events.
pub(super) fn acts(most: usize) -> impl Strategy<Value = Vec<Act>> {
    let raw = prop::collection::vec(
        prop_oneof![any::<u8>(), Just(0x1b), Just(b'['), Just(b']'), Just(b';'), b'0'..=b'9'],
        1..12,
    );
    let act = prop_oneof![
        10 => text().prop_map(Act::Print),
        12 => sequence().prop_map(Act::Print),
        1 => raw.prop_map(Act::Raw),
        1 => (1..9_u16, 2..24_u16).prop_map(|(rows, cols)| Act::Resize(rows, cols)),
        1 => Just(Act::Sleep),
    ];
    prop::collection::vec(act, 0..most)
}
