//! Samples of a duration, and their percentiles.

use std::time::{Duration, Instant};

use serde::Serialize;

/// Durations of one operation, in the order in which they were measured.
#[derive(Debug, Default, Clone)]
pub struct Samples(Vec<Duration>);

impl Samples {
    /// Adds a sample.
    pub fn add(&mut self, sample: Duration) {
        self.0.push(sample);
    }

    /// The number of samples.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Runs a function and adds its duration.
    pub fn time<T>(&mut self, run: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let result = run();
        self.add(begun.elapsed());
        result
    }

    /// The percentiles.
    pub fn spread(&self) -> Spread {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let at = |percent: usize| sorted.get(rank(sorted.len(), percent)).copied().unwrap_or_default();
        Spread { min: micros(at(0)), p50: micros(at(50)), p95: micros(at(95)), p99: micros(at(99)) }
    }

    /// The median.
    pub fn p50(&self) -> f64 {
        self.spread().p50
    }
}

/// The index of a percentile in a sorted list: that of the smallest value that this many percent do not
/// exceed.
fn rank(len: usize, percent: usize) -> usize {
    (len * percent).div_ceil(100).saturating_sub(1)
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Percentiles of samples, in microseconds.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Spread {
    /// The minimum.
    pub min: f64,
    /// The median.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The 99th percentile.
    pub p99: f64,
}

/// The median of a few figures.
pub fn median(figures: &mut [f64]) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures.get(rank(figures.len(), 50)).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let mut samples = Samples::default();
        (1..=100).rev().for_each(|n| samples.add(Duration::from_micros(n)));
        let spread = samples.spread();
        let got = [spread.min, spread.p50, spread.p95, spread.p99].map(f64::round);
        assert_eq!(got.map(|n| n.to_string()), ["1", "50", "95", "99"]);
    }

    #[test]
    fn one_sample_is_all_percentiles_and_no_sample_is_zero() {
        let mut samples = Samples::default();
        assert!(samples.p50().abs() < f64::EPSILON);
        samples.add(Duration::from_micros(7));
        assert!((samples.spread().p99 - 7.0).abs() < 1e-6);
    }
}
