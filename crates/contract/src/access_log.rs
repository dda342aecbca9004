//! What the access logs of the server and the worker share.

use std::time::Duration;

/// The target of the lines of an access log, by which `HEADWATER_LOG` selects them.
pub const ACCESS_LOG: &str = "headwater::access";

/// A duration in an access log, in milliseconds with one digit after the point: most calls take less than one.
pub fn access_ms(time: Duration) -> f64 {
    (time.as_secs_f64() * 10_000.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_one_digit_after_the_point() {
        let shown = |micros| access_ms(Duration::from_micros(micros)).to_string();
        assert_eq!([1, 340, 1250, 61_000_000].map(shown), ["0", "0.3", "1.3", "61000"]);
    }
}
