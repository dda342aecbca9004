//! The size of a text, in the unit that models are charged by.

/// The bytes that count as one token. Tools that models know use the same estimate.
pub const BYTES_PER_TOKEN: u64 = 4;

/// The tokens of a text without its own budget.
const DEFAULT_TOKENS: u64 = 10_000;
/// The largest budget, in tokens (4 MiB of text): it bounds the memory of a call, about 24 bytes for each byte
/// of the tail.
const MAX_TOKENS: u64 = 1 << 20;

/// The tokens of a text of this many bytes, rounded up.
pub const fn tokens_of(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// The largest size of a text. Notes about what was left out come on top of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    bytes: usize,
}

impl Budget {
    /// A budget in tokens, at most about a million.
    pub const fn tokens(tokens: u64) -> Self {
        Self::bytes(tokens.saturating_mul(BYTES_PER_TOKEN))
    }

    /// A budget in bytes of UTF-8, at most 4 MiB.
    #[expect(clippy::cast_possible_truncation, reason = "at most 4 MiB")]
    pub const fn bytes(bytes: u64) -> Self {
        let most = MAX_TOKENS * BYTES_PER_TOKEN;
        let bytes = if bytes < most { bytes } else { most };
        Self { bytes: bytes as usize }
    }

    /// The number of bytes.
    pub(super) const fn size(self) -> usize {
        self.bytes
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::tokens(DEFAULT_TOKENS)
    }
}
