//! Numbers, sizes and times as text.

use headwater_protocol::now_ms;

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

/// `1 session`, `2 sessions`.
pub fn count(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Rounds down to one decimal, and omits it if it is 0.
fn tenths(value: u64, of: u64, unit: &str) -> String {
    match (value / of, (value % of) * 10 / of) {
        (whole, 0) => format!("{whole} {unit}"),
        (whole, tenth) => format!("{whole}.{tenth} {unit}"),
    }
}

/// The age of something that happened at `at_ms`: `5 s ago`.
pub fn ago(at_ms: u64) -> String {
    match now_ms().saturating_sub(at_ms) / 1_000 {
        0 => "just now".into(),
        seconds @ 1..60 => format!("{seconds} s ago"),
        seconds => format!("{} ago", duration(seconds * 1_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_have_a_suitable_unit() {
        for (ms, text) in
            [(0, "0 ms"), (999, "999 ms"), (1_500, "1.5 s"), (10_040, "10 s"), (90_000, "1.5 min")]
        {
            assert_eq!(duration(ms), text);
        }
        for (count, text) in [(17, "17 B"), (1536, "1.5 KiB"), (2 << 30, "2 GiB")] {
            assert_eq!(bytes(count), text);
        }
    }
}
