//! Positions: how far each stream had come at a record, and what a stretch of records costs to keep.

use headwater_protocol::Stream;

use super::record::RECORD_BYTES;

/// For each stream, the number of bytes written to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ends(pub [u64; 3]);

impl Ends {
    /// Bytes written to this stream.
    pub const fn of(&self, stream: Stream) -> u64 {
        self.0[slot(stream)]
    }

    /// Bytes written to all streams.
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum, end| sum.saturating_add(*end))
    }

    /// The same with `bytes` more in one stream.
    #[must_use]
    pub const fn plus(mut self, stream: Stream, bytes: u64) -> Self {
        self.0[slot(stream)] = self.0[slot(stream)].saturating_add(bytes);
        self
    }

    /// Whether no stream is further here than there.
    pub fn within(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0).all(|(mine, theirs)| *mine <= theirs)
    }

    /// For each stream the further of the two.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i].max(other.0[i])))
    }
}

/// The place of a stream in an array.
pub(crate) const fn slot(stream: Stream) -> usize {
    stream as usize - 1
}

/// A record's number, and how far each stream had come with it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mark {
    pub seq: u64,
    pub ends: Ends,
}

impl Mark {
    /// What it costs to keep everything up to here: the bytes, and the records that number them.
    pub fn cost(&self) -> u64 {
        self.ends.total().saturating_add(self.seq.saturating_mul(RECORD_BYTES))
    }
}

/// Which streams a reader wants to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streams(u8);

impl Streams {
    /// All of them.
    pub const ALL: Self = Self(0b111);
    /// None: only the events of the life of the execution.
    pub const NONE: Self = Self(0);

    /// One of them.
    #[must_use]
    pub const fn only(stream: Stream) -> Self {
        Self::NONE.and(stream)
    }

    /// These and one more.
    #[must_use]
    pub const fn and(self, stream: Stream) -> Self {
        Self(self.0 | 1 << slot(stream))
    }

    /// Whether this stream is among them.
    pub const fn has(self, stream: Stream) -> bool {
        self.0 & (1 << slot(stream)) != 0
    }
}

impl Default for Streams {
    fn default() -> Self {
        Self::ALL
    }
}
