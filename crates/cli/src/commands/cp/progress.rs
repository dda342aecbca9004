//! The progress of a long transfer, on one line of the terminal.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::humanize;
use crate::output::print_prompt;

/// Shorter transfers show no progress.
const DELAY: Duration = Duration::from_millis(500);
/// How often the line is written.
const INTERVAL: Duration = Duration::from_millis(200);

/// Counts bytes, and shows them if standard error is a terminal.
#[derive(Debug)]
pub struct Progress {
    shown: bool,
    began: Instant,
    bytes: AtomicU64,
    /// All bytes; 0 if that is not known.
    total: AtomicU64,
    /// When the line was written last.
    last: Mutex<Option<Instant>>,
}

impl Progress {
    /// Begins to count.
    pub fn new(wanted: bool) -> Self {
        Self {
            shown: wanted && std::io::stderr().is_terminal(),
            began: Instant::now(),
            bytes: AtomicU64::new(0),
            total: AtomicU64::new(0),
            last: Mutex::new(None),
        }
    }

    /// Sets how many bytes there are.
    pub fn set_total(&self, total: u64) {
        self.total.store(total, Ordering::Relaxed);
    }

    /// Counts transferred bytes.
    pub fn add(&self, count: usize) {
        let bytes = self.bytes.fetch_add(count as u64, Ordering::Relaxed) + count as u64;
        if !self.shown || self.began.elapsed() < DELAY {
            return;
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none_or(|at| at.elapsed() >= INTERVAL) {
            *last = Some(Instant::now());
            let line = line(bytes, self.total.load(Ordering::Relaxed), self.began.elapsed());
            print_prompt(&format!("\r\x1b[K{line}"));
        }
    }

    /// Removes the line.
    pub fn finish(&self) {
        if self.last.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            print_prompt("\r\x1b[K");
        }
    }
}

fn line(bytes: u64, total: u64, time: Duration) -> String {
    let speed = u128::from(bytes) * 1000 / time.as_millis().max(1);
    let speed = humanize::bytes(u64::try_from(speed).unwrap_or(u64::MAX));
    if total == 0 {
        return format!("{}, {speed}/s", humanize::bytes(bytes));
    }
    // An archive is a little larger than the files in it.
    let percent = (u128::from(bytes) * 100 / u128::from(total)).min(100);
    format!("{percent} % of {}, {speed}/s", humanize::bytes(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_the_part_and_the_speed() {
        let second = Duration::from_secs(1);
        assert_eq!(line(1 << 20, 4 << 20, second), "25 % of 4 MiB, 1 MiB/s");
        assert_eq!(line(5 << 20, 4 << 20, second), "100 % of 4 MiB, 5 MiB/s");
        assert_eq!(line(1 << 20, 0, 2 * second), "1 MiB, 512 KiB/s");
    }
}
