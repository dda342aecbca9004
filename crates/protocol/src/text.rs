//! Decoding a byte stream to text, cut only between characters, whatever the chunks are.

/// Decodes a stream of bytes chunk by chunk. A character that a chunk cuts is completed by the next chunk;
/// invalid bytes become U+FFFD, as in [`String::from_utf8_lossy`].
#[derive(Debug, Clone, Default)]
pub struct Utf8Stream {
    carry: Utf8Carry,
}

impl Utf8Stream {
    /// The complete characters after these bytes.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        let (text, carry) = self.carry.decode(bytes);
        self.carry = carry;
        text
    }

    /// The rest when no more bytes come: nothing, or one replacement character.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.carry).lost().to_owned()
    }
}

/// The incomplete character at the end of decoded bytes: 0 to 3 bytes. As a value, it fits into a cursor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Utf8Carry {
    bytes: [u8; 3],
    length: u8,
}

impl Utf8Carry {
    /// No bytes.
    pub const EMPTY: Self = Self { bytes: [0; 3], length: 0 };

    /// Bytes that begin a character and do not complete it; else None.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut carry = Self { bytes: [0; 3], length: u8::try_from(bytes.len()).ok()? };
        carry.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        (incomplete_tail(bytes) == bytes.len()).then_some(carry)
    }

    /// The bytes of the incomplete character.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }

    /// Whether there is no incomplete character.
    pub const fn is_empty(self) -> bool {
        self.length == 0
    }

    /// The replacement for an incomplete character whose rest will never come.
    pub const fn lost(self) -> &'static str {
        if self.is_empty() { "" } else { "\u{FFFD}" }
    }

    /// The text of these bytes, and the incomplete character at their end. Invalid bytes become U+FFFD.
    pub fn decode(self, bytes: &[u8]) -> (String, Self) {
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
            let mut stream = Utf8Stream::default();
            let (mut text, mut rest, mut cuts) = (String::new(), &bytes[..], cuts.into_iter());
            while !rest.is_empty() {
                let (now, later) = rest.split_at(cuts.next().unwrap_or(rest.len()).min(rest.len()));
                text += &stream.push(now);
                rest = later;
            }
            text += &stream.finish();
            prop_assert_eq!(text, String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn a_character_cut_in_two_is_whole_again() {
        let mut stream = Utf8Stream::default();
        assert_eq!(stream.push(&[b'a', 0xE2, 0x82]), "a");
        assert_eq!(stream.push(&[0xAC, b'b']), "€b");
        assert_eq!(stream.finish(), "");
    }

    #[test]
    fn only_the_beginning_of_a_character_can_be_carried() {
        assert_eq!(Utf8Carry::new(&[0xE2, 0x82]).unwrap().bytes(), [0xE2, 0x82]);
        assert!(Utf8Carry::new(b"").unwrap().is_empty());
        for bad in [&b"a"[..], &[0xE2, 0x82, 0xAC], &[0xFF], &[0xF0, 0x9F, 0x98, 0x80], &[b'a', 0xE2]] {
            assert_eq!(Utf8Carry::new(bad), None, "{bad:?}");
        }
    }
}
