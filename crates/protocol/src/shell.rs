//! Quoting for the shell.

/// Quotes a word for a POSIX shell: it stays one word, whatever it contains.
pub fn shell_quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_word_is_one_word_for_the_shell() {
        assert_eq!(shell_quote("a'b $(x) `y`"), r"'a'\''b $(x) `y`'");
    }
}
