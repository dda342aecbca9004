//! Snapshots of help texts, tables, questions and errors, in `crates/cli/snapshots`.
//!
//! A test fails if a text differs from its snapshot. `make snapshots` updates them, for review as a diff.

use std::path::Path;

use crate::error::CommandError;
use crate::style::Style;

/// Compares a text with the snapshot of this name.
pub fn assert(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder());
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// Compares errors, as printed, with the snapshot of this name.
pub fn assert_errors(name: &str, errors: &[CommandError]) {
    let texts: Vec<_> =
        errors.iter().map(|error| format!("[{:?}]\n{}", error.kind, error.text(Style::plain()))).collect();
    assert(name, &texts.join("\n"));
}

/// The folder of all snapshots.
pub fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots"))
}
