//! Prints a log: the output of the program as it is, or events as lines of JSON.

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::time::Duration;

use headwater_protocol::api::{EventViews, write_event};
use headwater_protocol::{Event, EventKind, ExecutionId, Stream, Verdict};

use crate::engine::Events;
use crate::error::{CommandError, ErrorKind};
use crate::escape;
use crate::humanize;
use crate::output::{Printer, Target};
use crate::style::Style;

/// How long an incomplete UTF-8 character waits for its remaining bytes.
const INCOMPLETE_CHARACTER_TIMEOUT: Duration = Duration::from_millis(50);

/// How to print events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The output itself, on standard output and standard error.
    Bytes,
    /// One JSON object per line.
    Json,
}

/// Which gaps in the output are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gaps {
    All,
    /// Those after the first output: the user asked for the end of the log.
    AfterOutput,
}

/// The result of printing a log.
#[derive(Debug)]
pub struct Shown {
    /// How the program ended, if the log contains it.
    pub verdict: Option<Verdict>,
    /// Bytes of output that were missing.
    pub missing: u64,
}

impl Shown {
    /// Returns an error if output was missing.
    pub fn check(&self, id: ExecutionId) -> Result<(), CommandError> {
        if self.missing == 0 {
            return Ok(());
        }
        let mut message = format!("{} bytes of the output are missing", self.missing);
        if let Some(verdict) = &self.verdict {
            let _ = write!(message, "; the exit code of the program is {}", crate::exit::code(verdict));
        }
        let error = CommandError::new(ErrorKind::OutputMissing, message);
        Err(error.hint(format!(
            "`headwater logs {id}` shows the output that is kept; `--output-limit SIZE` keeps more"
        )))
    }
}

/// Prints a log to its end.
pub async fn show(mut events: Events, format: Format, gaps: Gaps) -> Result<Shown, CommandError> {
    let mut log = LogPrinter {
        printer: Printer::start(),
        gaps,
        verdict: None,
        missing: 0,
        at_line_start: true,
        has_printed: false,
    };
    match format {
        Format::Bytes => {
            while let Some(event) = events.next().await? {
                log.note(&event);
                log.bytes(event).await?;
            }
        }
        Format::Json => log.all_json(&mut events).await?,
    }
    if !log.at_line_start && std::io::stderr().is_terminal() && log.verdict.as_ref().is_some_and(needs_a_line)
    {
        log.printer.print(Target::Stderr, "\r\n".into()).await?;
    }
    log.printer.finish().await?;
    Ok(Shown { verdict: log.verdict, missing: log.missing })
}

fn needs_a_line(verdict: &Verdict) -> bool {
    crate::exit::line(verdict).is_some()
}

struct LogPrinter {
    printer: Printer,
    gaps: Gaps,
    verdict: Option<Verdict>,
    missing: u64,
    at_line_start: bool,
    has_printed: bool,
}

impl LogPrinter {
    /// Records missing bytes and the verdict.
    fn note(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Output { .. } => self.has_printed = true,
            EventKind::Gap { from_byte, to_byte, .. } if self.reports_gap() => {
                self.missing = self.missing.saturating_add(to_byte.saturating_sub(*from_byte));
            }
            EventKind::Exited(verdict) => self.verdict = Some(verdict.clone()),
            EventKind::Started { .. } | EventKind::Gap { .. } | EventKind::Closed => {}
        }
    }

    fn reports_gap(&self) -> bool {
        self.gaps == Gaps::All || self.has_printed
    }

    async fn bytes(&mut self, event: Event) -> Result<(), CommandError> {
        match event.kind {
            EventKind::Output { stream, bytes, .. } => {
                self.at_line_start = bytes.last().is_none_or(|byte| *byte == b'\n');
                let to = if stream == Stream::Stderr { Target::Stderr } else { Target::Stdout };
                self.printer.print(to, bytes).await
            }
            EventKind::Gap { stream, from_byte, to_byte } if self.reports_gap() => {
                let line = gap_line(stream, from_byte, to_byte);
                // The terminal may be in raw mode.
                let end = if std::io::stderr().is_terminal() { "\r\n" } else { "\n" };
                let line = format!("{}{end}", Style::of_stderr().dim(&line));
                self.printer.print(Target::Stderr, line.into()).await
            }
            EventKind::Started { .. } | EventKind::Gap { .. } | EventKind::Exited(_) | EventKind::Closed => {
                Ok(())
            }
        }
    }

    async fn all_json(&mut self, events: &mut Events) -> Result<(), CommandError> {
        let mut views = EventViews::default();
        loop {
            let event = if views.holds() {
                if let Ok(event) = tokio::time::timeout(INCOMPLETE_CHARACTER_TIMEOUT, events.next()).await {
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
            self.note(&event);
            self.json(views.push(event)).await?;
        }
    }

    /// Prints each event on one line.
    async fn json(&mut self, events: impl IntoIterator<Item = Event>) -> Result<(), CommandError> {
        let mut lines = Vec::new();
        for event in events {
            write_event(&event, &mut lines);
            lines.push(b'\n');
        }
        if std::io::stdout().is_terminal() {
            lines = escape::json_lines(&String::from_utf8_lossy(&lines)).into_owned().into_bytes();
        }
        if lines.is_empty() { Ok(()) } else { self.printer.print(Target::Stdout, lines.into()).await }
    }
}

fn gap_line(stream: Stream, from_byte: u64, to_byte: u64) -> String {
    let bytes = humanize::bytes(to_byte.saturating_sub(from_byte));
    format!("headwater: {bytes} of {} are missing (bytes {from_byte} to {to_byte})", stream.name())
}

#[cfg(test)]
mod tests {
    use headwater_protocol::Reason;

    use super::*;
    use crate::snapshot;

    #[test]
    fn messages_on_missing_output_match_their_snapshots() {
        let id = "exe_00000000000000000000000000000001".parse().unwrap();
        let verdict = Verdict { code: Some(3), ..Verdict::new(Reason::Exited) };
        let shown = |verdict| Shown { verdict, missing: 4096 }.check(id).unwrap_err();
        snapshot::assert_errors("missing-output", &[shown(None), shown(Some(verdict))]);
        snapshot::assert("gap", &gap_line(Stream::Stdout, 0, 4096));
    }
}
