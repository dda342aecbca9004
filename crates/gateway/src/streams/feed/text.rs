//! Tells binary output from text.

use headwater_protocol::Utf8Carry;

/// Whether bytes are binary data: they contain a zero byte, or more than a tenth is invalid.
pub(crate) fn is_binary(carry: Utf8Carry, bytes: &[u8]) -> bool {
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
    use super::*;

    #[test]
    fn text_in_any_language_is_text_and_an_image_is_not() {
        let none = Utf8Carry::default();
        assert!(!is_binary(none, "grüße, 你好, 🙂\n".as_bytes()) && !is_binary(none, b""));
        assert!(!is_binary(none, b"one odd \xFF byte in a line of text"));
        assert!(is_binary(none, b"\x7FELF\x02\x01\x01\0\0") && is_binary(none, b"\x89PNG\r\n\x1A\n\xFF\xFE"));
        assert!(
            !is_binary(Utf8Carry::new(&[0xE2, 0x82]).unwrap(), &[0xAC]),
            "the rest of a character is text"
        );
    }
}
