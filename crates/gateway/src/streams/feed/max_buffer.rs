//! The `maxBuffer` of a call: how many bytes of each stream its card and its result show. The program continues, and its
//! log has everything.

/// How much of a piece of output is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shown {
    /// The number of bytes from its beginning.
    pub(super) bytes: usize,
    /// The limit, if this piece is the first that exceeds it: [`note`] follows its bytes.
    pub(super) exceeded: Option<u64>,
}

impl Shown {
    /// Applies a limit to `length` bytes at `offset` of their stream. It depends on nothing else, so a client that
    /// reconnects gets the same.
    pub(super) fn of(limit: Option<u64>, offset: u64, length: usize) -> Self {
        let Some(limit) = limit else {
            return Self { bytes: length, exceeded: None };
        };
        let left = usize::try_from(limit.saturating_sub(offset)).unwrap_or(usize::MAX);
        let is_first = offset <= limit && length > left;
        Self { bytes: length.min(left), exceeded: is_first.then_some(limit) }
    }
}

/// Whether all output from this byte on is hidden.
pub(super) fn hides(limit: Option<u64>, offset: u64) -> bool {
    limit.is_some_and(|limit| offset > limit)
}

/// The text that replaces the rest of a stream.
pub(super) fn note(limit: u64) -> String {
    format!(
        "\n[SYSTEM: {limit} bytes are the `maxBuffer` of this call; `output_url` returns the whole output.]\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_one_piece_exceeds_a_limit_wherever_the_output_is_divided() {
        for size in 1..=12 {
            let pieces = (0..24 / size).map(|n| Shown::of(Some(10), (n * size) as u64, size));
            let pieces: Vec<_> = pieces.collect();
            assert_eq!(pieces.iter().map(|shown| shown.bytes).sum::<usize>(), 10, "{size}");
            assert_eq!(pieces.iter().filter(|shown| shown.exceeded.is_some()).count(), 1, "{size}");
        }
        assert_eq!(Shown::of(Some(10), 0, 10), Shown { bytes: 10, exceeded: None });
        assert_eq!(Shown::of(Some(10), 10, 1), Shown { bytes: 0, exceeded: Some(10) });
        assert_eq!(Shown::of(None, 5, 7), Shown { bytes: 7, exceeded: None });
        assert!(hides(Some(10), 11) && !hides(Some(10), 10) && !hides(None, u64::MAX));
    }
}
