//! Panics: a bug in one request, stream or session must not end the others.
//!
//! A panic unwinds to the request, call or task that it happened in. The hook logs it with a backtrace and
//! counts it; [`caught`] turns it into a value; [`restarting`] restarts a background task.

use std::backtrace::Backtrace;
use std::panic::{AssertUnwindSafe, PanicHookInfo};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;

use crate::Backoff;

/// The first and the longest delay before a task that panicked is restarted.
const FIRST_RESTART_DELAY: Duration = Duration::from_millis(100);
const MAX_RESTART_DELAY: Duration = Duration::from_secs(30);

static COUNT: AtomicU64 = AtomicU64::new(0);

/// Logs and counts all panics of this process.
pub fn install_hook() {
    std::panic::set_hook(Box::new(|panic| {
        COUNT.fetch_add(1, Ordering::Relaxed);
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let backtrace = Backtrace::force_capture();
        tracing::error!(place, %backtrace, "panic: {}", message(panic));
    }));
}

/// The number of panics of this process so far.
pub fn count() -> u64 {
    COUNT.load(Ordering::Relaxed)
}

fn message<'a>(panic: &'a PanicHookInfo<'_>) -> &'a str {
    panic.payload_as_str().unwrap_or("no message")
}

/// The result of `work`; `None` if it panicked. State that it shares with other tasks must be valid after
/// each of its steps: our locks ignore poisoning.
pub async fn caught<F: Future>(work: F) -> Option<F::Output> {
    AssertUnwindSafe(work).catch_unwind().await.ok()
}

/// Runs a background task until it ends. Restarts it after a delay if it panics.
pub async fn restarting<F: Future<Output = ()>>(name: &'static str, mut work: impl FnMut() -> F) {
    let mut backoff = Backoff::new(FIRST_RESTART_DELAY, MAX_RESTART_DELAY);
    while caught(work()).await.is_none() {
        tracing::error!(task = name, "a background task panicked and is restarted");
        backoff.pause().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_result_of_work_is_returned_and_a_panic_returns_none() {
        assert_eq!(caught(async { 7 }).await, Some(7));
        assert_eq!(caught(async { "no number".parse::<u8>().unwrap() }).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_background_task_that_panics_begins_again_until_it_ends() {
        let mut runs = 0;
        let work = || {
            runs += 1;
            let is_broken = runs < 3;
            async move { assert!(!is_broken, "a bug") }
        };
        restarting("test", work).await;
        assert_eq!(runs, 3);
    }
}
