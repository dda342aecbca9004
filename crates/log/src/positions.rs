//! Positions in a log: a record and the ends of all streams after it; and selections of streams.

use headwater_protocol::Stream;

use super::record::RECORD_BYTES;

/// For each stream, the number of bytes written to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ends(pub [u64; 3]);

impl Ends {
    /// Bytes written to this stream.
    pub const fn of(&self, stream: Stream) -> u64 {
        self.0[stream_index(stream)]
    }

    /// Bytes written to all streams.
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum, end| sum.saturating_add(*end))
    }

    /// These ends with `bytes` more in one stream.
    #[must_use]
    pub const fn plus(mut self, stream: Stream, bytes: u64) -> Self {
        self.0[stream_index(stream)] = self.0[stream_index(stream)].saturating_add(bytes);
        self
    }

    /// Whether no stream is longer here than in `other`.
    pub fn within(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0).all(|(mine, theirs)| *mine <= theirs)
    }

    /// For each stream the larger of the two ends.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i].max(other.0[i])))
    }
}

/// The index of a stream in an array of all streams.
pub(crate) const fn stream_index(stream: Stream) -> usize {
    stream as usize - 1
}

/// A record, and the end of each stream after it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    pub seq: u64,
    pub ends: Ends,
}

impl Position {
    /// The cost of everything up to here in bytes: the output, and the records that number it.
    pub fn cost(&self) -> u64 {
        self.ends.total().saturating_add(self.seq.saturating_mul(RECORD_BYTES))
    }
}

/// The streams that a reader returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streams(u8);

impl Streams {
    /// All streams.
    pub const ALL: Self = Self(0b111);
    /// No stream: only `started`, `exited` and `closed`.
    pub const NONE: Self = Self(0);

    /// A set with this stream alone.
    #[must_use]
    pub const fn only(stream: Stream) -> Self {
        Self::NONE.and(stream)
    }

    /// These streams and one more.
    #[must_use]
    pub const fn and(self, stream: Stream) -> Self {
        Self(self.0 | 1 << stream_index(stream))
    }

    /// Whether this stream is included.
    pub const fn has(self, stream: Stream) -> bool {
        self.0 & (1 << stream_index(stream)) != 0
    }
}

impl Default for Streams {
    fn default() -> Self {
        Self::ALL
    }
}
