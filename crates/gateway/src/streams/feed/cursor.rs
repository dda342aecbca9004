//! The cursor of a feed: all its positions in one line, for the SSE `id`.
//!
//! `<n>` is the number of the newest execution that the feed has started to follow, and `;<m>.<seq>` (then
//! `,<m>.<seq>`) each execution that has not finished. The state of a position follows: `.p<bytes or
//! frames>`, and for output and error `.o<hex>`/`.e<hex>` an incomplete character, `.o!`/`.e!` a stream that
//! is not shown. The cursor is opaque to clients.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::str::FromStr;

use headwater_protocol::{Seq, Utf8Carry};

use super::merge::MAX_OPEN;
use crate::streams::feed::position::{Position, View};

/// Longer than any valid cursor: 64 positions of at most 75 characters.
const MAX_CURSOR_BYTES: usize = 6_000;

/// The position of a feed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The newest execution that is followed, by its number in the store.
    pub(crate) newest: i64,
    /// The positions of the executions that have not finished.
    pub(crate) open: BTreeMap<i64, Position>,
}

/// The text is not a valid cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvalidCursor;

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.newest)?;
        for (n, (number, position)) in self.open.iter().enumerate() {
            let between = if n == 0 { ';' } else { ',' };
            write!(f, "{between}{number}.{}", position.seq)?;
            if position.part > 0 {
                write!(f, ".p{}", position.part)?;
            }
            write_view(f, 'o', position.out)?;
            write_view(f, 'e', position.err)?;
        }
        Ok(())
    }
}

fn write_view(f: &mut fmt::Formatter<'_>, name: char, view: View) -> fmt::Result {
    match view {
        View::Text(carry) if carry.is_empty() => Ok(()),
        View::Text(carry) => {
            write!(f, ".{name}")?;
            carry.bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
        }
        View::Binary => {
            write!(f, ".{name}")?;
            f.write_char('!')
        }
    }
}

impl FromStr for Cursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        if text.len() > MAX_CURSOR_BYTES {
            return Err(InvalidCursor);
        }
        let (newest, positions) = match text.split_once(';') {
            Some((newest, positions)) => (newest, Some(positions)),
            None => (text, None),
        };
        let newest = number(newest)?;
        let mut open = BTreeMap::new();
        for text in positions.into_iter().flat_map(|positions| positions.split(',')) {
            let (number, position) = read_position(text)?;
            // No duplicates, none that is newer than `newest`, and no more than can be open.
            if number > newest || open.insert(number, position).is_some() || open.len() > MAX_OPEN {
                return Err(InvalidCursor);
            }
        }
        Ok(Self { newest, open })
    }
}

fn read_position(text: &str) -> Result<(i64, Position), InvalidCursor> {
    let mut parts = text.split('.');
    let execution = number(parts.next().ok_or(InvalidCursor)?)?;
    let seq = number(parts.next().ok_or(InvalidCursor)?)?.unsigned_abs();
    let mut position = Position { seq: Seq(seq), ..Position::default() };
    for part in parts {
        let (name, value) = part.split_at_checked(1).ok_or(InvalidCursor)?;
        match name {
            "p" => position.part = number(value)?.try_into().map_err(|_| InvalidCursor)?,
            "o" => position.out = read_view(value)?,
            "e" => position.err = read_view(value)?,
            _ => return Err(InvalidCursor),
        }
    }
    Ok((execution, position))
}

fn read_view(text: &str) -> Result<View, InvalidCursor> {
    if text == "!" {
        return Ok(View::Binary);
    }
    if text.len() > 6 || !text.len().is_multiple_of(2) || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(InvalidCursor);
    }
    let pairs = (0..text.len()).step_by(2).filter_map(|at| text.get(at..at + 2));
    let bytes: Result<Vec<u8>, _> = pairs.map(|pair| u8::from_str_radix(pair, 16)).collect();
    Utf8Carry::new(&bytes.map_err(|_| InvalidCursor)?).map(View::Text).ok_or(InvalidCursor)
}

/// Digits only: no sign, no space.
fn number(text: &str) -> Result<i64, InvalidCursor> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().map_err(|_| InvalidCursor) } else { Err(InvalidCursor) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn views() -> impl Strategy<Value = View> {
        let carries =
            prop_oneof![Just(vec![]), Just(vec![0xE2]), Just(vec![0xE2, 0x82]), Just(vec![0xF0, 0x9F, 0x98])];
        prop_oneof![Just(View::Binary), carries.prop_map(|bytes| View::Text(Utf8Carry::new(&bytes).unwrap()))]
    }

    fn positions() -> impl Strategy<Value = Position> {
        let seq = 0..i64::MAX.unsigned_abs();
        (seq, any::<u32>(), views(), views()).prop_map(|(seq, part, out, err)| Position {
            seq: Seq(seq),
            part,
            out,
            err,
        })
    }

    proptest! {
        #[test]
        fn every_token_reads_back_as_it_was_written(
            open in proptest::collection::btree_map(0..i64::MAX, positions(), 0..=MAX_OPEN),
        ) {
            let newest = open.keys().max().copied().unwrap_or(7);
            let cursor = Cursor { newest, open };
            let text = cursor.to_string();
            prop_assert!(text.len() <= MAX_CURSOR_BYTES, "{} bytes", text.len());
            prop_assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "{text}");
            prop_assert_eq!(text.parse(), Ok(cursor));
        }

        #[test]
        fn no_text_at_all_breaks_the_reader(text in "[0-9;.,poe!a-f-]{0,40}") {
            let _ = text.parse::<Cursor>();
        }
    }

    #[test]
    fn an_unknown_position_is_refused() {
        let many: Vec<_> = (0..=MAX_OPEN).map(|n| format!("{n}.1")).collect();
        let many = format!("999;{}", many.join(","));
        for bad in [
            "",
            "x",
            "-1",
            "+1",
            "1;",
            "1;1",
            "1;2.1",
            "1;1.1,1.2",
            "1;1.1.q",
            "1;1.1.o61",
            "1;1.1.oé",
            &many,
        ] {
            assert_eq!(bad.parse::<Cursor>(), Err(InvalidCursor), "{bad}");
        }
    }
}
