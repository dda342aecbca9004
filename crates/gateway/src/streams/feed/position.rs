//! Where a reader stands in one execution's log: the one thing that its next frame depends on.

use headwater_protocol::{Seq, Stream};

use super::text::Carry;

/// A place in a log, and what a decoder remembers there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The last event that was told whole.
    pub(crate) seq: Seq,
    /// How much of what follows was told too: bytes of output, or frames of any other event.
    pub(crate) part: u32,
    /// What is remembered of standard output, or of both in one.
    pub(crate) out: View,
    /// ... and of standard error.
    pub(crate) err: View,
}

/// What is remembered of a stream of bytes that is shown as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// It is text so far, and ends with this.
    Text(Carry),
    /// It is not, and is not shown.
    Binary,
}

impl Default for View {
    fn default() -> Self {
        Self::Text(Carry::default())
    }
}

impl Place {
    /// The beginning of a log.
    pub(crate) const fn is_start(&self) -> bool {
        self.seq.0 == 0
    }

    /// After all of an event.
    pub(crate) const fn after(self, seq: Seq) -> Self {
        Self { seq, part: 0, ..self }
    }

    /// What is remembered of a stream.
    pub(crate) const fn view(&self, stream: Stream) -> View {
        match stream {
            Stream::Stdout | Stream::Output => self.out,
            Stream::Stderr => self.err,
        }
    }

    /// The same with something else remembered.
    pub(crate) const fn with_view(self, stream: Stream, view: View) -> Self {
        match stream {
            Stream::Stdout | Stream::Output => Self { out: view, ..self },
            Stream::Stderr => Self { err: view, ..self },
        }
    }
}
