//! The current time in the units of logs and records.

use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds since 1970.
pub fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    now_us() / 1000
}
