//! Common ticks for deferred writes, so that the store commits several of them together.

use std::sync::OnceLock;
use std::time::Duration;

use tokio::time::Instant;

/// Time between two ticks: several writes of a busy second share one, and no tick has too many.
const TICK: Duration = Duration::from_millis(10);

/// The first tick that is at least `least` from now.
pub(crate) fn tick_after(least: Duration) -> Instant {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let first = *FIRST.get_or_init(Instant::now);
    let at = Instant::now() + least;
    let nanos = |duration: Duration| u64::try_from(duration.as_nanos() % TICK.as_nanos()).unwrap_or(0);
    // How long after the last tick. A test's clock may be behind the first tick, which another test set.
    let over = match at.checked_duration_since(first) {
        Some(since) => Duration::from_nanos(nanos(since)),
        None => TICK.saturating_sub(Duration::from_nanos(nanos(first - at))),
    };
    at + TICK.saturating_sub(over)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_common_and_not_too_early() {
        let least = Duration::from_millis(25);
        let (now, one, other) = (Instant::now(), tick_after(least), tick_after(least));
        assert!(one >= now + least && one <= now + least + 20 * TICK, "{:?}", one - now);
        assert_eq!((other - one).as_nanos() % TICK.as_nanos(), 0);
    }
}
