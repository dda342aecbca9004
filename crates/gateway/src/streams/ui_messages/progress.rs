//! What running calls print. Each call has at most two kinds of progress: every piece of output as transient data, and
//! once a second its end as a preliminary result, for clients that know nothing of our data.

use std::time::Duration;

use headwater_protocol::{Event, EventKind, ExecutionId, Verdict};
use serde::Deserialize;
use tokio::time::Instant;
use utoipa::ToSchema;

use super::chunk::{Chunk, Progress};
use super::result::CommandOutput;
use crate::streams::feed::{Ending, Position, ProgressType, ProgressUpdate, Subject, updates};

/// Time between two preliminary results of a call.
const INTERVAL: Duration = Duration::from_secs(1);
/// Time from the first output to the first preliminary result. A command that is faster has only its result.
const FIRST_AFTER: Duration = Duration::from_millis(250);
/// How much of each stream a preliminary result has. A client replaces the earlier one, so it must be short.
pub(super) const TAIL_BYTES: usize = 2 << 10;
/// How much of each stream the result of a call has. Clients send all results again with each of their messages.
pub(super) const RESULT_BYTES: usize = 16 << 10;

/// How much of the output of running calls is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = UiProgressMode)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ProgressMode {
    /// All of it as `data-tool-progress`, and its end as preliminary results.
    #[default]
    Full,
    /// Only its end.
    Tail,
    /// None.
    None,
}

/// The output of an execution so far.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) subject: Subject,
    pub(super) id: ExecutionId,
    position: Position,
    stdout: Tail,
    stderr: Tail,
    total_bytes: u64,
    elapsed_ms: u64,
    due: Option<Instant>,
    sent_at: Option<Instant>,
}

/// The end of a stream.
#[derive(Debug)]
struct Tail {
    text: String,
    most: usize,
}

impl Tail {
    const fn new(most: usize) -> Self {
        Self { text: String::new(), most }
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        // Cut rarely: each cut moves what is left.
        if self.text.len() > self.most * 4 {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let excess = self.text.len().saturating_sub(self.most);
        let from = (excess..=self.text.len()).find(|at| self.text.is_char_boundary(*at));
        self.text.drain(..from.unwrap_or_default());
    }

    fn text(&mut self) -> String {
        self.cut();
        self.text.clone()
    }
}

impl Running {
    /// An execution of which nothing was sent, and how much of the end of each stream is kept.
    pub(super) fn new(id: ExecutionId, subject: Subject, tail_bytes: usize) -> Self {
        Self {
            subject,
            id,
            position: Position::default(),
            stdout: Tail::new(tail_bytes),
            stderr: Tail::new(tail_bytes),
            total_bytes: 0,
            elapsed_ms: 0,
            due: None,
            sent_at: None,
        }
    }

    /// Takes an event of the execution; returns what is sent at once.
    pub(super) fn take(&mut self, event: &Event, mode: ProgressMode, now: Instant) -> Vec<Chunk> {
        let (updates, position) = updates(&self.subject, event, self.position);
        self.position = position;
        self.elapsed_ms = event.at_ms;
        self.total_bytes += match &event.kind {
            EventKind::Output { bytes, .. } => bytes.len() as u64,
            EventKind::Gap { from_byte, to_byte, .. } => to_byte.saturating_sub(*from_byte),
            _ => 0,
        };
        for update in &updates {
            match update.r#type {
                ProgressType::Stdout => self.stdout.push(&update.content),
                ProgressType::Stderr => self.stderr.push(&update.content),
                ProgressType::Status => continue,
            }
            let next = self.sent_at.map_or(now + FIRST_AFTER, |sent| sent + INTERVAL);
            self.due.get_or_insert(next);
        }
        if mode != ProgressMode::Full {
            return Vec::new();
        }
        updates.into_iter().map(|update| self.chunk(event, update)).collect()
    }

    fn chunk(&self, event: &Event, update: ProgressUpdate) -> Chunk {
        let data = Progress {
            tool_call_id: self.subject.call_id.clone(),
            execution_id: self.id,
            r#type: update.r#type.name(),
            content: update.content,
            seq: event.seq.0,
            timestamp: update.timestamp,
        };
        Chunk::ToolProgress { transient: true, data }
    }

    /// When the next preliminary result is due.
    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// The preliminary result, if it is due.
    pub(super) fn preliminary(&mut self, now: Instant) -> Option<Chunk> {
        self.due.take_if(|due| *due <= now)?;
        self.sent_at = Some(now);
        let output = self.so_far();
        Some(Chunk::ToolOutputAvailable {
            tool_call_id: self.subject.call_id.clone(),
            output: serde_json::to_value(output).unwrap_or_default(),
            dynamic: true,
            provider_executed: true,
            preliminary: true,
            tool_metadata: None,
        })
    }

    /// The output of a program that runs.
    pub(super) fn so_far(&mut self) -> CommandOutput {
        let (stdout, stderr) = (self.stdout.text(), self.stderr.text());
        CommandOutput {
            status: Some("running"),
            truncated: self.total_bytes > (stdout.len() + stderr.len()) as u64,
            stdout,
            stderr,
            exit_code: None,
            duration_ms: self.elapsed_ms,
            total_bytes: self.total_bytes,
            log_url: log_url(self.id),
        }
    }

    /// The output of a program that ended in this way.
    pub(super) fn ended(&mut self, verdict: &Verdict) -> CommandOutput {
        let end = Ending::of(verdict);
        self.total_bytes = end.printed.iter().sum();
        let mut output = self.so_far();
        if let Some(line) = end.last_line() {
            if !(output.stderr.is_empty() || output.stderr.ends_with('\n')) {
                output.stderr.push('\n');
            }
            output.stderr += &line;
        }
        let (exit_code, duration_ms) = (Some(end.exit_code), verdict.duration_ms);
        CommandOutput { status: None, exit_code, duration_ms, ..output }
    }
}

/// The URL of the whole output of an execution.
pub(super) fn log_url(id: ExecutionId) -> String {
    format!("/v1/executions/{id}/output")
}

#[cfg(test)]
mod tests {
    use headwater_protocol::{Seq, StartSpec, Stream};
    use serde_json::{Value, json};

    use super::*;
    use crate::streams::feed::subject;

    fn output(seq: u64, offset: u64, text: &str) -> Event {
        let bytes = text.to_owned().into();
        Event { seq: Seq(seq), at_ms: seq, kind: EventKind::Output { stream: Stream::Stdout, offset, bytes } }
    }

    #[test]
    fn a_preliminary_result_is_short_and_comes_at_most_once_a_second() {
        let subject = subject(StartSpec::shell("x"));
        let mut running = Running::new(ExecutionId::random(), subject, TAIL_BYTES);
        let begin = Instant::now();
        let (mut offset, mut sent) = (0, Vec::new());
        let line = "a line of output, with an ä\n".repeat(40);
        for ms in (0..3000_u64).step_by(10) {
            let now = begin + Duration::from_millis(ms);
            let chunks = running.take(&output(ms + 1, offset, &line), ProgressMode::Full, now);
            assert_eq!(chunks.len(), 1);
            offset += line.len() as u64;
            sent.extend(running.preliminary(now).map(|chunk| (ms, serde_json::to_value(chunk).unwrap())));
        }
        let times: Vec<_> = sent.iter().map(|(ms, _)| *ms).collect();
        assert_eq!(times, [250, 1250, 2250]);
        for (_, chunk) in &sent {
            let output: &Value = &chunk["output"];
            assert!(output["stdout"].as_str().unwrap().len() <= TAIL_BYTES);
            assert_eq!((&chunk["preliminary"], &output["status"]), (&json!(true), &json!("running")));
            assert_eq!(output["truncated"], true);
        }
    }

    #[test]
    fn the_switch_of_the_request_decides_what_is_sent() {
        for (mode, count) in [(ProgressMode::Full, 1), (ProgressMode::Tail, 0)] {
            let mut running = Running::new(ExecutionId::random(), subject(StartSpec::shell("x")), TAIL_BYTES);
            assert_eq!(running.take(&output(2, 0, "x"), mode, Instant::now()).len(), count, "{mode:?}");
            assert!(running.due().is_some());
        }
    }
}
