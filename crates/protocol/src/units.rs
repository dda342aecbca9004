//! Sizes and durations as people write them: `300s`, `2Gi`, `1MB`, `1.5h`.

use std::time::Duration;

/// Why a text is not a size or a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {what}: write for example {example}")]
pub struct UnitError {
    what: &'static str,
    example: &'static str,
    text: String,
}

/// Parses a size: a number with an optional `K`, `M`, `G`, `T` (and `B`: powers of 1000) or `Ki`, `Mi`, `Gi`,
/// `Ti` (powers of 1024).
pub fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    let wrong = || UnitError { what: "size", example: "`512Mi`, `2Gi` or `1MB`", text: text.to_owned() };
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let scale: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1_000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "t" | "tb" => 1_000_000_000_000,
        "ki" | "kib" => 1 << 10,
        "mi" | "mib" => 1 << 20,
        "gi" | "gib" => 1 << 30,
        "ti" | "tib" => 1 << 40,
        _ => return Err(wrong()),
    };
    scaled(number, scale).ok_or_else(wrong)
}

/// Parses a duration: a number with `ms`, `s`, `m`, `h` or `d`; without a unit, seconds.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let wrong = || UnitError { what: "duration", example: "`500ms`, `10s` or `5m`", text: text.to_owned() };
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let scale: u64 = match unit.to_ascii_lowercase().as_str() {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(wrong()),
    };
    scaled(number, scale).map(Duration::from_millis).ok_or_else(wrong)
}

/// The shortest exact form that [`parse_bytes`] accepts: `2Gi`, `1500`.
#[must_use]
pub fn format_bytes(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(1 << 40, "Ti"), (1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")];
    let unit = UNITS.iter().find(|(size, _)| bytes > 0 && bytes.is_multiple_of(*size));
    unit.map_or_else(|| bytes.to_string(), |(size, name)| format!("{}{name}", bytes / size))
}

/// The shortest form that [`parse_duration`] accepts, exact to a millisecond: `15m`, `1500ms`.
#[must_use]
pub fn format_duration(time: Duration) -> String {
    const UNITS: [(u128, &str); 4] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let ms = time.as_millis();
    let unit = UNITS.iter().find(|(size, _)| ms > 0 && ms.is_multiple_of(*size));
    unit.map_or_else(|| format!("{ms}ms"), |(size, name)| format!("{}{name}", ms / size))
}

fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (end > 0).then(|| (&text[..end], text[end..].trim_start()))
}

/// `number * scale`, exactly for whole numbers, rounded down for fractions.
fn scaled(number: &str, scale: u64) -> Option<u64> {
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(scale);
    }
    let (whole, fraction) = number.split_once('.')?;
    if fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let tenths = 10u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let whole = if whole.is_empty() { 0 } else { whole.parse::<u128>().ok()? };
    let value = whole.checked_mul(tenths)?.checked_add(fraction.parse::<u128>().ok()?)?;
    u64::try_from(value.checked_mul(u128::from(scale))? / tenths).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_durations_are_formatted_as_they_are_parsed() {
        for text in ["0", "1500", "3Ki", "2Gi", "1025Mi", "5Ti"] {
            assert_eq!(format_bytes(parse_bytes(text).unwrap()), text);
        }
        for text in ["0ms", "1500ms", "10s", "15m", "36h", "30d"] {
            assert_eq!(format_duration(parse_duration(text).unwrap()), text);
        }
    }

    #[test]
    fn sizes_are_understood_in_every_form_that_the_configuration_uses() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("1MB", 1_000_000),
            ("2Gi", 2 << 30),
            ("512Mi", 512 << 20),
            ("1.5KiB", 1536),
            (" 64 mib ", 64 << 20),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn durations_are_understood_in_every_form_that_the_configuration_uses() {
        for (text, ms) in
            [("300s", 300_000), ("10", 10_000), ("500ms", 500), ("1.5m", 90_000), ("2h", 7_200_000)]
        {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
    }

    #[test]
    fn an_invalid_value_is_refused_with_an_example() {
        for text in ["", "s", "-1s", "1.2.3s", "1.s", "10x", "99999999999999999999Gi", "1e3", "٣s"] {
            assert!(parse_duration(text).is_err(), "{text}");
            assert!(parse_bytes(text).unwrap_err().to_string().contains("for example"), "{text}");
        }
    }
}
