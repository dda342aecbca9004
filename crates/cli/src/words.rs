//! Numbers in words for people, and times for machines.

use std::time::{SystemTime, UNIX_EPOCH};

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// `250 ms`, `1.5 s`, `10 s`, `5 min`, `2.5 h`.
pub fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..10_000 => tenths(ms, 1_000, "s"),
        10_000..MINUTE_MS => format!("{} s", ms / 1_000),
        MINUTE_MS..HOUR_MS => tenths(ms, MINUTE_MS, "min"),
        HOUR_MS..DAY_MS => tenths(ms, HOUR_MS, "h"),
        _ => tenths(ms, DAY_MS, "d"),
    }
}

/// `17 B`, `1.5 KiB`, `2 GiB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    UNITS
        .iter()
        .find(|(size, _)| count >= *size)
        .map_or_else(|| format!("{count} B"), |(size, unit)| tenths(count, *size, unit))
}

/// Rounded down to one decimal, which is left out if it is 0.
fn tenths(value: u64, of: u64, unit: &str) -> String {
    match (value / of, (value % of) * 10 / of) {
        (whole, 0) => format!("{whole} {unit}"),
        (whole, tenth) => format!("{whole}.{tenth} {unit}"),
    }
}

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// How long ago, for a table.
pub fn ago(at_ms: u64) -> String {
    match now_ms().saturating_sub(at_ms) / 1_000 {
        0 => "just now".into(),
        seconds @ 1..60 => format!("{seconds} s ago"),
        seconds => format!("{} ago", duration(seconds * 1_000)),
    }
}

/// A time as RFC 3339 in UTC.
pub fn rfc3339(at_ms: u64) -> String {
    let (days, rest) = (at_ms / DAY_MS, at_ms % DAY_MS);
    let (year, month, day) = civil(days);
    let (hour, minute, second, ms) = (rest / HOUR_MS, rest / MINUTE_MS % 60, rest / 1_000 % 60, rest % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// The date of a day counted from 1970-01-01, in the Gregorian calendar: 400 years are always 146,097 days.
fn civil(days: u64) -> (u64, u64, u64) {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let (mut year, mut left) = (1970 + days / 146_097 * 400, days % 146_097);
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if left < length {
            break;
        }
        left -= length;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    (year, month, left + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_read_as_people_write_them() {
        for (ms, text) in
            [(0, "0 ms"), (999, "999 ms"), (1_500, "1.5 s"), (10_040, "10 s"), (90_000, "1.5 min")]
        {
            assert_eq!(duration(ms), text);
        }
        for (count, text) in [(17, "17 B"), (1536, "1.5 KiB"), (2 << 30, "2 GiB")] {
            assert_eq!(bytes(count), text);
        }
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_123, "2000-02-29T00:00:00.123Z"),
            (1_785_542_399_999, "2026-07-31T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(rfc3339(ms), text);
        }
    }
}
