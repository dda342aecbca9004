//! Cuts a stream of bytes into text and whole control sequences, so that the emulator never holds half of one: what is not
//! complete waits here, bounded, and is a part of the snapshot.

/// The longest control sequence that has a meaning; longer ones are passed over whole.
const MAX_SEQUENCE: usize = 1024;
/// The longest string (a title, a link, a mark) that has a meaning; longer ones are passed over whole.
const MAX_STRING: usize = 8192;

/// A piece of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Text, controls and whole sequences, for the emulator.
    Plain(&'a [u8]),
    /// A whole operating system command, from its escape to before its terminator.
    Osc(&'a [u8], Terminator),
}

/// How a string ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Terminator {
    Bell,
    /// Anything else: an escape (what follows it is the next sequence) or a cancel.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Ground,
    /// The beginning of a character.
    Utf8,
    Escape,
    Intermediate,
    Csi,
    Osc,
    /// Before the byte that begins the string of a device control; its content has no meaning here.
    DcsEntry,
    Dcs,
    /// A string that only an escape or a cancel ends.
    Ignored,
}

/// What is not complete yet.
#[derive(Debug, Default)]
pub(crate) struct Cutter {
    state: State,
    held: Vec<u8>,
}

const ESCAPE: u8 = 0x1b;
/// What stands for a character that is none.
const INVALID: &[u8] = "\u{fffd}".as_bytes();

/// Controls that work in the middle of a sequence.
const fn is_control(byte: u8) -> bool {
    matches!(byte, 0x00..=0x17 | 0x19 | 0x1c..=0x1f)
}

const fn is_cancel(byte: u8) -> bool {
    matches!(byte, 0x18 | 0x1a)
}

impl Cutter {
    /// What is held back: fed to another one, it brings that to the same state.
    pub(crate) fn held(&self) -> &[u8] {
        &self.held
    }

    /// Gives the pieces of `bytes` to `take`, in order.
    pub(crate) fn cut(&mut self, bytes: &[u8], mut take: impl FnMut(Piece<'_>)) {
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

    /// Text up to the next escape.
    fn ground<'a>(&mut self, bytes: &'a [u8], take: &mut impl FnMut(Piece<'_>)) -> &'a [u8] {
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
            take(Piece::Plain(whole));
        }
        (0..invalid).for_each(|_| take(Piece::Plain(INVALID)));
        if rest.is_empty() {
            if !begun.is_empty() {
                self.hold(State::Utf8, begun);
            }
            return rest;
        }
        if !begun.is_empty() {
            take(Piece::Plain(INVALID)); // an escape cuts it off
        }
        self.hold(State::Escape, &[ESCAPE]);
        rest.get(1..).unwrap_or_default()
    }

    fn hold(&mut self, state: State, bytes: &[u8]) {
        self.state = state;
        self.held.clear();
        self.held.extend_from_slice(bytes);
    }

    /// The rest of a character that was cut off.
    fn finish_character<'a>(&mut self, bytes: &'a [u8], take: &mut impl FnMut(Piece<'_>)) -> &'a [u8] {
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
            // The emulator never sees the beginning of a character alone.
            let begun = begun_character(&self.held) > 0;
            take(Piece::Plain(if begun { INVALID } else { &self.held }));
            self.held.clear();
        }
        rest
    }

    fn step(&mut self, byte: u8, take: &mut impl FnMut(Piece<'_>)) {
        match self.state {
            State::Osc => return self.osc(byte, take),
            State::Dcs if byte == 0x9c => return self.drop_it(),
            _ => {}
        }
        if is_cancel(byte) {
            self.drop_it();
            return take(Piece::Plain(&[byte]));
        }
        if byte == ESCAPE {
            return self.hold(State::Escape, &[ESCAPE]);
        }
        match self.state {
            State::Escape | State::Intermediate | State::Csi => self.sequence(byte, take),
            State::DcsEntry => self.device_control(byte),
            _ => {} // the content of a string that has no meaning here
        }
    }

    fn drop_it(&mut self) {
        self.state = State::Ground;
        self.held.clear();
    }

    fn sequence(&mut self, byte: u8, take: &mut impl FnMut(Piece<'_>)) {
        if is_control(byte) {
            return take(Piece::Plain(&[byte]));
        }
        if byte >= 0x7f {
            return; // of no meaning in a sequence
        }
        if self.held.len() <= MAX_SEQUENCE {
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
            if self.held.len() <= MAX_SEQUENCE {
                take(Piece::Plain(&self.held));
            }
            self.held.clear();
        }
    }

    /// Only how far it has come matters, to know what ends it; never what it says.
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

    fn osc(&mut self, byte: u8, take: &mut impl FnMut(Piece<'_>)) {
        let ended = match byte {
            0x07 => Some(Terminator::Bell),
            _ if byte == ESCAPE || is_cancel(byte) => Some(Terminator::Other),
            _ => None,
        };
        let Some(terminator) = ended else {
            if !is_control(byte) && self.held.len() <= MAX_STRING {
                self.held.push(byte);
            }
            return;
        };
        if self.held.len() <= MAX_STRING {
            take(Piece::Osc(&self.held, terminator));
        }
        self.drop_it();
        if byte == ESCAPE {
            self.hold(State::Escape, &[ESCAPE]);
        }
    }
}

/// Text, and the beginning of a character at its end.
fn split_character(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.len() - begun_character(text))
}

/// How many bytes at the end are the beginning of a character.
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

    fn pieces(cutter: &mut Cutter, bytes: &[u8]) -> Vec<u8> {
        let mut all = Vec::new();
        cutter.cut(bytes, |piece| match piece {
            Piece::Plain(bytes) => all.extend_from_slice(bytes),
            Piece::Osc(bytes, terminator) => {
                all.extend_from_slice(bytes);
                all.push(if terminator == Terminator::Bell { b'B' } else { b'O' });
            }
        });
        all
    }

    #[test]
    fn an_incomplete_sequence_is_held_until_it_is_complete() {
        let whole = "a\u{e9}\x1b[1;3\n1mb\x1b]0;t\x07c\x1b]2;u\x1b\\d\x1bPq1;2\x1b\\e\u{4e2d}f".as_bytes();
        let expected = pieces(&mut Cutter::default(), whole);
        for size in 1..whole.len() {
            let mut cutter = Cutter::default();
            let mut all = Vec::new();
            for chunk in whole.chunks(size) {
                let mut again = Cutter::default();
                let held = cutter.held().to_vec();
                assert!(pieces(&mut again, &held).is_empty(), "what is held does nothing by itself");
                assert_eq!((again.state, &again.held), (cutter.state, &cutter.held));
                all.extend(pieces(&mut cutter, chunk));
            }
            assert_eq!(String::from_utf8_lossy(&all), String::from_utf8_lossy(&expected), "pieces of {size}");
        }
    }

    #[test]
    fn an_endless_sequence_costs_no_memory_and_does_nothing() {
        for begin in ["\x1b[", "\x1b]0;", "\x1bP", "\x1bPq", "\x1b_", "\x1b("] {
            let mut cutter = Cutter::default();
            pieces(&mut cutter, begin.as_bytes());
            for _ in 0..100 {
                pieces(&mut cutter, &b"1;0 ".repeat(1000));
            }
            assert!(cutter.held.capacity() < 32 << 10, "{begin:?} holds {}", cutter.held.capacity());
            assert!(pieces(&mut cutter, b"\x18x").ends_with(b"x") && cutter.held.is_empty(), "{begin:?}");
        }
    }
}
