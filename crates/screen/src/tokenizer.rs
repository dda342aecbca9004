//! Splits a stream of bytes into text and complete control sequences, so that the emulator never has half of
//! one. Incomplete input is held here, bounded, and is a part of the snapshot.

/// The longest control sequence that is interpreted; longer ones are skipped.
const MAX_SEQUENCE_BYTES: usize = 1024;
/// The longest string (a title, a link, a mark) that is interpreted; longer ones are skipped.
const MAX_STRING_BYTES: usize = 8192;

/// A token of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// Text, control characters and complete sequences, for the emulator.
    Plain(&'a [u8]),
    /// A complete operating system command, from its escape to before its terminator.
    Osc(&'a [u8], Terminator),
}

/// How a string ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Terminator {
    Bell,
    /// An escape, which begins the next sequence, or a cancel.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Ground,
    /// Inside a UTF-8 character.
    Utf8,
    Escape,
    Intermediate,
    Csi,
    Osc,
    /// Before the byte that begins the string of a device control, whose content is ignored.
    DcsEntry,
    Dcs,
    /// A string that only an escape or a cancel ends.
    Ignored,
}

/// The state between two calls: incomplete input.
#[derive(Debug, Default)]
pub(crate) struct Tokenizer {
    state: State,
    held: Vec<u8>,
}

const ESCAPE: u8 = 0x1b;
/// The replacement for invalid characters.
const INVALID: &[u8] = "\u{fffd}".as_bytes();

/// Whether a control character takes effect in the middle of a sequence.
const fn is_control(byte: u8) -> bool {
    matches!(byte, 0x00..=0x17 | 0x19 | 0x1c..=0x1f)
}

const fn is_cancel(byte: u8) -> bool {
    matches!(byte, 0x18 | 0x1a)
}

impl Tokenizer {
    /// The incomplete input. Passed to a new tokenizer, it leads to the same state.
    pub(crate) fn held(&self) -> &[u8] {
        &self.held
    }

    /// Passes the tokens of `bytes` to `take`, in order.
    pub(crate) fn cut(&mut self, bytes: &[u8], mut take: impl FnMut(Token<'_>)) {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            rest = match self.state {
                State::Ground => self.ground(rest, &mut take),
                State::Utf8 => self.finish_character(rest, &mut take),
                _ => {
                    self.step(byte, &mut take);
                    after
                }
            };
        }
    }

    /// Handles text up to the next escape.
    fn ground<'a>(&mut self, bytes: &'a [u8], take: &mut impl FnMut(Token<'_>)) -> &'a [u8] {
        let end = memchr::memchr(ESCAPE, bytes).unwrap_or(bytes.len());
        let (text, rest) = bytes.split_at(end);
        let (mut whole, begun) = split_character(text);
        let mut invalid = 0;
        loop {
            let (before, cut_off) = split_character(whole);
            if cut_off.is_empty() {
                break;
            }
            whole = before;
            invalid += 1;
        }
        if !whole.is_empty() {
            take(Token::Plain(whole));
        }
        (0..invalid).for_each(|_| take(Token::Plain(INVALID)));
        if rest.is_empty() {
            if !begun.is_empty() {
                self.hold(State::Utf8, begun);
            }
            return rest;
        }
        if !begun.is_empty() {
            take(Token::Plain(INVALID)); // an escape interrupts it
        }
        self.hold(State::Escape, &[ESCAPE]);
        rest.get(1..).unwrap_or_default()
    }

    fn hold(&mut self, state: State, bytes: &[u8]) {
        self.state = state;
        self.held.clear();
        self.held.extend_from_slice(bytes);
    }

    /// Completes a character that was cut.
    fn finish_character<'a>(&mut self, bytes: &'a [u8], take: &mut impl FnMut(Token<'_>)) -> &'a [u8] {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            if byte & 0xc0 != 0x80 || self.held.len() >= 4 {
                break;
            }
            self.held.push(byte);
            rest = after;
            if begun_character(&self.held) == 0 {
                break;
            }
        }
        if !rest.is_empty() || begun_character(&self.held) == 0 {
            self.state = State::Ground;
            // The emulator never gets the beginning of a character alone.
            let begun = begun_character(&self.held) > 0;
            take(Token::Plain(if begun { INVALID } else { &self.held }));
            self.held.clear();
        }
        rest
    }

    fn step(&mut self, byte: u8, take: &mut impl FnMut(Token<'_>)) {
        match self.state {
            State::Osc => return self.osc(byte, take),
            State::Dcs if byte == 0x9c => return self.drop_it(),
            _ => {}
        }
        if is_cancel(byte) {
            self.drop_it();
            return take(Token::Plain(&[byte]));
        }
        if byte == ESCAPE {
            return self.hold(State::Escape, &[ESCAPE]);
        }
        match self.state {
            State::Escape | State::Intermediate | State::Csi => self.sequence(byte, take),
            State::DcsEntry => self.device_control(byte),
            _ => {} // the content of an ignored string
        }
    }

    fn drop_it(&mut self) {
        self.state = State::Ground;
        self.held.clear();
    }

    fn sequence(&mut self, byte: u8, take: &mut impl FnMut(Token<'_>)) {
        if is_control(byte) {
            return take(Token::Plain(&[byte]));
        }
        if byte >= 0x7f {
            return; // ignored within a sequence
        }
        if self.held.len() <= MAX_SEQUENCE_BYTES {
            self.held.push(byte);
        }
        self.state = match (self.state, byte) {
            (State::Escape, b'[') | (State::Csi, 0x20..=0x3f) => State::Csi,
            (State::Escape, b']') => State::Osc,
            (State::Escape, b'P') => State::DcsEntry,
            (State::Escape, b'X' | b'^' | b'_') => State::Ignored,
            (State::Escape | State::Intermediate, 0x20..=0x2f) => State::Intermediate,
            _ => State::Ground,
        };
        if self.state == State::Ground {
            if self.held.len() <= MAX_SEQUENCE_BYTES {
                take(Token::Plain(&self.held));
            }
            self.held.clear();
        }
    }

    /// Tracks the progress of a device control, to find its end; its content is ignored.
    fn device_control(&mut self, byte: u8) {
        match byte {
            0x20..=0x2f => self.keep_once(b' '),
            0x30..=0x3f if self.held.last() == Some(&b' ') => {
                self.state = State::Ignored;
                self.hold_as_ignored();
            }
            0x3c..=0x3f if self.held.len() > 2 => {
                self.state = State::Ignored;
                self.hold_as_ignored();
            }
            0x30..=0x3f => self.keep_once(b'0'),
            0x40..=0x7e => {
                self.hold(State::Dcs, b"\x1bPq");
            }
            _ => {}
        }
    }

    fn keep_once(&mut self, byte: u8) {
        if self.held.last() != Some(&byte) {
            self.held.push(byte);
        }
    }

    fn hold_as_ignored(&mut self) {
        self.hold(State::Ignored, b"\x1bX");
    }

    fn osc(&mut self, byte: u8, take: &mut impl FnMut(Token<'_>)) {
        let ended = match byte {
            0x07 => Some(Terminator::Bell),
            _ if byte == ESCAPE || is_cancel(byte) => Some(Terminator::Other),
            _ => None,
        };
        let Some(terminator) = ended else {
            if !is_control(byte) && self.held.len() <= MAX_STRING_BYTES {
                self.held.push(byte);
            }
            return;
        };
        if self.held.len() <= MAX_STRING_BYTES {
            take(Token::Osc(&self.held, terminator));
        }
        self.drop_it();
        if byte == ESCAPE {
            self.hold(State::Escape, &[ESCAPE]);
        }
    }
}

/// Splits text from the beginning of a character at its end.
fn split_character(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.len() - begun_character(text))
}

/// The number of bytes at the end that begin a character.
fn begun_character(text: &[u8]) -> usize {
    let last = text.len().saturating_sub(3);
    for at in (last..text.len()).rev() {
        let Some(tail) = text.get(at..) else { return 0 };
        match tail.first() {
            Some(0x80..=0xbf) => {}
            Some(0xc2..=0xf4) => {
                let begun = std::str::from_utf8(tail)
                    .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none());
                return if begun { tail.len() } else { 0 };
            }
            _ => return 0,
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(tokenizer: &mut Tokenizer, bytes: &[u8]) -> Vec<u8> {
        let mut all = Vec::new();
        tokenizer.cut(bytes, |piece| match piece {
            Token::Plain(bytes) => all.extend_from_slice(bytes),
            Token::Osc(bytes, terminator) => {
                all.extend_from_slice(bytes);
                all.push(if terminator == Terminator::Bell { b'B' } else { b'O' });
            }
        });
        all
    }

    #[test]
    fn an_incomplete_sequence_is_held_until_it_is_complete() {
        let whole = "a\u{e9}\x1b[1;3\n1mb\x1b]0;t\x07c\x1b]2;u\x1b\\d\x1bPq1;2\x1b\\e\u{4e2d}f".as_bytes();
        let expected = pieces(&mut Tokenizer::default(), whole);
        for size in 1..whole.len() {
            let mut tokenizer = Tokenizer::default();
            let mut all = Vec::new();
            for chunk in whole.chunks(size) {
                let mut again = Tokenizer::default();
                let held = tokenizer.held().to_vec();
                assert!(pieces(&mut again, &held).is_empty(), "what is held does nothing by itself");
                assert_eq!((again.state, &again.held), (tokenizer.state, &tokenizer.held));
                all.extend(pieces(&mut tokenizer, chunk));
            }
            assert_eq!(String::from_utf8_lossy(&all), String::from_utf8_lossy(&expected), "pieces of {size}");
        }
    }

    #[test]
    fn an_endless_sequence_costs_no_memory_and_does_nothing() {
        for begin in ["\x1b[", "\x1b]0;", "\x1bP", "\x1bPq", "\x1b_", "\x1b("] {
            let mut tokenizer = Tokenizer::default();
            pieces(&mut tokenizer, begin.as_bytes());
            for _ in 0..100 {
                pieces(&mut tokenizer, &b"1;0 ".repeat(1000));
            }
            assert!(tokenizer.held.capacity() < 32 << 10, "{begin:?} holds {}", tokenizer.held.capacity());
            assert!(
                pieces(&mut tokenizer, b"\x18x").ends_with(b"x") && tokenizer.held.is_empty(),
                "{begin:?}"
            );
        }
    }
}
