//! What can wait a moment is done on common ticks: the store writes together what comes together.

use std::sync::OnceLock;
use std::time::Duration;

use tokio::time::Instant;

/// Between two ticks. Long enough that several of a busy second fall on one, short enough that none makes a crowd.
const TICK: Duration = Duration::from_millis(10);

/// A tick that is at least so long from now.
pub(crate) fn tick_after(least: Duration) -> Instant {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let first = *FIRST.get_or_init(Instant::now);
    let since = Instant::now().saturating_duration_since(first) + least;
    let over = u64::try_from(since.as_nanos() % TICK.as_nanos()).unwrap_or(0);
    first + since + TICK.saturating_sub(Duration::from_nanos(over))
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
