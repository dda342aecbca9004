//! A reader's position in one execution's log: the only input of its next frame besides the event.

use headwater_protocol::{Seq, Stream, Utf8Carry};

/// A position in a log, and the decoder's state there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// The last event that was sent completely.
    pub(crate) seq: Seq,
    /// How much of the following event was already sent: bytes of output, or frames of any other event.
    pub(crate) part: u32,
    /// The state of standard output, or of both streams in one.
    pub(crate) out: View,
    /// The state of standard error.
    pub(crate) err: View,
}

/// The state of a stream of bytes that is shown as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// Text so far, with an incomplete character at its end.
    Text(Utf8Carry),
    /// Binary output, which is not shown.
    Binary,
}

impl Default for View {
    fn default() -> Self {
        Self::Text(Utf8Carry::default())
    }
}

impl Position {
    /// Whether this is the beginning of a log.
    pub(crate) const fn is_start(&self) -> bool {
        self.seq.0 == 0
    }

    /// The position after a whole event.
    pub(crate) const fn after(self, seq: Seq) -> Self {
        Self { seq, part: 0, ..self }
    }

    /// The state of a stream.
    pub(crate) const fn view(&self, stream: Stream) -> View {
        match stream {
            Stream::Stdout | Stream::Output => self.out,
            Stream::Stderr => self.err,
        }
    }

    /// This position with another state of a stream.
    pub(crate) const fn with_view(self, stream: Stream, view: View) -> Self {
        match stream {
            Stream::Stdout | Stream::Output => Self { out: view, ..self },
            Stream::Stderr => Self { err: view, ..self },
        }
    }
}
