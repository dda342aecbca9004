//! Times in the API: RFC 3339, UTC, milliseconds.

use std::fmt;
use std::num::NonZero;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::iso8601::{Config, EncodedConfig, TimePrecision};
use time::format_description::well_known::{Iso8601, Rfc3339};

/// Milliseconds are always written.
const MILLISECONDS: EncodedConfig =
    Config::DEFAULT.set_time_precision(TimePrecision::Second { decimal_digits: NonZero::new(3) }).encode();
/// The last millisecond of the year 9999, the last time that RFC 3339 can express.
const LAST_MS: u64 = 253_402_300_799_999;
/// Nanoseconds in a millisecond.
const NANOS_PER_MS: i128 = 1_000_000;

/// A time in milliseconds since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String, format = DateTime))]
#[serde(try_from = "String", into = "String")]
pub struct Timestamp(pub u64);

/// Why a text is not a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an RFC 3339 time, such as `2026-11-15T12:00:00Z`")]
pub struct TimestampError(String);

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = i128::from(self.0.min(LAST_MS)) * NANOS_PER_MS;
        let at = OffsetDateTime::from_unix_timestamp_nanos(nanos).map_err(|_| fmt::Error)?;
        f.write_str(&at.format(&Iso8601::<MILLISECONDS>).map_err(|_| fmt::Error)?)
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

/// Parses any RFC 3339 time; one before 1970 counts as the beginning of 1970, since nothing here is older.
fn parse(text: &str) -> Option<u64> {
    let at = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    let ms = u64::try_from(at.unix_timestamp_nanos() / NANOS_PER_MS).unwrap_or(0);
    Some(ms.min(LAST_MS))
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
    fn an_invalid_time_is_refused() {
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
