//! Showing a log: the program's bytes as they are, or events as lines of JSON.

use std::time::Duration;

use headwater_protocol::api::{EventViews, write_event};
use headwater_protocol::{Event, EventKind, Stream, Verdict};
use rustix::termios::isatty;

use crate::engine::Events;
use crate::error::CommandError;
use crate::escape;
use crate::output::{Printer, Target};
use crate::style::Style;
use crate::words;

/// How long half a character waits for its other half before it is shown as bytes.
const HALF_CHARACTER: Duration = Duration::from_millis(50);

/// How to show events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The bytes, each stream where it belongs.
    Bytes {
        /// Say where bytes are missing from the beginning on; one who asked for a tail only wants to know of what
        /// was passed over later.
        gaps: bool,
    },
    /// One JSON object a line.
    Json,
}

/// Shows a log to its end; answers with the verdict, if it was there.
pub async fn show(mut events: Events, format: Format) -> Result<Option<Verdict>, CommandError> {
    let mut shower =
        Shower { printer: Printer::start(), verdict: None, at_line_start: true, has_shown: false };
    match format {
        Format::Bytes { gaps } => {
            while let Some(event) = events.next().await? {
                shower.bytes(event, gaps).await?;
            }
        }
        Format::Json => shower.all_json(&mut events).await?,
    }
    if !shower.at_line_start
        && isatty(rustix::stdio::stderr())
        && shower.verdict.as_ref().is_some_and(needs_a_line)
    {
        shower.printer.print(Target::Stderr, "\r\n".into()).await?;
    }
    shower.printer.finish().await?;
    Ok(shower.verdict)
}

fn needs_a_line(verdict: &Verdict) -> bool {
    crate::exit::line(verdict).is_some()
}

struct Shower {
    printer: Printer,
    verdict: Option<Verdict>,
    at_line_start: bool,
    has_shown: bool,
}

impl Shower {
    async fn bytes(&mut self, event: Event, gaps: bool) -> Result<(), CommandError> {
        match event.kind {
            EventKind::Output { stream, bytes, .. } => {
                self.has_shown = true;
                self.at_line_start = bytes.last().is_none_or(|byte| *byte == b'\n');
                let to = if stream == Stream::Stderr { Target::Stderr } else { Target::Stdout };
                self.printer.print(to, bytes).await
            }
            EventKind::Gap { stream, from_byte, to_byte } if gaps || self.has_shown => {
                let line = format!(
                    "headwater: {} of {} are not here (bytes {from_byte} to {to_byte})",
                    words::bytes(to_byte.saturating_sub(from_byte)),
                    stream.name()
                );
                // A terminal may be raw.
                let end = if isatty(rustix::stdio::stderr()) { "\r\n" } else { "\n" };
                let line = format!("{}{end}", Style::of_stderr().dim(&line));
                self.printer.print(Target::Stderr, line.into()).await
            }
            EventKind::Exited(verdict) => {
                self.verdict = Some(verdict);
                Ok(())
            }
            EventKind::Started { .. } | EventKind::Gap { .. } | EventKind::Closed => Ok(()),
        }
    }

    async fn all_json(&mut self, events: &mut Events) -> Result<(), CommandError> {
        let mut views = EventViews::default();
        loop {
            let event = if views.holds() {
                if let Ok(event) = tokio::time::timeout(HALF_CHARACTER, events.next()).await {
                    event?
                } else {
                    self.json(views.flush()).await?;
                    continue;
                }
            } else {
                events.next().await?
            };
            let Some(event) = event else {
                return self.json(views.flush()).await;
            };
            if let EventKind::Exited(verdict) = &event.kind {
                self.verdict = Some(verdict.clone());
            }
            self.json(views.push(event)).await?;
        }
    }

    /// One line each.
    async fn json(&mut self, events: impl IntoIterator<Item = Event>) -> Result<(), CommandError> {
        let mut lines = Vec::new();
        for event in events {
            write_event(&event, &mut lines);
            lines.push(b'\n');
        }
        if isatty(rustix::stdio::stdout()) {
            lines = escape::json_lines(&String::from_utf8_lossy(&lines)).into_owned().into_bytes();
        }
        if lines.is_empty() { Ok(()) } else { self.printer.print(Target::Stdout, lines.into()).await }
    }
}
