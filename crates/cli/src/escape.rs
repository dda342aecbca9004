//! Escapes text of users and programs for the terminal: characters that could control the terminal or disguise the text
//! are written as visible escape sequences.
//!
//! Everything that this binary prints or logs is escaped, except the output of programs.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::Value;
use tracing_subscriber::fmt::MakeWriter;

/// Whether a character is printed as it is: not a control character (C0, DEL and C1, including U+009B), not one that
/// changes the direction or the lines of a text, and not an invisible one.
fn is_shown(c: char) -> bool {
    let hidden = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}');
    !c.is_control() && !hidden
}

fn escaped(text: &str, is_kept: impl Fn(char) -> bool, escape: impl Fn(&mut String, char)) -> Cow<'_, str> {
    let is_kept = |c: char| is_shown(c) || is_kept(c);
    if text.chars().all(is_kept) {
        return Cow::Borrowed(text);
    }
    let mut all = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_kept(c) { all.push(c) } else { escape(&mut all, c) }
    }
    Cow::Owned(all)
}

/// `\n`, `\u{1b}`: as in Rust source code.
fn as_source(all: &mut String, c: char) {
    all.extend(c.escape_default());
}

/// `\u001b`: the same character to a JSON parser.
fn as_json(all: &mut String, c: char) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        let _ = write!(all, "\\u{unit:04x}"); // writing to a string cannot fail
    }
}

/// Escapes a text, so that it fits on one line.
pub fn printable(text: &str) -> String {
    escaped(text, |_| false, as_source).into_owned()
}

/// Escapes a message that may have several lines: all but the first are indented, so that none looks like another
/// message.
pub fn message(text: &str) -> String {
    escaped(text, |c| c == '\n', as_source).replace('\n', "\n  ")
}

/// Escapes a text of several lines. Tabs are kept, too.
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| matches!(c, '\n' | '\t'), as_source)
}

/// A JSON value on one line, escaped.
pub fn json(value: &Value) -> String {
    json_lines(&value.to_string()).into_owned()
}

/// Escapes lines of JSON; their meaning does not change.
pub fn json_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c == '\n', as_json)
}

/// Standard error for the log: each event is one line, whatever it contains.
#[derive(Debug, Clone, Copy)]
pub struct Log {
    /// The formatter adds colours, and escapes those in values.
    pub colours: bool,
    /// The lines are JSON.
    pub json: bool,
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        *self
    }
}

impl Log {
    fn line(self, text: &str) -> Cow<'_, str> {
        let is_ours = |c: char| self.colours && c == '\u{1b}';
        escaped(text, is_ours, if self.json { as_json } else { as_source })
    }
}

impl Write for Log {
    /// The formatter writes one event at a time.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let (text, end) = text.strip_suffix('\n').map_or((&*text, ""), |text| (text, "\n"));
        let line = format!("{}{end}", self.line(text));
        io::stderr().write_all(line.as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Characters that must never reach a terminal unescaped.
    const HOSTILE: [char; 14] = [
        '\u{1b}',
        '\u{7}',
        '\u{8}',
        '\r',
        '\n',
        '\t',
        '\u{7f}',
        '\u{9b}',
        '\u{9d}',
        '\u{202e}',
        '\u{2066}',
        '\u{200f}',
        '\u{2028}',
        '\u{e0041}',
    ];

    #[test]
    fn characters_that_control_a_terminal_are_escaped() {
        for c in HOSTILE {
            let text = format!("a{c}b");
            assert!(printable(&text).chars().all(is_shown), "{c:?}: {}", printable(&text));
            let line = json(&json!({ "name": text }));
            assert!(line.chars().all(is_shown), "{c:?}: {line}");
            let again: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(again["name"], text, "the meaning is unchanged");
        }
        assert_eq!(printable("a\u{9b}2J\nb"), "a\\u{9b}2J\\nb");
    }

    #[test]
    fn ordinary_text_is_unchanged() {
        for text in ["plain", "größe 🙂 👩‍💻 日本語 עברית", "a\\b 'c' \"d\""] {
            assert_eq!(printable(text), text);
        }
    }

    #[test]
    fn one_message_cannot_look_like_two() {
        assert_eq!(message("no `x\nhint: do it\u{1b}[2J`"), "no `x\n  hint: do it\\u{1b}[2J`");
    }

    #[test]
    fn a_log_event_is_one_line_and_keeps_only_our_colours() {
        let (plain, painted) = (Log { colours: false, json: false }, Log { colours: true, json: false });
        assert_eq!(plain.line("a\nb\u{9b}\u{1b}[1m"), "a\\nb\\u{9b}\\u{1b}[1m");
        assert_eq!(painted.line("\u{1b}[2ma\rb\u{202e}"), "\u{1b}[2ma\\rb\\u{202e}");
        assert_eq!(Log { colours: false, json: true }.line("\"\u{9b}\""), "\"\\u009b\"");
    }
}
