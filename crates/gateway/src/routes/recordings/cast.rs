//! Events as the lines of an asciicast, version 3: `[seconds since the previous line, code, data]`.

use std::collections::VecDeque;

use bytes::Bytes;
use headwater_contract::SizeChange;
use headwater_protocol::api::EventViews;
use headwater_protocol::{Event, EventKind, Execution, Seq, TtySize};
use serde_json::json;

use crate::bodies::exit_number;

/// Writes the lines.
pub(crate) struct Cast {
    lines: Vec<u8>,
    views: EventViews,
    /// Sizes that were not written yet.
    sizes: VecDeque<SizeChange>,
    /// The time of the last line.
    at_ms: u64,
    /// Printed without a terminal: a player expects a carriage return at the end of a line.
    adds_returns: bool,
    /// Whether the last byte was a carriage return.
    after_return: bool,
}

impl Cast {
    /// A recording of this execution, which had these sizes.
    pub(crate) fn new(execution: &Execution, sizes: Vec<SizeChange>) -> Self {
        let mut sizes = VecDeque::from(sizes);
        let first = sizes.pop_front().map_or_else(TtySize::default, |change| change.size);
        let header = json!({
            "version": 3,
            "term": { "cols": first.cols, "rows": first.rows, "type": "xterm-256color" },
            "timestamp": execution.started_at_ms / 1000,
            "title": execution.id.to_string(),
        });
        let mut cast = Self {
            lines: Vec::new(),
            views: EventViews::default(),
            sizes,
            at_ms: 0,
            adds_returns: execution.spec.tty.is_none(),
            after_return: false,
        };
        cast.put(&header);
        cast
    }

    /// The number of bytes that are ready to be read.
    pub(crate) const fn len(&self) -> usize {
        self.lines.len()
    }

    /// Takes all lines written so far.
    pub(crate) fn lines(&mut self) -> Bytes {
        std::mem::take(&mut self.lines).into()
    }

    fn put(&mut self, line: &serde_json::Value) {
        // Writing to memory does not fail.
        let _ = serde_json::to_writer(&mut self.lines, line);
        self.lines.push(b'\n');
    }

    /// Writes a line. Times never decrease, whatever the records say.
    fn line(&mut self, at_ms: u64, code: &str, data: &str) {
        let since = at_ms.saturating_sub(self.at_ms);
        self.at_ms = self.at_ms.max(at_ms);
        #[allow(clippy::cast_precision_loss)] // milliseconds of a pause are far below 2^52
        let seconds = since as f64 / 1000.0;
        self.put(&json!([seconds, code, data]));
    }

    /// Adds an event.
    pub(crate) fn take(&mut self, event: Event) {
        for event in self.views.push(event) {
            self.write(event);
        }
    }

    /// Writes what was held back and the last sizes; there are no more events.
    pub(crate) fn end(&mut self) {
        if let Some(event) = self.views.flush() {
            self.write(event);
        }
        self.sizes_before(Seq(u64::MAX));
    }

    fn write(&mut self, event: Event) {
        self.sizes_before(event.seq);
        match event.kind {
            EventKind::Output { bytes, .. } => {
                let text = String::from_utf8_lossy(&bytes);
                let shown = if self.adds_returns { self.returned(&text) } else { text.into_owned() };
                self.line(event.at_ms, "o", &shown);
            }
            EventKind::Gap { from_byte, to_byte, .. } => {
                let lost = format!("the bytes from {from_byte} to {to_byte} are no longer kept");
                self.line(event.at_ms, "m", &lost);
            }
            EventKind::Exited(verdict) => self.line(event.at_ms, "x", &exit_number(&verdict).to_string()),
            EventKind::Started { .. } | EventKind::Closed => {}
        }
    }

    fn sizes_before(&mut self, seq: Seq) {
        while let Some(change) = self.sizes.pop_front_if(|change| change.after < seq) {
            let TtySize { rows, cols } = change.size;
            self.line(change.at_ms, "r", &format!("{cols}x{rows}"));
        }
    }

    fn returned(&mut self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len() + text.len() / 16);
        for c in text.chars() {
            if c == '\n' && !self.after_return {
                shown.push('\r');
            }
            self.after_return = c == '\r';
            shown.push(c);
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use headwater_protocol::{ExecutionId, ExecutionState, Reason, SessionId, StartSpec, Stream, Verdict};
    use serde_json::Value;

    use super::*;

    fn execution(tty: bool) -> Execution {
        let mut spec = StartSpec::shell("true");
        spec.tty = tty.then(TtySize::default);
        Execution {
            id: ExecutionId::random(),
            session_id: SessionId::random(),
            spec,
            state: ExecutionState::Queued,
            started_at_ms: 1_500,
            stdout_bytes: 0,
            stderr_bytes: 0,
            output_bytes: 0,
            last_seq: Seq(0),
            log_removed: None,
        }
    }

    fn output(seq: u64, at_ms: u64, bytes: &'static [u8]) -> Event {
        let kind = EventKind::Output { stream: Stream::Output, offset: 0, bytes: Bytes::from_static(bytes) };
        Event { seq: Seq(seq), at_ms, kind }
    }

    fn exited(seq: u64, at_ms: u64, signal: i32) -> Event {
        let verdict = Verdict { signal: Some(signal), ..Verdict::new(Reason::Signalled) };
        Event { seq: Seq(seq), at_ms, kind: EventKind::Exited(verdict) }
    }

    fn size(after: u64, at_ms: u64, rows: u16) -> SizeChange {
        SizeChange { at_ms, after: Seq(after), size: TtySize { rows, cols: 80 } }
    }

    fn read(cast: &mut Cast) -> Vec<Value> {
        let lines = cast.lines();
        let text = std::str::from_utf8(&lines).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn lines_have_the_time_since_the_previous_line_and_sizes_are_in_order() {
        let mut cast = Cast::new(&execution(true), vec![size(0, 0, 24), size(2, 250, 30), size(9, 900, 40)]);
        cast.take(output(2, 100, b"a\n\xe2\x82"));
        cast.take(output(3, 300, b"\xac\xff"));
        cast.take(exited(4, 800, 9));
        cast.end();
        let lines = read(&mut cast);
        assert_eq!(lines[0]["term"], json!({"cols": 80, "rows": 24, "type": "xterm-256color"}));
        assert_eq!((&lines[0]["version"], &lines[0]["timestamp"]), (&json!(3), &json!(1)));
        // The character that was cut comes whole, with the later event.
        let expected = [
            json!([0.25, "r", "80x30"]),
            json!([0.05, "o", "a\n€\u{fffd}"]),
            json!([0.5, "x", "137"]),
            json!([0.1, "r", "80x40"]),
        ];
        assert_eq!(lines[1..], expected);
    }

    #[test]
    fn without_a_terminal_lines_get_their_returns() {
        let mut cast = Cast::new(&execution(false), Vec::new());
        for (seq, bytes) in [&b"a\nb\r"[..], b"\nc\n\n"].into_iter().enumerate() {
            cast.take(output(seq as u64 + 2, 0, bytes));
        }
        let lines = read(&mut cast);
        let shown: String = lines[1..].iter().map(|line| line[2].as_str().unwrap()).collect();
        assert_eq!(shown, "a\r\nb\r\nc\r\n\r\n");
    }
}
