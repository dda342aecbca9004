//! The title that a conversation has before the model or a person names it.

/// The title that a first message gives: its first line, shortened at a word.
#[must_use]
pub fn first_title(text: &str, most: usize) -> Option<String> {
    // Without the marks of Markdown.
    let lines = text.lines().map(|line| line.trim_start_matches(['#', '>', '-', '*', '`', ' ', '\t']));
    let line = lines.into_iter().find(|line| !line.trim().is_empty())?;
    let line: String = line.chars().map(|ch| if ch.is_control() { ' ' } else { ch }).collect();
    let mut title = String::new();
    for word in line.split_whitespace() {
        let length = title.chars().count();
        if length + 1 + word.chars().count() > most {
            let left = most.saturating_sub(length);
            if title.is_empty() {
                title.extend(word.chars().take(left));
            }
            title.push('…');
            return Some(title);
        }
        if !title.is_empty() {
            title.push(' ');
        }
        title += word;
    }
    (!title.is_empty()).then_some(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_line_shortened_at_a_word() {
        assert_eq!(first_title("\n  ## Fix the\tbuild\nplease", 60).as_deref(), Some("Fix the build"));
        assert_eq!(first_title("one two three", 8).as_deref(), Some("one two…"));
        assert_eq!(first_title(&"x".repeat(100), 10).unwrap().chars().count(), 11);
        assert_eq!(first_title(" \n\t", 10), None);
        assert_eq!(first_title("```\nls", 10).as_deref(), Some("ls"));
    }
}
