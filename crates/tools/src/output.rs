//! Output for a model: the text of a program's output within a token budget.
//!
//! Bytes pass through four stages, each with bounded memory whatever the size of the output:
//! `decode` (incremental UTF-8, control sequences), `lines` (progress bars become their last state), `mask`
//! (secrets) and `cut` (head and tail within the budget). Every character keeps the position of its first
//! byte in the log, so a cut names exactly what was left out and where the rest can be read.

mod budget;
mod cut;
mod decode;
mod lines;
mod mask;
mod rendered;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use headwater_protocol::{Seq, Stream};

pub use budget::{BYTES_PER_TOKEN, Budget, tokens_of};
pub use mask::{Secrets, SecretsError};
pub use rendered::{LeftOut, Rendered, Size};

use cut::HeadTail;
use decode::{Decoder, REPLACEMENT, Token};
use lines::Lines;
use mask::Mask;

/// A place in the output of an execution.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The byte, counted over everything that was pushed, plus the offset of the start.
    pub offset: u64,
    /// The event that contains the byte. A reader that wants this byte asks for the events after
    /// `seq - 1`.
    pub seq: Seq,
    /// The first byte of that event, counted in the same way.
    pub event: u64,
}

impl Position {
    /// The bytes of the event before this one.
    pub const fn within(self) -> u64 {
        self.offset.saturating_sub(self.event)
    }

    /// The position some bytes later in the same event.
    const fn plus(self, bytes: usize) -> Self {
        Self { offset: self.offset + bytes as u64, ..self }
    }
}

/// A character and the position of its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cell {
    ch: char,
    at: Position,
}

/// How output becomes text.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The size of the text.
    pub budget: Budget,
    /// Keeps control sequences and carriage returns as they are. Progress bars are not collapsed then.
    pub keep_ansi: bool,
    /// Values that the text must not contain.
    pub secrets: Arc<Secrets>,
    /// The offset of the first byte that is pushed; 0 is the beginning of the output.
    pub start_offset: u64,
}

/// Whether more output follows what was pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The program may print more: an incomplete character waits in the [`Carry`].
    Open,
    /// Nothing follows: an incomplete character becomes U+FFFD.
    Closed,
}

/// What the text of the next call needs from this one: the beginnings of characters and control sequences
/// that a poll cut in two.
#[derive(Debug, Clone, Default)]
pub struct Carry {
    decoders: [Decoder; Stream::ALL.len()],
    /// The offset after the last byte that was pushed.
    pub next_offset: u64,
}

/// Collects output and renders it as text.
#[derive(Debug)]
pub struct Output {
    carry: Carry,
    /// The event that was pushed last, and its first byte: one event may come in pieces.
    event: Option<(Seq, u64)>,
    lines: Option<Lines>,
    kept: Kept,
}

/// The last two stages.
#[derive(Debug)]
struct Kept {
    mask: Mask,
    cut: HeadTail,
}

impl Kept {
    fn take(&mut self, cells: &[Cell]) {
        let cut = &mut self.cut;
        self.mask.push(cells, &mut |cells| cut.push(cells));
    }

    fn take_text(&mut self, at: Position, text: &str) {
        for (index, ch) in text.char_indices() {
            self.take(&[Cell { ch, at: at.plus(index) }]);
        }
    }
}

impl Output {
    /// Starts with the first byte of an output, or with any byte of it that begins a character.
    pub fn new(options: &Options) -> Self {
        Self::resume(options, Carry { next_offset: options.start_offset, ..Carry::default() })
    }

    /// Continues after a call that ended with [`End::Open`]. The start is the one of `carry`.
    pub fn resume(options: &Options, carry: Carry) -> Self {
        let inside = carry.next_offset > 0;
        Self {
            carry,
            event: None,
            lines: (!options.keep_ansi).then(Lines::default),
            kept: Kept {
                mask: Mask::new(Arc::clone(&options.secrets), inside),
                cut: HeadTail::new(options.budget),
            },
        }
    }

    /// Adds the bytes of one event.
    pub fn push(&mut self, stream: Stream, seq: Seq, bytes: &[u8]) {
        let offset = self.carry.next_offset;
        let (_, event) =
            *self.event.insert(self.event.filter(|(last, _)| *last == seq).unwrap_or((seq, offset)));
        let start = Position { offset, seq, event };
        self.carry.next_offset += bytes.len() as u64;
        let Some(decoder) = self.carry.decoders.get_mut(stream as usize - 1) else { return };
        let kept = &mut self.kept;
        match &mut self.lines {
            Some(lines) => decoder.push(bytes, start, &mut |at, token| {
                lines.apply(at, token, &mut |cells| kept.take(cells));
            }),
            None => decoder.push_text(bytes, start, &mut |at, text| kept.take_text(at, text)),
        }
    }

    /// Leaves out bytes that are no longer kept: they only count for the positions of those after them.
    pub fn skip(&mut self, bytes: u64) {
        self.carry.next_offset += bytes;
    }

    /// Renders what was pushed.
    pub fn finish(mut self, end: End) -> (Rendered, Carry) {
        if end == End::Closed {
            self.close_characters();
        }
        let Kept { mut mask, mut cut } = self.kept;
        if let Some(lines) = self.lines {
            lines.finish(&mut |cells| mask.push(cells, &mut |cells| cut.push(cells)));
        }
        mask.finish(end == End::Open, &mut |cells| cut.push(cells));
        (cut.finish(), self.carry)
    }

    fn close_characters(&mut self) {
        let kept = &mut self.kept;
        for decoder in &mut self.carry.decoders {
            let Some(at) = decoder.close() else { continue };
            match &mut self.lines {
                Some(lines) => lines.apply(at, Token::Text(REPLACEMENT), &mut |cells| kept.take(cells)),
                None => kept.take_text(at, REPLACEMENT),
            }
        }
    }
}
