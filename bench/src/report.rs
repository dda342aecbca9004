//! The results of a benchmark: figures, and whether they meet their goals.

use std::fmt::Write;

use serde::Serialize;

use crate::stats::{Samples, Spread};

/// The results of one benchmark.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The name, as given to `--only`.
    pub name: &'static str,
    /// A description of what was measured.
    pub title: String,
    rows: Vec<Row>,
    checks: Vec<Check>,
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Row {
    what: String,
    #[serde(flatten)]
    figure: Figure,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Figure {
    /// Durations in microseconds.
    Micros(Spread),
    /// One figure and its unit.
    Value { value: f64, unit: &'static str },
}

/// The goal of a ratio.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// At most this value.
    AtMost(f64),
    /// At least this value.
    AtLeast(f64),
    /// No goal; the figure is for orientation.
    None,
}

impl Goal {
    fn met(self, value: f64) -> Option<bool> {
        match self {
            Self::AtMost(most) => Some(value <= most),
            Self::AtLeast(least) => Some(value >= least),
            Self::None => None,
        }
    }
}

#[derive(Debug, Serialize)]
struct Check {
    what: String,
    value: f64,
    unit: &'static str,
    goal: Goal,
    met: Option<bool>,
}

impl Report {
    /// An empty report.
    pub fn new(name: &'static str, title: impl Into<String>) -> Self {
        Self { name, title: title.into(), rows: Vec::new(), checks: Vec::new(), notes: Vec::new() }
    }

    /// Adds durations.
    pub fn times(&mut self, what: impl Into<String>, samples: &Samples) {
        self.rows.push(Row { what: what.into(), figure: Figure::Micros(samples.spread()) });
    }

    /// Adds one figure.
    pub fn value(&mut self, what: impl Into<String>, value: f64, unit: &'static str) {
        self.rows.push(Row { what: what.into(), figure: Figure::Value { value, unit } });
    }

    /// Adds a ratio with its goal.
    pub fn ratio(&mut self, what: impl Into<String>, value: f64, goal: Goal) {
        self.check(what, value, "x", goal);
    }

    /// Adds a figure with its goal.
    pub fn check(&mut self, what: impl Into<String>, value: f64, unit: &'static str, goal: Goal) {
        self.checks.push(Check { what: what.into(), value, unit, goal, met: goal.met(value) });
    }

    /// Adds a note for readers.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// The number of goals met, and of goals in all.
    pub fn goals(&self) -> (usize, usize) {
        let met = self.checks.iter().filter_map(|check| check.met);
        (met.clone().filter(|met| *met).count(), met.count())
    }

    /// The report as text.
    pub fn text(&self) -> String {
        let mut out = format!("{}: {}\n", self.name, self.title);
        if self.rows.iter().any(|row| matches!(row.figure, Figure::Micros(_))) {
            let _ = writeln!(out, "  {:46}{:>11}{:>11}{:>11}{:>11}", "", "min", "p50", "p95", "p99");
        }
        for row in &self.rows {
            let _ = match &row.figure {
                Figure::Micros(s) => writeln!(
                    out,
                    "  {:46}{:>11}{:>11}{:>11}{:>11}",
                    row.what,
                    time(s.min),
                    time(s.p50),
                    time(s.p95),
                    time(s.p99)
                ),
                Figure::Value { value, unit } => {
                    writeln!(out, "  {:46}{:>22}", row.what, format!("{} {unit}", short(*value)))
                }
            };
        }
        for check in &self.checks {
            let mark = check.met.map_or(' ', |met| if met { '✓' } else { '✗' });
            let goal = match check.goal {
                Goal::AtMost(most) => format!("  (goal <= {most}{})", check.unit),
                Goal::AtLeast(least) => format!("  (goal >= {least}{})", check.unit),
                Goal::None => String::new(),
            };
            let value = format!("{:.2}{}", check.value, check.unit);
            let _ = writeln!(out, "  {mark} {:56}{value:>12}{goal}", check.what);
        }
        for note in &self.notes {
            let _ = writeln!(out, "    {note}");
        }
        out
    }
}

fn time(micros: f64) -> String {
    if micros < 1000.0 { format!("{micros:.1} us") } else { format!("{:.2} ms", micros / 1000.0) }
}

fn short(value: f64) -> String {
    if value < 100.0 { format!("{value:.2}") } else { format!("{value:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_counted_and_marked() {
        let mut report = Report::new("x", "y");
        report.ratio("good", 1.2, Goal::AtMost(1.3));
        report.ratio("bad", 0.4, Goal::AtLeast(0.5));
        report.ratio("just so", 9.0, Goal::None);
        assert_eq!(report.goals(), (1, 2));
        let text = report.text();
        assert!(text.contains("✓ good") && text.contains("✗ bad"), "{text}");
    }
}
