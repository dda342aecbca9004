//! Decodes a stream of bytes as text, with a visible decoder state, so that it fits into a cursor.

/// An incomplete character: 0 to 3 bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Carry {
    bytes: [u8; 3],
    length: u8,
}

impl Carry {
    /// No bytes.
    pub(crate) const EMPTY: Self = Self { bytes: [0; 3], length: 0 };

    /// Bytes that begin a character and do not complete it; else None.
    pub(crate) fn new(bytes: &[u8]) -> Option<Self> {
        let mut carry = Self { bytes: [0; 3], length: u8::try_from(bytes.len()).ok()? };
        carry.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        (incomplete_tail(bytes) == bytes.len()).then_some(carry)
    }

    /// The bytes of the incomplete character.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }

    /// Whether there is no incomplete character.
    pub(crate) const fn is_empty(self) -> bool {
        self.length == 0
    }

    /// The replacement for an incomplete character whose rest will never come.
    pub(crate) const fn lost(self) -> &'static str {
        if self.is_empty() { "" } else { "\u{FFFD}" }
    }

    /// The text of these bytes, and the incomplete character at their end. Invalid bytes become U+FFFD.
    pub(crate) fn decode(self, bytes: &[u8]) -> (String, Self) {
        let joined;
        let all = if self.is_empty() {
            bytes
        } else {
            joined = [self.bytes(), bytes].concat();
            &joined
        };
        let (certain, rest) = all.split_at(all.len() - incomplete_tail(all));
        (String::from_utf8_lossy(certain).into_owned(), Self::new(rest).unwrap_or_default())
    }
}

/// How many bytes at the end begin a character that the next bytes could complete.
fn incomplete_tail(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(3);
    let tails = (from..bytes.len()).rev().map(|at| bytes.get(at..).unwrap_or_default());
    let tail = tails.into_iter().find(|tail| tail.first().is_some_and(|byte| byte & 0xC0 != 0x80));
    let is_cut = |tail: &&[u8]| std::str::from_utf8(tail).is_err_and(|error| error.error_len().is_none());
    tail.filter(is_cut).map_or(0, <[u8]>::len)
}

/// Whether bytes are binary data: they contain a zero byte, or more than a tenth is invalid.
pub(crate) fn is_binary(carry: Carry, bytes: &[u8]) -> bool {
    if bytes.contains(&0) {
        return true;
    }
    let (text, _) = carry.decode(bytes);
    let (mut bad, mut all) = (0_usize, 0_usize);
    for character in text.chars() {
        all += 1;
        bad += usize::from(character == '\u{FFFD}');
    }
    bad * 10 > all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_cutting_of_any_bytes_gives_the_text_of_the_whole(
            bytes in proptest::collection::vec(prop_oneof![any::<u8>(), Just(0xF0), Just(0x9F), Just(0xE2)], 0..200),
            cuts in proptest::collection::vec(1usize..7, 0..100),
        ) {
            let (mut text, mut carry) = (String::new(), Carry::default());
            let (mut rest, mut cuts) = (&bytes[..], cuts.into_iter());
            while !rest.is_empty() {
                let (now, later) = rest.split_at(cuts.next().unwrap_or(rest.len()).min(rest.len()));
                let (more, carried) = carry.decode(now);
                text += &more;
                (carry, rest) = (carried, later);
            }
            text += carry.lost();
            prop_assert_eq!(text, String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn only_the_beginning_of_a_character_can_be_carried() {
        assert_eq!(Carry::new(&[0xE2, 0x82]).unwrap().bytes(), [0xE2, 0x82]);
        assert!(Carry::new(b"").unwrap().is_empty());
        for bad in [&b"a"[..], &[0xE2, 0x82, 0xAC], &[0xFF], &[0xF0, 0x9F, 0x98, 0x80], &[b'a', 0xE2]] {
            assert_eq!(Carry::new(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn text_in_any_language_is_text_and_an_image_is_not() {
        let none = Carry::default();
        assert!(!is_binary(none, "grüße, 你好, 🙂\n".as_bytes()) && !is_binary(none, b""));
        assert!(!is_binary(none, b"one odd \xFF byte in a line of text"));
        assert!(is_binary(none, b"\x7FELF\x02\x01\x01\0\0") && is_binary(none, b"\x89PNG\r\n\x1A\n\xFF\xFE"));
        assert!(!is_binary(Carry::new(&[0xE2, 0x82]).unwrap(), &[0xAC]), "the rest of a character is text");
    }
}
