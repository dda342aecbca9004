//! The resume token: all places of a feed in one line, for the SSE `id`.
//!
//! `<n>` is the number of the newest execution that the feed has taken up, and `;<m>.<seq>` (then `,<m>.<seq>`) each
//! execution that it has not finished. What a place remembers besides follows: `.p<bytes or frames>`, and for output
//! and error `.o<hex>`/`.e<hex>` the beginning of a character, `.o!`/`.e!` a stream that is not shown. To clients it is
//! opaque.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::str::FromStr;

use headwater_protocol::Seq;

use super::merge::MAX_OPEN;
use super::text::Carry;
use crate::streams::feed::position::{Place, View};

/// Longer than any that was given out: 64 places of at most 75 characters.
const MAX_BYTES: usize = 6_000;

/// Where a feed goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Token {
    /// The newest execution that was taken up, by its number in the store.
    pub(crate) newest: i64,
    /// Those that are not finished.
    pub(crate) open: BTreeMap<i64, Place>,
}

/// A text is not a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoToken;

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.newest)?;
        for (n, (number, place)) in self.open.iter().enumerate() {
            let between = if n == 0 { ';' } else { ',' };
            write!(f, "{between}{number}.{}", place.seq)?;
            if place.part > 0 {
                write!(f, ".p{}", place.part)?;
            }
            write_view(f, 'o', place.out)?;
            write_view(f, 'e', place.err)?;
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

impl FromStr for Token {
    type Err = NoToken;

    fn from_str(text: &str) -> Result<Self, NoToken> {
        if text.len() > MAX_BYTES {
            return Err(NoToken);
        }
        let (newest, places) = match text.split_once(';') {
            Some((newest, places)) => (newest, Some(places)),
            None => (text, None),
        };
        let newest = number(newest)?;
        let mut open = BTreeMap::new();
        for text in places.into_iter().flat_map(|places| places.split(',')) {
            let (number, place) = read_place(text)?;
            // Each once, none that was not taken up, and no more than can be open.
            if number > newest || open.insert(number, place).is_some() || open.len() > MAX_OPEN {
                return Err(NoToken);
            }
        }
        Ok(Self { newest, open })
    }
}

fn read_place(text: &str) -> Result<(i64, Place), NoToken> {
    let mut parts = text.split('.');
    let execution = number(parts.next().ok_or(NoToken)?)?;
    let seq = number(parts.next().ok_or(NoToken)?)?.unsigned_abs();
    let mut place = Place { seq: Seq(seq), ..Place::default() };
    for part in parts {
        let (name, value) = part.split_at_checked(1).ok_or(NoToken)?;
        match name {
            "p" => place.part = number(value)?.try_into().map_err(|_| NoToken)?,
            "o" => place.out = read_view(value)?,
            "e" => place.err = read_view(value)?,
            _ => return Err(NoToken),
        }
    }
    Ok((execution, place))
}

fn read_view(text: &str) -> Result<View, NoToken> {
    if text == "!" {
        return Ok(View::Binary);
    }
    if text.len() > 6 || !text.len().is_multiple_of(2) || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(NoToken);
    }
    let pairs = (0..text.len()).step_by(2).filter_map(|at| text.get(at..at + 2));
    let bytes: Result<Vec<u8>, _> = pairs.map(|pair| u8::from_str_radix(pair, 16)).collect();
    Carry::new(&bytes.map_err(|_| NoToken)?).map(View::Text).ok_or(NoToken)
}

/// Digits only: no sign, no space.
fn number(text: &str) -> Result<i64, NoToken> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().map_err(|_| NoToken) } else { Err(NoToken) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn views() -> impl Strategy<Value = View> {
        let carries =
            prop_oneof![Just(vec![]), Just(vec![0xE2]), Just(vec![0xE2, 0x82]), Just(vec![0xF0, 0x9F, 0x98])];
        prop_oneof![Just(View::Binary), carries.prop_map(|bytes| View::Text(Carry::new(&bytes).unwrap()))]
    }

    fn places() -> impl Strategy<Value = Place> {
        let seq = 0..i64::MAX.unsigned_abs();
        (seq, any::<u32>(), views(), views()).prop_map(|(seq, part, out, err)| Place {
            seq: Seq(seq),
            part,
            out,
            err,
        })
    }

    proptest! {
        #[test]
        fn every_token_reads_back_as_it_was_written(
            open in proptest::collection::btree_map(0..i64::MAX, places(), 0..=MAX_OPEN),
        ) {
            let newest = open.keys().max().copied().unwrap_or(7);
            let token = Token { newest, open };
            let text = token.to_string();
            prop_assert!(text.len() <= MAX_BYTES, "{} bytes", text.len());
            prop_assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "{text}");
            prop_assert_eq!(text.parse(), Ok(token));
        }

        #[test]
        fn no_text_at_all_breaks_the_reader(text in "[0-9;.,poe!a-f-]{0,40}") {
            let _ = text.parse::<Token>();
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
            assert_eq!(bad.parse::<Token>(), Err(NoToken), "{bad}");
        }
    }
}
