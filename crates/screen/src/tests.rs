//! A snapshot draws exactly what was shown, whatever was printed before and after.

mod examples;
mod generate;
mod hostile;
mod properties;
mod view;

use proptest::test_runner::{Config as ProptestConfig, RngSeed};

use super::*;

/// The same cases every time; with `PROPTEST_CASES`, this many random ones.
fn cases() -> ProptestConfig {
    let fixed = std::env::var_os("PROPTEST_CASES").is_none();
    let rng_seed = if fixed { RngSeed::Fixed(20_261_115) } else { RngSeed::Random };
    ProptestConfig { rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

/// A small screen with some scrollback.
fn screen(rows: u16, cols: u16) -> Screen {
    Screen::new(&Options { rows, cols, buffer_bytes: 0, secret: "s".into() })
}

/// A small screen that keeps this many lines as cells, and older ones as text.
fn archiving(rows: u16, cols: u16, grid_lines: usize) -> Screen {
    Screen { grid_lines, buffer_bytes: 1 << 20, ..screen(rows, cols) }
}

/// A new screen, drawn by the snapshot of this one.
fn drawn(screen: &mut Screen) -> Screen {
    let (rows, cols) = screen.size();
    let snapshot = screen.snapshot(None);
    let (grid_lines, buffer_bytes) = (screen.grid_lines, screen.buffer_bytes);
    let mut drawn = Screen { grid_lines, buffer_bytes, ..self::screen(rows, cols) };
    let fed = drawn.feed(&snapshot);
    assert_eq!(fed, Fed::default(), "a snapshot contains no queries and no marks");
    drawn
}
