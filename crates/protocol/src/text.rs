//! Decoding a byte stream to text, cut only between characters, whatever the chunks are.

/// Decodes a stream of bytes chunk by chunk. A character that a chunk cuts is completed by the next chunk;
/// invalid bytes become U+FFFD, as in [`String::from_utf8_lossy`].
#[derive(Debug, Clone, Default)]
pub struct Utf8Stream {
    carry: Vec<u8>,
}

impl Utf8Stream {
    /// The complete characters after these bytes.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.carry.extend_from_slice(bytes);
        let certain = self.carry.len() - incomplete_tail(&self.carry);
        let text = String::from_utf8_lossy(&self.carry[..certain]).into_owned();
        self.carry.drain(..certain);
        text
    }

    /// The rest when no more bytes come: nothing, or one replacement character.
    pub fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.carry)).into_owned()
    }
}

/// The number of bytes at the end that begin a character which the next bytes could complete (0 to 3).
fn incomplete_tail(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(3);
    for start in (from..bytes.len()).rev() {
        if bytes[start] & 0xC0 != 0x80 {
            let incomplete = std::str::from_utf8(&bytes[start..]).is_err_and(|e| e.error_len().is_none());
            return if incomplete { bytes.len() - start } else { 0 };
        }
    }
    0
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
}
