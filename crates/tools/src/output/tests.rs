//! Tests of output for a model.

mod cutting;
mod drawing;
mod properties;
mod secrets;

use super::*;

/// A budget that nothing here exceeds.
fn roomy() -> Options {
    Options { budget: Budget::tokens(100_000), ..Options::default() }
}

/// Renders pieces of one stream, event by event.
fn render(options: &Options, pieces: &[&[u8]]) -> Rendered {
    let mut output = Output::new(options);
    for (seq, piece) in (1..).zip(pieces) {
        output.push(Stream::Output, Seq(seq), piece);
    }
    output.finish(End::Closed).0
}

/// The text of an output that fits.
fn clean(bytes: &str) -> String {
    let rendered = render(&roomy(), &[bytes.as_bytes()]);
    assert_eq!(rendered.left_out, None);
    rendered.text()
}
