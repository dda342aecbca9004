//! Texts that are cut to a length.

/// The beginning and the end of a text, with what is left out between them.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = text.get(..text.floor_char_boundary(most / 2)).unwrap_or_default();
    let tail = text.get(text.ceil_char_boundary(text.len() - most / 2)..).unwrap_or_default();
    format!("{head}\n[… {} bytes left out …]\n{tail}", text.len() - head.len() - tail.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_ends_and_says_how_much_is_missing() {
        assert_eq!(shorten("short", 5), "short");
        let cut = shorten(&"ä".repeat(100), 21);
        assert_eq!(cut, format!("{0}\n[… 180 bytes left out …]\n{0}", "ä".repeat(5)));
    }
}
