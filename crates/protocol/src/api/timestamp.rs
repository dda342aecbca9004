//! Times as the API writes them: RFC 3339, UTC, milliseconds.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;
/// The last moment of the year 9999, the last that RFC 3339 can write.
const LAST_MS: u64 = 253_402_300_799_999;

/// A moment, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String, format = DateTime))]
#[serde(try_from = "String", into = "String")]
pub struct Timestamp(pub u64);

/// Why a text is not a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time as RFC 3339 writes it, like `2026-11-15T12:00:00Z`")]
pub struct TimestampError(String);

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at_ms = self.0.min(LAST_MS);
        let (year, month, day) = civil(at_ms / DAY_MS);
        let rest = at_ms % DAY_MS;
        let (hour, minute, second) = (rest / HOUR_MS, rest / MINUTE_MS % 60, rest / 1_000 % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", rest % 1_000)
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, TimestampError> {
        parse(text).map(Self).ok_or_else(|| TimestampError(text.chars().take(64).collect()))
    }
}

impl TryFrom<String> for Timestamp {
    type Error = TimestampError;

    fn try_from(text: String) -> Result<Self, TimestampError> {
        text.parse()
    }
}

impl From<Timestamp> for String {
    fn from(at: Timestamp) -> Self {
        at.to_string()
    }
}

/// Any time of RFC 3339; one before 1970 counts as the first moment of it, for nothing here is older.
fn parse(text: &str) -> Option<u64> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let (time, offset_ms) = offset(time)?;
    let (time, ms) = match time.split_once('.') {
        Some((time, fraction)) => (time, milliseconds(fraction)?),
        None => (time, 0),
    };
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    let months = month_lengths(year);
    let before = months.get(..usize::try_from(month).ok()?.checked_sub(1)?)?;
    let length = *months.get(before.len())?;
    // The 60th second is a leap second: its time is that of the next minute.
    if day == 0 || day > length || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    if year < 1970 {
        return Some(0);
    }
    let years: u64 = (1970..year).map(|year| if is_leap(year) { 366 } else { 365 }).sum();
    let days = years + before.iter().sum::<u64>() + day - 1;
    let local = days * DAY_MS + hour * HOUR_MS + minute * MINUTE_MS + second * 1_000 + ms;
    Some(local.saturating_add_signed(-offset_ms).min(LAST_MS))
}

/// The time without its offset from UTC, and that in milliseconds.
fn offset(time: &str) -> Option<(&str, i64)> {
    if let Some(time) = time.strip_suffix(['Z', 'z']) {
        return Some((time, 0));
    }
    let at = time.rfind(['+', '-'])?;
    let (time, offset) = (time.get(..at)?, time.get(at..)?);
    let (sign, offset) = offset.split_at_checked(1)?;
    let [hours, minutes, _] = numbers(&format!("{offset}:00"), ':', [2, 2, 2])?;
    if hours > 23 || minutes > 59 {
        return None;
    }
    let ms = i64::try_from(hours * HOUR_MS + minutes * MINUTE_MS).ok()?;
    Some((time, if sign == "-" { -ms } else { ms }))
}

fn numbers(text: &str, between: char, digits: [usize; 3]) -> Option<[u64; 3]> {
    let mut found = [0; 3];
    let mut parts = text.split(between);
    for (value, digits) in found.iter_mut().zip(digits) {
        let part =
            parts.next().filter(|part| part.len() == digits && part.bytes().all(|b| b.is_ascii_digit()))?;
        *value = part.parse().ok()?;
    }
    parts.next().is_none().then_some(found)
}

fn milliseconds(fraction: &str) -> Option<u64> {
    let digits = fraction.bytes().all(|b| b.is_ascii_digit()) && (1..=9).contains(&fraction.len());
    let three: String = fraction.chars().chain("00".chars()).take(3).collect();
    if digits { three.parse().ok() } else { None }
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

const fn month_lengths(year: u64) -> [u64; 12] {
    let february = if is_leap(year) { 29 } else { 28 };
    [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
}

/// The date of a day counted from 1970-01-01, in the Gregorian calendar: 400 years are always 146,097 days.
fn civil(days: u64) -> (u64, u64, u64) {
    let (mut year, mut left) = (1970 + days / 146_097 * 400, days % 146_097);
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if left < length {
            break;
        }
        left -= length;
        year += 1;
    }
    let mut month = 1;
    for length in month_lengths(year) {
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
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_123, "2000-02-29T00:00:00.123Z"),
            (1_785_542_399_999, "2026-07-31T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(Timestamp(ms).to_string(), text);
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in
            ["", "now", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01"]
        {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
        for text in [
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00+24:00",
            "2026-01-01T00:00:00+1:00",
            "2026-01-01T00:00:61Z",
        ] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
        assert_eq!("1970-01-01T00:00:01.5Z".parse(), Ok(Timestamp(1_500)));
    }

    #[test]
    fn a_time_of_any_zone_is_the_same_moment() {
        let noon = "2026-11-15T12:00:00Z".parse::<Timestamp>();
        for text in
            ["2026-11-15T12:00:00+00:00", "2026-11-15T13:30:00+01:30", "2026-11-14 16:00:00.000-20:00"]
        {
            assert_eq!(text.parse(), noon, "{text}");
        }
        for text in [
            "1969-12-31T23:59:59Z",
            "1117-01-19T13:11:34-08:18",
            "0000-01-01T00:00:00Z",
            "1970-01-01T00:00:00+01:00",
        ] {
            assert_eq!(text.parse(), Ok(Timestamp(0)), "{text}");
        }
        assert_eq!("9999-12-31T23:59:59.999-23:59".parse(), Ok(Timestamp(LAST_MS)));
    }

    proptest! {
        #[test]
        fn every_time_reads_back_as_it_was_written(ms in 0..=LAST_MS) {
            prop_assert_eq!(Timestamp(ms).to_string().parse(), Ok(Timestamp(ms)));
        }
    }
}
