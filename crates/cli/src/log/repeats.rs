//! Log lines that repeat: past a rate they are counted instead of written, and the count is written.
//!
//! The rate is that of one place in the code (a callsite), whatever its values: a fault that thousands of executions
//! have at once is one fault.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tracing::callsite::Identifier;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// The time that lines are counted over.
const WINDOW: Duration = Duration::from_secs(1);
/// Lines of one place in a window, of warnings and errors: a storm of these fills disks.
const MAX_WARNINGS: u32 = 10;
/// The same of what the service does as usual (an execution started): a busy server is no storm.
const MAX_NEWS: u32 = 200;
/// The target of our own lines, which are not counted.
const TARGET: &str = "headwater::log";

/// Counts lines; a layer of the subscriber.
#[derive(Debug, Clone, Default)]
pub(super) struct Repeats(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    places: HashMap<Identifier, Place>,
    /// Whether somebody is about to write down what was left out.
    is_awaited: bool,
}

#[derive(Debug)]
struct Place {
    metadata: &'static Metadata<'static>,
    since: Instant,
    lines: u32,
    left_out: u64,
}

/// What was left out of one place.
#[derive(Debug, Clone, Copy)]
struct LeftOut {
    metadata: &'static Metadata<'static>,
    lines: u64,
}

/// How many lines of this level one place may write in a window; none: any number. Whoever asks for `debug` wants all.
fn most(level: Level) -> Option<u32> {
    match level {
        Level::ERROR | Level::WARN => Some(MAX_WARNINGS),
        Level::INFO => Some(MAX_NEWS),
        _ => None,
    }
}

impl Repeats {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a line of this place is written now.
    fn is_written(&self, metadata: &'static Metadata<'static>, now: Instant) -> bool {
        let Some(most) = most(*metadata.level()).filter(|_| metadata.target() != TARGET) else { return true };
        let mut state = self.state();
        let place = state.places.entry(metadata.callsite()).or_insert_with(|| Place::new(metadata, now));
        if now.duration_since(place.since) >= WINDOW {
            (place.since, place.lines) = (now, 0);
        }
        place.lines = place.lines.saturating_add(1);
        if place.lines <= most {
            return true;
        }
        place.left_out += 1;
        let is_first = !std::mem::replace(&mut state.is_awaited, true);
        drop(state);
        if is_first {
            self.write_down_later();
        }
        false
    }

    /// Takes what was left out since the last time. Nobody waits for more if that is nothing.
    fn take(&self) -> Vec<LeftOut> {
        let mut state = self.state();
        let places = state.places.values_mut().filter(|place| place.left_out > 0);
        let left_out: Vec<_> = places
            .map(|place| LeftOut { metadata: place.metadata, lines: std::mem::take(&mut place.left_out) })
            .collect();
        state.is_awaited = !left_out.is_empty();
        left_out
    }

    /// A thread that lives as long as lines are left out: the end of a storm is written down as well.
    fn write_down_later(&self) {
        let repeats = self.clone();
        let wait = move || {
            loop {
                std::thread::sleep(WINDOW);
                let left_out = repeats.take();
                if left_out.is_empty() {
                    return;
                }
                left_out.iter().for_each(LeftOut::write);
            }
        };
        if std::thread::Builder::new().name("hw-log".into()).spawn(wait).is_err() {
            self.state().is_awaited = false; // the next line tries again
        }
    }
}

impl Place {
    const fn new(metadata: &'static Metadata<'static>, since: Instant) -> Self {
        Self { metadata, since, lines: 0, left_out: 0 }
    }
}

impl LeftOut {
    fn write(&self) {
        let place = format!("{}:{}", self.metadata.target(), self.metadata.line().unwrap_or(0));
        tracing::warn!(target: TARGET, place, "{} similar lines were suppressed", self.lines);
    }
}

impl<S: Subscriber> Layer<S> for Repeats {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        self.is_written(event.metadata(), Instant::now())
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

    #[test]
    fn a_line_that_repeats_is_written_a_few_times_and_counted_after_that() {
        let (repeats, buffer) = (Repeats::default(), Buffer::default());
        let writer = buffer.clone();
        let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(move || writer.clone());
        let log = tracing_subscriber::registry().with(repeats.clone()).with(lines);
        // No thread of its own: what is left out is taken here.
        repeats.state().is_awaited = true;
        tracing::subscriber::with_default(log, || {
            for n in 0..1000 {
                tracing::error!(n, "the same fault");
                if n % 100 == 0 {
                    tracing::warn!("another line");
                }
            }
            for n in 0..1000 {
                tracing::debug!(n, "asked for");
            }
            let left_out = repeats.take();
            assert_eq!(left_out.iter().map(|place| place.lines).sum::<u64>(), 990);
            left_out.iter().for_each(LeftOut::write);
            assert!(repeats.take().is_empty(), "each is counted once");
        });
        let text = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
        let count = |what: &str| text.lines().filter(|line| line.contains(what)).count();
        assert_eq!((count("the same fault"), count("another line"), count("asked for")), (10, 10, 1000));
        assert_eq!(count("990 similar lines were suppressed"), 1);
    }

    #[test]
    fn a_place_may_write_again_in_the_next_window() {
        let repeats = Repeats::default();
        repeats.state().is_awaited = true;
        let seen = std::cell::Cell::new(None);
        let log = tracing_subscriber::registry().with(Catch(Arc::default()));
        let catch = log.downcast_ref::<Catch>().unwrap().clone();
        tracing::subscriber::with_default(log, || tracing::warn!("a line"));
        seen.set(*catch.0.lock().unwrap());
        let metadata = seen.get().unwrap();
        let begin = Instant::now();
        let written = |now| (0..50).filter(|_| repeats.is_written(metadata, now)).count();
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
