//! Keys, from the bytes of a terminal.

/// What a key or a few of them mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// A character, or a pasted text.
    Text(String),
    Enter,
    /// Alt+Enter: another line of the same message.
    NewLine,
    Tab,
    Backspace,
    Delete,
    Left,
    Right,
    WordLeft,
    WordRight,
    Home,
    End,
    Up,
    Down,
    KillWord,
    KillLine,
    KillEnd,
    /// Ctrl+D.
    EndOfInput,
    /// Escape alone.
    Escape,
}

const PASTE: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";
/// The longest escape sequence that is waited for.
const MAX_SEQUENCE: usize = 16;

/// Bytes that have come and are not keys yet.
#[derive(Debug, Default)]
pub struct Keys {
    bytes: Vec<u8>,
}

impl Keys {
    /// Adds bytes, and returns the keys that are complete. An escape at the end of what came at once is the key itself.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.bytes.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while let Some((key, length)) = next(&self.bytes) {
            self.bytes.drain(..length);
            keys.extend(key);
        }
        keys
    }
}

/// The first key, if it has one, and its length; `None` if more must come.
fn next(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    let first = *bytes.first()?;
    let key = match first {
        b'\r' | b'\n' => Key::Enter,
        b'\t' => Key::Tab,
        0x01 => Key::Home,
        0x02 => Key::Left,
        0x04 => Key::EndOfInput,
        0x05 => Key::End,
        0x06 => Key::Right,
        0x08 | 0x7f => Key::Backspace,
        0x0b => Key::KillEnd,
        0x0e => Key::Down,
        0x10 => Key::Up,
        0x15 => Key::KillLine,
        0x17 => Key::KillWord,
        0x1b => return escape(bytes),
        0..0x20 => return Some((None, 1)),
        _ => return text(bytes),
    };
    Some((Some(key), 1))
}

/// Characters up to the next control character.
fn text(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    let end = bytes.iter().position(u8::is_ascii_control).unwrap_or(bytes.len());
    let (valid, rest) = match std::str::from_utf8(&bytes[..end]) {
        Ok(text) => (text, 0),
        Err(error) => {
            let valid = error.valid_up_to();
            // A character that is not complete waits; what can never be one is dropped.
            (std::str::from_utf8(&bytes[..valid]).unwrap_or_default(), error.error_len().unwrap_or(0))
        }
    };
    if valid.is_empty() && rest == 0 {
        return None;
    }
    let key = (!valid.is_empty()).then(|| Key::Text(valid.to_owned()));
    Some((key, valid.len() + rest))
}

fn escape(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    if bytes.starts_with(PASTE) {
        let end = bytes.windows(PASTE_END.len()).position(|part| part == PASTE_END)?;
        let pasted =
            String::from_utf8_lossy(&bytes[PASTE.len()..end]).replace("\r\n", "\n").replace('\r', "\n");
        return Some((Some(Key::Text(pasted)), end + PASTE_END.len()));
    }
    match bytes.get(1) {
        None => Some((Some(Key::Escape), 1)),
        Some(b'\r' | b'\n') => Some((Some(Key::NewLine), 2)),
        Some(b'b') => Some((Some(Key::WordLeft), 2)),
        Some(b'f') => Some((Some(Key::WordRight), 2)),
        Some(0x7f) => Some((Some(Key::KillWord), 2)),
        Some(b'[' | b'O') => {
            let end = bytes.iter().skip(2).position(|byte| (0x40..=0x7e).contains(byte));
            let Some(length) = end.map(|at| at + 3) else {
                return (bytes.len() > MAX_SEQUENCE).then_some((None, bytes.len()));
            };
            Some((sequence(&bytes[2..length]), length))
        }
        Some(_) => Some((None, 1)),
    }
}

/// The key of a sequence, without its beginning.
fn sequence(rest: &[u8]) -> Option<Key> {
    Some(match rest {
        b"A" => Key::Up,
        b"B" => Key::Down,
        b"C" => Key::Right,
        b"D" => Key::Left,
        b"H" | b"1~" | b"7~" => Key::Home,
        b"F" | b"4~" | b"8~" => Key::End,
        b"3~" => Key::Delete,
        b"1;5C" | b"1;3C" => Key::WordRight,
        b"1;5D" | b"1;3D" => Key::WordLeft,
        b"13;2u" | b"27;2;13~" => Key::NewLine,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Key {
        Key::Text(text.to_owned())
    }

    #[test]
    fn keys_are_the_same_wherever_their_bytes_are_cut() {
        let bytes = "aß\u{1b}[D\u{1b}[1;5C\u{7f}\u{1b}[200~x\r\ny\u{1b}[201~😀\r".as_bytes();
        let whole = Keys::default().push(bytes);
        let (left, right) = (Key::Left, Key::WordRight);
        assert_eq!(whole, [text("aß"), left, right, Key::Backspace, text("x\ny"), text("😀"), Key::Enter]);
        for cut in 0..bytes.len() {
            // Escape alone is a key, so a sequence is not cut after its first byte.
            if bytes[..cut].ends_with(b"\x1b") {
                continue;
            }
            let mut keys = Keys::default();
            let mut all = keys.push(&bytes[..cut]);
            all.extend(keys.push(&bytes[cut..]));
            let joined = |keys: &[Key]| {
                keys.iter()
                    .map(|key| match key {
                        Key::Text(text) => text.clone(),
                        key => format!("<{key:?}>"),
                    })
                    .collect::<String>()
            };
            assert_eq!(joined(&all), joined(&whole), "{cut}");
        }
    }

    #[test]
    fn what_is_no_key_is_dropped() {
        let keys = |bytes: &[u8]| Keys::default().push(bytes);
        assert_eq!(keys(b"a\xff\xfeb"), [text("a"), text("b")]);
        assert_eq!(keys(b"\x1b[99;99Xa\x00"), [text("a")]);
        assert_eq!(keys(b"\x1b"), [Key::Escape]);
        assert_eq!(keys(b"\x1b\r"), [Key::NewLine]);
        let mut endless = b"\x1b[".to_vec();
        endless.extend([b'1'; 100]);
        assert_eq!(keys(&endless), []);
    }
}
