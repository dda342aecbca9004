//! The line that a person types, with a cursor and what they typed before.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::Key;

/// Lines that are remembered.
const MAX_HISTORY: usize = 1000;

/// A line, its cursor, and earlier lines.
#[derive(Debug, Default)]
pub struct Line {
    text: Vec<char>,
    /// The character that the cursor is on.
    at: usize,
    history: Vec<String>,
    /// Which earlier line is shown, counted from the newest; 0 is the new one.
    back: usize,
    /// The new line, while an earlier one is shown.
    new: Vec<char>,
}

impl Line {
    /// The text.
    pub fn text(&self) -> String {
        self.text.iter().collect()
    }

    /// Whether nothing is typed.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Forgets what is typed.
    pub fn clear(&mut self) {
        self.set(Vec::new());
        self.back = 0;
    }

    /// Shows another text.
    pub fn replace(&mut self, text: &str) {
        self.set(text.chars().collect());
    }

    /// Remembers a line.
    pub fn remember(&mut self, text: &str) {
        if !text.trim().is_empty() && self.history.last().map(String::as_str) != Some(text) {
            self.history.push(text.to_owned());
        }
        if self.history.len() > MAX_HISTORY {
            self.history.remove(0);
        }
    }

    /// The whole line, which is empty from now on.
    pub fn take(&mut self) -> String {
        let text = self.text();
        self.clear();
        text
    }

    /// Edits the line. Returns whether the key means something here.
    pub fn edit(&mut self, key: &Key) -> bool {
        match key {
            Key::Text(text) => self.insert(text),
            Key::NewLine => self.insert("\n"),
            Key::Backspace if self.at > 0 => self.remove(self.at - 1, self.at),
            Key::Delete | Key::EndOfInput if self.at < self.text.len() => self.remove(self.at, self.at + 1),
            Key::Left => self.at = self.at.saturating_sub(1),
            Key::Right => self.at = (self.at + 1).min(self.text.len()),
            Key::WordLeft => self.at = self.word_left(),
            Key::WordRight => self.at = self.word_right(),
            Key::Home => self.at = 0,
            Key::End => self.at = self.text.len(),
            Key::KillWord => self.remove(self.word_left(), self.at),
            Key::KillLine => self.remove(0, self.at),
            Key::KillEnd => self.remove(self.at, self.text.len()),
            Key::Up => self.show(self.back + 1),
            Key::Down => self.show(self.back.saturating_sub(1)),
            Key::Enter | Key::Tab | Key::EndOfInput | Key::Escape | Key::Backspace | Key::Delete => {
                return false;
            }
        }
        true
    }

    fn set(&mut self, text: Vec<char>) {
        self.at = text.len();
        self.text = text;
    }

    fn insert(&mut self, text: &str) {
        let before = self.text.len();
        self.text.splice(self.at..self.at, text.chars());
        self.at += self.text.len() - before;
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.drain(from..to);
        self.at = from;
    }

    fn word_left(&self) -> usize {
        let mut at = self.at;
        while at > 0 && self.text[at - 1].is_whitespace() {
            at -= 1;
        }
        while at > 0 && !self.text[at - 1].is_whitespace() {
            at -= 1;
        }
        at
    }

    fn word_right(&self) -> usize {
        let (mut at, end) = (self.at, self.text.len());
        while at < end && self.text[at].is_whitespace() {
            at += 1;
        }
        while at < end && !self.text[at].is_whitespace() {
            at += 1;
        }
        at
    }

    fn show(&mut self, back: usize) {
        if back > self.history.len() || back == self.back {
            return;
        }
        if self.back == 0 {
            self.new.clone_from(&self.text);
        }
        let text = match back {
            0 => std::mem::take(&mut self.new),
            back => self.history[self.history.len() - back].chars().collect(),
        };
        self.set(text);
        self.back = back;
    }

    /// The line after a prompt (which may be coloured; `prompt_width` columns), in so many columns. The part around the
    /// cursor is shown, and at the end the cursor is moved there.
    pub fn drawn(&self, prompt: &str, prompt_width: usize, columns: usize) -> String {
        let room = columns.saturating_sub(prompt_width + 1).max(4);
        let shown: Vec<String> = self.text.iter().map(|ch| shown(*ch)).collect();
        let width = |from: usize, to: usize| shown[from..to].iter().map(|text| text.width()).sum::<usize>();
        let mut from = 0;
        while width(from, self.at) >= room {
            from += 1;
        }
        let mut to = self.at;
        while to < shown.len() && width(from, to + 1) <= room {
            to += 1;
        }
        let back = width(self.at, to);
        let cursor = if back > 0 { format!("\u{1b}[{back}D") } else { String::new() };
        format!("{prompt}{}{cursor}", shown[from..to].concat())
    }
}

/// A character of the line. What could control the terminal is shown by its code.
fn shown(ch: char) -> String {
    match ch {
        '\n' => "⏎".to_owned(),
        '\t' => " ".to_owned(),
        ch if ch.width().is_none() => crate::escape::printable(&ch.to_string()),
        ch => crate::escape::printable(&ch.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Keys;
    use super::*;

    fn typed(line: &mut Line, bytes: &str) {
        for key in Keys::default().push(bytes.as_bytes()) {
            line.edit(&key);
        }
    }

    #[test]
    fn a_line_is_edited_at_its_cursor() {
        let mut line = Line::default();
        typed(&mut line, "hello wurld\u{1b}[D\u{1b}[D\u{1b}[D\u{7f}o\u{1b}[F!");
        assert_eq!(line.text(), "hello world!");
        typed(&mut line, "\u{17}big \u{1}a \u{b}");
        assert_eq!(line.text(), "a ");
        typed(&mut line, "\u{15}x\u{1b}\ry");
        assert_eq!(line.take(), "x\ny");
        assert!(line.is_empty());
    }

    #[test]
    fn earlier_lines_come_back_and_the_new_one_is_not_lost() {
        let mut line = Line::default();
        for text in ["one", "two", "two"] {
            line.remember(text);
        }
        typed(&mut line, "new");
        for (key, expected) in
            [("A", "two"), ("A", "one"), ("A", "one"), ("B", "two"), ("B", "new"), ("B", "new")]
        {
            typed(&mut line, &format!("\u{1b}[{key}"));
            assert_eq!(line.text(), expected);
        }
    }

    #[test]
    fn a_long_line_shows_the_part_around_its_cursor() {
        let mut line = Line::default();
        typed(&mut line, "0123456789");
        assert_eq!(line.drawn("> ", 2, 80), "> 0123456789");
        assert_eq!(line.drawn("> ", 2, 9), "> 56789");
        typed(&mut line, "\u{1}");
        assert_eq!(line.drawn("> ", 2, 9), "> 012345\u{1b}[6D");
        line.replace("a\u{1b}[2J\n日本");
        assert_eq!(line.drawn("> ", 2, 80), "> a\\u{1b}[2J⏎日本");
    }
}
