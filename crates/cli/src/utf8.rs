//! Decodes the output of programs for a console of Windows, which takes text and no other bytes.

/// The longest beginning of a character that can be incomplete.
const MAX_INCOMPLETE_BYTES: usize = 3;

/// Decodes chunks of UTF-8. Bytes that are not UTF-8 become U+FFFD, and the beginning of a character is held until the
/// rest of it arrives.
#[derive(Debug, Default)]
pub struct Decoder {
    held: Vec<u8>,
}

impl Decoder {
    /// The text that is complete.
    pub fn decode(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        self.held = all.split_off(all.len() - incomplete(&all));
        String::from_utf8_lossy(&all).into_owned()
    }
}

/// The number of bytes at the end that begin a character without completing it.
fn incomplete(bytes: &[u8]) -> usize {
    let longest = MAX_INCOMPLETE_BYTES.min(bytes.len());
    let is_begun = |count: &usize| {
        let error = std::str::from_utf8(&bytes[bytes.len() - count..]).err();
        error.is_some_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=longest).rev().find(is_begun).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_that_arrives_in_parts_is_decoded_once_it_is_complete() {
        let text = "größe 🙂 日本語";
        for size in 1..=5 {
            let mut decoder = Decoder::default();
            let all: String = text.as_bytes().chunks(size).map(|chunk| decoder.decode(chunk)).collect();
            assert_eq!(all, text, "in chunks of {size}");
        }
    }

    #[test]
    fn bytes_that_are_not_text_are_replaced_and_hold_nothing_back() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.decode(b"a\xffb\x80"), "a\u{fffd}b\u{fffd}");
        assert_eq!(decoder.decode(b"\xf0\x9f"), "");
        assert_eq!(decoder.decode(b"x"), "\u{fffd}x");
    }
}
