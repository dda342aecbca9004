//! Splits a stream of bytes into characters, control characters and control sequences, incrementally.
//!
//! The parsers of terminal emulators do not report the position of a character, and some buffer a string
//! (a title, an image) without bound. This one keeps a position for each token and skips strings.

use super::Position;

/// The number of parameters of a sequence that are kept; the rest is ignored.
const MAX_PARAMETERS: usize = 8;
const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;
/// The text of an invalid byte sequence.
pub(super) const REPLACEMENT: &str = "\u{fffd}";

/// A part of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Characters that follow each other. An invalid byte sequence is U+FFFD, alone.
    Text(&'a str),
    /// A control character, for example a line feed.
    Control(u8),
    /// `ESC` and one character.
    Escape(u8),
    /// `ESC [`, parameters, and one character.
    Csi(Csi),
}

/// A control sequence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Csi {
    parameters: [u16; MAX_PARAMETERS],
    count: usize,
    /// The character before the parameters (`?`), or 0.
    pub(super) private: u8,
    /// A character between the parameters and the last character, which changes the meaning.
    pub(super) has_intermediate: bool,
    /// The last character, which names the function.
    pub(super) function: u8,
}

impl Csi {
    /// A parameter, 0 if it is missing.
    pub(super) fn parameter(&self, index: usize) -> usize {
        self.parameters.get(index).copied().map_or(0, usize::from)
    }

    /// A parameter that counts something: 0 and a missing one mean 1.
    pub(super) fn times(&self, index: usize) -> usize {
        self.parameter(index).max(1)
    }

    fn digit(&mut self, byte: u8) {
        if let Some(parameter) = self.parameters.get_mut(self.count) {
            *parameter = parameter.saturating_mul(10).saturating_add(u16::from(byte - b'0'));
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    Escape,
    /// After `ESC` and an intermediate character, for example `ESC (`, which selects a character set.
    EscapeIntermediate,
    Csi,
    /// A string (title, link, image), which ends with BEL, with `ESC \` or with a cancel. It is skipped.
    Text,
}

/// The state between two pieces of a stream.
#[derive(Debug, Clone, Default)]
pub(super) struct Decoder {
    state: State,
    csi: Csi,
    /// The beginning of a character: at most 3 bytes.
    held: Vec<u8>,
    held_at: Position,
}

impl Decoder {
    /// Passes the tokens of `bytes`, which begin at `start`, to `take`.
    pub(super) fn push(&mut self, bytes: &[u8], start: Position, take: &mut impl FnMut(Position, Token<'_>)) {
        let mut rest = bytes;
        let mut at = start;
        while let Some(&byte) = rest.first() {
            let used = if self.state != State::Ground {
                self.sequence(byte, at, take);
                1
            } else if self.held.is_empty() && is_control(byte) {
                self.control(byte, at, take);
                1
            } else {
                let span = rest.iter().position(|&byte| is_control(byte)).unwrap_or(rest.len());
                let text = rest.get(..span).unwrap_or_default();
                if text.is_empty() {
                    self.interrupt(&mut |at, text| take(at, Token::Text(text)));
                }
                self.push_text(text, at, &mut |at, text| take(at, Token::Text(text)));
                span
            };
            at.offset += used as u64;
            rest = rest.get(used..).unwrap_or_default();
        }
    }

    /// Passes the characters of `bytes` to `take`, control characters included.
    pub(super) fn push_text(&mut self, bytes: &[u8], start: Position, take: &mut impl FnMut(Position, &str)) {
        let after_held = self.complete(bytes, take);
        let mut at = Position { offset: start.offset + after_held as u64, ..start };
        let rest = bytes.get(after_held..).unwrap_or_default();
        let end = start.offset + bytes.len() as u64;
        for chunk in rest.utf8_chunks() {
            let (valid, invalid) = (chunk.valid(), chunk.invalid());
            if !valid.is_empty() {
                take(at, valid);
                at.offset += valid.len() as u64;
            }
            let after = at.offset + invalid.len() as u64;
            if after == end && is_begun(invalid) {
                self.held.extend_from_slice(invalid);
                self.held_at = at;
            } else if !invalid.is_empty() {
                take(at, REPLACEMENT);
            }
            at.offset = after;
        }
    }

    /// Completes the character that the last piece began. Returns the number of bytes that belong to it.
    fn complete(&mut self, bytes: &[u8], take: &mut impl FnMut(Position, &str)) -> usize {
        if self.held.is_empty() {
            return 0;
        }
        for (index, &byte) in bytes.iter().enumerate() {
            self.held.push(byte);
            if let Ok(text) = std::str::from_utf8(&self.held) {
                take(self.held_at, text);
                self.held.clear();
                return index + 1;
            }
            if !is_begun(&self.held) {
                self.interrupt(take);
                return index;
            }
        }
        bytes.len()
    }

    /// Ends an incomplete character.
    fn interrupt(&mut self, take: &mut impl FnMut(Position, &str)) {
        if !self.held.is_empty() {
            self.held.clear();
            take(self.held_at, REPLACEMENT);
        }
    }

    /// The position of an incomplete character at the end of the stream, which a [`REPLACEMENT`] replaces.
    pub(super) fn close(&mut self) -> Option<Position> {
        let mut last = None;
        self.interrupt(&mut |at, _| last = Some(at));
        last
    }

    fn control(&mut self, byte: u8, at: Position, take: &mut impl FnMut(Position, Token<'_>)) {
        if byte == ESCAPE {
            self.state = State::Escape;
        } else {
            take(at, Token::Control(byte));
        }
    }

    /// Handles a byte after an escape.
    #[expect(clippy::match_same_arms, reason = "the order of the arms is the precedence of the bytes")]
    fn sequence(&mut self, byte: u8, at: Position, take: &mut impl FnMut(Position, Token<'_>)) {
        match (self.state, byte) {
            (_, ESCAPE) => self.state = State::Escape,
            (_, 0x18 | 0x1a) | (State::Text, BELL) => self.state = State::Ground,
            (State::Text, _) => {}
            // Control characters take effect in the middle of a sequence.
            (_, 0x00..=0x1f) => take(at, Token::Control(byte)),
            (_, 0x7f..) => {}
            (State::Escape, _) => self.escape(byte, at, take),
            (State::Csi, _) => self.csi(byte, at, take),
            (_, 0x20..=0x2f) => {}
            _ => self.state = State::Ground,
        }
    }

    fn escape(&mut self, byte: u8, at: Position, take: &mut impl FnMut(Position, Token<'_>)) {
        self.state = match byte {
            b'[' => {
                self.csi = Csi::default();
                State::Csi
            }
            b']' | b'P' | b'X' | b'^' | b'_' => State::Text,
            0x20..=0x2f => State::EscapeIntermediate,
            _ => {
                take(at, Token::Escape(byte));
                State::Ground
            }
        };
    }

    fn csi(&mut self, byte: u8, at: Position, take: &mut impl FnMut(Position, Token<'_>)) {
        match byte {
            b'0'..=b'9' => self.csi.digit(byte),
            b';' | b':' => self.csi.count = (self.csi.count + 1).min(MAX_PARAMETERS),
            b'<'..=b'?' => self.csi.private = byte,
            0x20..=0x2f => self.csi.has_intermediate = true,
            _ => {
                self.csi.function = byte;
                self.state = State::Ground;
                take(at, Token::Csi(self.csi));
            }
        }
    }
}

const fn is_control(byte: u8) -> bool {
    byte < 0x20 || byte == 0x7f
}

/// Whether these bytes are the beginning of a character, to which more bytes can be added.
fn is_begun(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
}
