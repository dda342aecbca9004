//! Time in init: nanoseconds of the monotonic clock for deadlines, Unix microseconds for reports.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds in a millisecond.
pub(super) const NANOS_PER_MS: u64 = 1_000_000;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// The monotonic time in nanoseconds, for deadlines and durations.
pub(super) fn now() -> u64 {
    nanos(&clock_gettime(ClockId::Monotonic))
}

/// The wall-clock time in Unix microseconds.
pub(super) fn unix_us() -> u64 {
    nanos(&clock_gettime(ClockId::Realtime)) / 1000
}

/// `ms` milliseconds after `now`; saturates, and a deadline at the maximum never comes.
pub(super) fn after(now: u64, ms: u64) -> u64 {
    now.saturating_add(ms.saturating_mul(NANOS_PER_MS))
}

/// Converts nanoseconds to the kernel's `timespec`.
pub(super) fn timespec(nanos: u64) -> Timespec {
    // Both parts fit: the first is at most 2^64 / 10^9, the second below 10^9.
    let (whole, rest) = (nanos / NANOS_PER_SECOND, nanos % NANOS_PER_SECOND);
    Timespec { tv_sec: i64::try_from(whole).unwrap_or(i64::MAX), tv_nsec: i64::try_from(rest).unwrap_or(0) }
}

fn nanos(time: &Timespec) -> u64 {
    let whole = u64::try_from(time.tv_sec).unwrap_or(0).saturating_mul(NANOS_PER_SECOND);
    whole.saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_beyond_counting_is_never() {
        assert_eq!(after(now(), u64::MAX), u64::MAX);
        assert_eq!(after(5, 2), 5 + 2 * NANOS_PER_MS);
    }

    #[test]
    fn a_span_splits_into_seconds_and_the_rest() {
        let time = timespec(3_000_000_007);
        assert_eq!((time.tv_sec, time.tv_nsec), (3, 7));
        assert_eq!(nanos(&time), 3_000_000_007);
    }
}
