//! Replies that viewers' emulators send by themselves. A program's query to its terminal (the position of the
//! cursor, its features, its colours) is answered once, by the emulator on the server. Every viewer's
//! emulator sees the query too and would answer it again, so replies that cannot be keys are removed from the
//! input.
//!
//! The rule, for each sequence that is complete in one frame and not inside a bracketed paste:
//! - `CSI … R` with two numbers, or with `?`: the cursor's position. But `CSI 1 ; 2…16 R` is F3 with Shift,
//!   Alt, Ctrl, Meta, which is a key.
//! - `CSI ? … c`, `CSI > … c`, `CSI = … c`: device attributes. `CSI … n`: device status. `CSI … $ y`: modes.
//!   `CSI … t` with numbers: size. `CSI ? … u`: keyboard encoding.
//! - `OSC 4, 10-19 ; … (BEL or ST)`: colours. `DCS … ST`: settings, capabilities, name. `APC … ST`: graphics.

use bytes::Bytes;

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;

/// The input without such replies.
pub(crate) fn without_replies(input: &Bytes) -> Bytes {
    if !input.contains(&ESC) {
        return input.clone();
    }
    let (mut kept, mut at, mut pasting) = (Vec::with_capacity(input.len()), 0, false);
    while let Some(rest) = input.get(at..).filter(|rest| !rest.is_empty()) {
        let length = sequence(rest);
        let (piece, _) = rest.split_at(length.max(1).min(rest.len()));
        match piece {
            b"\x1b[200~" => pasting = true,
            b"\x1b[201~" => pasting = false,
            _ => {}
        }
        if pasting || !is_reply(piece) {
            kept.extend_from_slice(piece);
        }
        at += piece.len();
    }
    if kept.len() == input.len() { input.clone() } else { kept.into() }
}

/// The length of the complete control sequence at the beginning; 0 if there is none.
fn sequence(bytes: &[u8]) -> usize {
    match bytes {
        [ESC, b'[', rest @ ..] => {
            let end = rest.iter().position(|byte| !(0x20..=0x3f).contains(byte));
            end.filter(|end| rest.get(*end).is_some_and(|byte| (0x40..=0x7e).contains(byte)))
                .map_or(0, |end| end + 3)
        }
        [ESC, b']' | b'P' | b'_', rest @ ..] => string(rest).map_or(0, |length| length + 2),
        _ => 0,
    }
}

/// The length of a string including its terminator. BEL ends an OSC; no other kind of reply contains one.
fn string(bytes: &[u8]) -> Option<usize> {
    let end = bytes.iter().position(|byte| matches!(*byte, BEL | ESC))?;
    match (bytes.get(end), bytes.get(end + 1)) {
        (Some(&BEL), _) => Some(end + 1),
        (_, Some(b'\\')) => Some(end + 2),
        _ => None,
    }
}

fn is_reply(piece: &[u8]) -> bool {
    match piece {
        [ESC, b'[', parameters @ .., last] => is_report(parameters, *last),
        [ESC, b']', rest @ ..] => is_colour(rest),
        // An incomplete sequence is not a sequence: only its first byte is consumed.
        [ESC, b'P' | b'_', ..] => true,
        _ => false,
    }
}

fn is_report(parameters: &[u8], last: u8) -> bool {
    let numbers = |text: &[u8]| !text.is_empty() && text.iter().all(|b| b.is_ascii_digit() || *b == b';');
    match (last, parameters) {
        (b'R' | b'n', [b'?', rest @ ..]) | (b'n' | b't', rest) => numbers(rest),
        (b'R', rest) => numbers(rest) && !is_f3(rest),
        (b'c', [b'?' | b'>' | b'=', ..]) | (b'u', [b'?', ..]) | (b'y', [.., b'$']) => true,
        _ => false,
    }
}

fn is_f3(parameters: &[u8]) -> bool {
    let text = std::str::from_utf8(parameters).unwrap_or_default();
    let mut numbers = text.split(';').map(str::parse::<u32>);
    match (numbers.next(), numbers.next(), numbers.next()) {
        (Some(Ok(1)), Some(Ok(modifiers)), None) => (2..=16).contains(&modifiers),
        (_, None, _) => true, // one number is not a position
        _ => false,
    }
}

fn is_colour(rest: &[u8]) -> bool {
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, after) = rest.split_at(digits);
    let number = std::str::from_utf8(number).ok().and_then(|text| text.parse::<u8>().ok());
    after.first() == Some(&b';') && matches!(number, Some(4 | 10..=19))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kept(input: &[u8]) -> Vec<u8> {
        without_replies(&Bytes::copy_from_slice(input)).to_vec()
    }

    #[test]
    fn answers_of_an_emulator_are_removed_and_typed_text_around_them_stays() {
        for reply in [
            &b"\x1b[24;80R"[..],
            b"\x1b[1;1R",
            b"\x1b[?5;7R",
            b"\x1b[?5;7;1R",
            b"\x1b[?1;2c",
            b"\x1b[>0;276;0c",
            b"\x1b[?62;22c",
            b"\x1b[0n",
            b"\x1b[?13n",
            b"\x1b[?2026;2$y",
            b"\x1b[4;1$y",
            b"\x1b[8;24;80t",
            b"\x1b[?1u",
            b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
            b"\x1b]11;rgb:0000/0000/0000\x07",
            b"\x1b]4;1;rgb:cdcd/0000/0000\x07",
            b"\x1bP1$r0m\x1b\\",
            b"\x1bP>|xterm.js(5.5.0)\x1b\\",
            b"\x1bP1+r544e=787465726d\x1b\\",
        ] {
            assert_eq!(kept(reply), b"", "{:?}", String::from_utf8_lossy(reply));
            assert_eq!(kept(&[b"ls", reply, b"\r", reply].concat()), b"ls\r");
        }
    }

    #[test]
    fn every_key_passes() {
        for key in [
            &b"a"[..],
            b"\x03",
            b"\x1b",
            b"\x1b\x1b",
            b"\x1b[A",
            b"\x1b[1;5C",
            b"\x1bOP",
            b"\x1b[3~",
            b"\x1b[15;2~",
            b"\x1b[1;2R", // Shift-F3
            b"\x1b[1;16R",
            b"\x1b[13~",
            b"\x1bP", // Alt-Shift-P
            b"\x1b]", // Alt-]
            b"\x1b[", // Alt-[
            b"\x1bb",
            b"\x1b[Z",
            b"\x1b[97;5u",
            b"\x1b[<0;10;20M", // the mouse
            b"\x1b[<0;10;20m",
            b"\x1b[M !!",
            b"\x1b[I", // focus
            b"\x1b[O",
            b"\x1b[c",
            "é€😀".as_bytes(),
            b"\x1b[24;8",
        ] {
            assert_eq!(kept(key), key, "{:?}", String::from_utf8_lossy(key));
        }
    }

    #[test]
    fn pasted_text_passes_unchanged() {
        let paste = b"\x1b[200~echo \x1b[24;80R \x1bPx\x1b\\ \x1b]11;x\x07\x1b[201~";
        assert_eq!(kept(paste), paste);
        assert_eq!(kept(&[&paste[..], b"\x1b[0n"].concat()), paste);
    }

    proptest! {
        #[test]
        fn nothing_is_made_up_and_plain_text_passes(bytes in any::<Vec<u8>>(), plain in "[^\\x1b]*") {
            let out = kept(&bytes);
            let mut rest = bytes.iter();
            prop_assert!(out.iter().all(|byte| rest.any(|other| other == byte)), "in order, and from the input");
            prop_assert_eq!(kept(plain.as_bytes()), plain.as_bytes());
        }
    }
}
