//! Suppresses log lines that repeat too often: above a rate they are counted, and the count is logged.
//!
//! The rate applies to a callsite, whatever the values in the line: a fault of thousands of executions is one fault.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use headwater_contract::ACCESS_LOG;
use tracing::callsite::Identifier;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// The period of the rate.
const WINDOW: Duration = Duration::from_secs(1);
/// Warnings and errors per callsite and window: a storm of these fills disks.
const MAX_WARNINGS: u32 = 10;
/// Informational lines per callsite and window: a busy server logs many.
const MAX_INFO: u32 = 200;
/// The target of the lines logged here, which are not counted. Nor are those of access logs: none may be missing.
const TARGET: &str = "headwater::log";

/// A layer of the subscriber that counts lines.
#[derive(Debug, Clone, Default)]
pub(super) struct Repeats(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    callsites: HashMap<Identifier, Callsite>,
    /// Whether a thread is about to log the number of suppressed lines.
    has_reporter: bool,
}

#[derive(Debug)]
struct Callsite {
    metadata: &'static Metadata<'static>,
    since: Instant,
    lines: u32,
    suppressed: u64,
}

/// The suppressed lines of one callsite.
#[derive(Debug, Clone, Copy)]
struct Suppressed {
    metadata: &'static Metadata<'static>,
    lines: u64,
}

/// Lines of this level that a callsite may log in a window; `None`: any number. With `debug` on, all are wanted.
fn max_lines(level: Level) -> Option<u32> {
    match level {
        Level::ERROR | Level::WARN => Some(MAX_WARNINGS),
        Level::INFO => Some(MAX_INFO),
        _ => None,
    }
}

impl Repeats {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a line of this callsite; returns whether it is logged.
    fn admit(&self, metadata: &'static Metadata<'static>, now: Instant) -> bool {
        let Some(max) =
            max_lines(*metadata.level()).filter(|_| ![TARGET, ACCESS_LOG].contains(&metadata.target()))
        else {
            return true;
        };
        let mut state = self.state();
        let callsite =
            state.callsites.entry(metadata.callsite()).or_insert_with(|| Callsite::new(metadata, now));
        if now.duration_since(callsite.since) >= WINDOW {
            (callsite.since, callsite.lines) = (now, 0);
        }
        callsite.lines = callsite.lines.saturating_add(1);
        if callsite.lines <= max {
            return true;
        }
        callsite.suppressed += 1;
        let is_first = !std::mem::replace(&mut state.has_reporter, true);
        drop(state);
        if is_first {
            self.start_reporter();
        }
        false
    }

    /// Takes the counts since the last call. If there are none, the reporter stops.
    fn take(&self) -> Vec<Suppressed> {
        let mut state = self.state();
        let callsites = state.callsites.values_mut().filter(|callsite| callsite.suppressed > 0);
        let suppressed: Vec<_> = callsites
            .map(|callsite| Suppressed {
                metadata: callsite.metadata,
                lines: std::mem::take(&mut callsite.suppressed),
            })
            .collect();
        state.has_reporter = !suppressed.is_empty();
        suppressed
    }

    /// Starts a thread that logs the counts and lives as long as lines are suppressed.
    fn start_reporter(&self) {
        let repeats = self.clone();
        let wait = move || {
            loop {
                std::thread::sleep(WINDOW);
                let suppressed = repeats.take();
                if suppressed.is_empty() {
                    return;
                }
                suppressed.iter().for_each(Suppressed::log);
            }
        };
        if std::thread::Builder::new().name("hw-log".into()).spawn(wait).is_err() {
            self.state().has_reporter = false; // the next suppressed line tries again
        }
    }
}

impl Callsite {
    const fn new(metadata: &'static Metadata<'static>, since: Instant) -> Self {
        Self { metadata, since, lines: 0, suppressed: 0 }
    }
}

impl Suppressed {
    fn log(&self) {
        let place = format!("{}:{}", self.metadata.target(), self.metadata.line().unwrap_or(0));
        tracing::warn!(target: TARGET, place, "{} similar lines were suppressed", self.lines);
    }
}

impl<S: Subscriber> Layer<S> for Repeats {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        self.admit(event.metadata(), Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// Logs many lines, and returns the number of suppressed ones, the log, and how long that took.
    fn logged() -> (u64, String, Duration) {
        let (repeats, buffer) = (Repeats::default(), Buffer::default());
        let writer = buffer.clone();
        let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(move || writer.clone());
        let log = tracing_subscriber::registry().with(repeats.clone()).with(lines);
        // No reporter thread: the counts are taken here.
        repeats.state().has_reporter = true;
        let begun = Instant::now();
        let suppressed = tracing::subscriber::with_default(log, || {
            for n in 0..1000 {
                tracing::error!(n, "the same fault");
                if n % 100 == 0 {
                    tracing::warn!("another line");
                }
            }
            for n in 0..1000 {
                tracing::debug!(n, "asked for");
            }
            let suppressed = repeats.take();
            suppressed.iter().for_each(Suppressed::log);
            assert!(repeats.take().is_empty(), "each is reported once");
            suppressed.iter().map(|one| one.lines).sum()
        });
        let text = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
        (suppressed, text, begun.elapsed())
    }

    #[test]
    fn a_repeated_line_is_logged_a_few_times_and_then_counted() {
        // On a busy machine a window may end in between: then it is tried again.
        let mut attempts = std::iter::repeat_with(logged).take(100);
        let (suppressed, text, _) = attempts.find(|(_, _, took)| *took < WINDOW).unwrap();
        assert_eq!(suppressed, 990);
        let count = |what: &str| text.lines().filter(|line| line.contains(what)).count();
        assert_eq!((count("the same fault"), count("another line"), count("asked for")), (10, 10, 1000));
        assert_eq!(count("990 similar lines were suppressed"), 1);
    }

    #[test]
    fn a_callsite_may_log_again_in_the_next_window() {
        let repeats = Repeats::default();
        repeats.state().has_reporter = true;
        let seen = std::cell::Cell::new(None);
        let log = tracing_subscriber::registry().with(Catch(Arc::default()));
        let catch = log.downcast_ref::<Catch>().unwrap().clone();
        tracing::subscriber::with_default(log, || tracing::warn!("a line"));
        seen.set(*catch.0.lock().unwrap());
        let metadata = seen.get().unwrap();
        let begin = Instant::now();
        let written = |now| (0..50).filter(|_| repeats.admit(metadata, now)).count();
        assert_eq!([written(begin), written(begin), written(begin + WINDOW)], [10, 0, 10]);
    }

    #[derive(Clone)]
    struct Catch(Arc<Mutex<Option<&'static Metadata<'static>>>>);

    impl<S: Subscriber> Layer<S> for Catch {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            *self.0.lock().unwrap() = Some(event.metadata());
        }
    }
}
