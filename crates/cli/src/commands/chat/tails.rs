//! The output of the commands that the agent runs, while they run.

use std::collections::{HashMap, HashSet};

use headwater_contract::FollowOptions;
use headwater_protocol::api::{EventViews, write_event};
use headwater_protocol::{Event, EventKind, ExecutionId};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::engine::Engine;
use crate::error::CommandError;
use crate::escape;
use crate::humanize;

/// Lines of one command that are shown. The rest is in its log.
const MAX_LINES: usize = 100;
/// The longest line that is shown, in characters.
const MAX_LINE: usize = 1000;
/// What may wait to be shown.
const QUEUE: usize = 64;
/// How long output may be collected: soon enough for a person.
const BATCH_MS: u32 = 30;

/// A piece of output.
#[derive(Debug)]
pub struct Tail {
    /// The call that it belongs to.
    pub call: String,
    /// The execution.
    pub execution: ExecutionId,
    /// What came.
    pub what: What,
}

/// What came.
#[derive(Debug)]
pub enum What {
    /// Lines for a person, escaped.
    Lines(Vec<String>),
    /// An event, as JSON.
    Event(Value),
    /// There is no more.
    End,
}

/// The commands whose output is followed.
pub struct Tails {
    engine: Engine,
    is_json: bool,
    sender: mpsc::Sender<Tail>,
    receiver: mpsc::Receiver<Tail>,
    running: HashMap<ExecutionId, (String, JoinHandle<()>)>,
    /// Those that were followed at some time.
    known: HashSet<ExecutionId>,
}

impl Tails {
    /// None yet.
    pub fn new(engine: Engine, is_json: bool) -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE);
        Self { engine, is_json, sender, receiver, running: HashMap::new(), known: HashSet::new() }
    }

    /// Follows an execution, unless it was followed before.
    pub fn follow(&mut self, call: &str, execution: ExecutionId) {
        if !self.known.insert(execution) {
            return;
        }
        let (engine, sender, is_json) = (self.engine.clone(), self.sender.clone(), self.is_json);
        let name = call.to_owned();
        let task = tokio::task::spawn_local(async move {
            let send = async |what| sender.send(Tail { call: name.clone(), execution, what }).await.is_ok();
            if let Err(error) = follow(&engine, execution, is_json, &send).await {
                let line = format!("its output cannot be read: {}", escape::printable(&error.message));
                send(What::Lines(vec![line])).await;
            }
            send(What::End).await;
        });
        self.running.insert(execution, (call.to_owned(), task));
    }

    /// The next piece.
    pub async fn next(&mut self) -> Tail {
        loop {
            // It never ends: this holds a sender.
            let Some(tail) = self.receiver.recv().await else { std::future::pending().await };
            if self.running.contains_key(&tail.execution) {
                if matches!(tail.what, What::End) {
                    self.running.remove(&tail.execution);
                }
                return tail;
            }
        }
    }

    /// The executions of a call that are followed.
    pub fn of(&self, call: &str) -> Vec<ExecutionId> {
        self.running.iter().filter(|(_, (one, _))| one == call).map(|(id, _)| *id).collect()
    }

    /// Follows an execution no more.
    pub fn leave(&mut self, execution: ExecutionId) {
        if let Some((_, task)) = self.running.remove(&execution) {
            task.abort();
        }
    }
}

impl Drop for Tails {
    fn drop(&mut self) {
        self.running.values().for_each(|(_, task)| task.abort());
    }
}

async fn follow(
    engine: &Engine,
    execution: ExecutionId,
    is_json: bool,
    send: &impl AsyncFn(What) -> bool,
) -> Result<(), CommandError> {
    let options = FollowOptions { batch_ms: BATCH_MS, ..FollowOptions::default() };
    let mut events = engine.follow(execution, options).await?;
    let (mut lines, mut views) = (Lines::default(), EventViews::default());
    while let Some(event) = events.next().await? {
        if is_json {
            for event in views.push(event).chain(None) {
                send(What::Event(object(&event))).await;
            }
            continue;
        }
        let more = lines.push(&event);
        if !more.is_empty() && !send(What::Lines(more)).await {
            return Ok(());
        }
        if lines.shown >= MAX_LINES {
            send(What::Lines(vec![format!("… `headwater logs -f {execution}` shows the rest")])).await;
            return Ok(());
        }
    }
    if let Some(event) = views.flush() {
        send(What::Event(object(&event))).await;
    }
    let rest = lines.rest();
    if !rest.is_empty() {
        send(What::Lines(rest)).await;
    }
    Ok(())
}

fn object(event: &Event) -> Value {
    let mut text = Vec::new();
    write_event(event, &mut text);
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Splits output into lines, each stream for itself.
#[derive(Debug, Default)]
struct Lines {
    open: HashMap<u8, Vec<u8>>,
    shown: usize,
}

impl Lines {
    /// The lines that this event completes.
    fn push(&mut self, event: &Event) -> Vec<String> {
        match &event.kind {
            EventKind::Output { stream, bytes, .. } => {
                let open = self.open.entry(*stream as u8).or_default();
                open.extend_from_slice(bytes);
                let end = match open.iter().rposition(|byte| *byte == b'\n') {
                    Some(at) => at + 1,
                    // A line that does not end, for example a progress bar.
                    None if open.len() > MAX_LINE * 8 => open.len(),
                    None => return Vec::new(),
                };
                let whole: Vec<u8> = open.drain(..end).collect();
                self.limited(&whole)
            }
            EventKind::Gap { from_byte, to_byte, .. } => {
                let missing = humanize::bytes(to_byte.saturating_sub(*from_byte));
                vec![format!("({missing} of the output are missing)")]
            }
            EventKind::Started { .. } | EventKind::Exited(_) | EventKind::Closed => Vec::new(),
        }
    }

    /// What is left at the end.
    fn rest(&mut self) -> Vec<String> {
        let rest: Vec<u8> = std::mem::take(&mut self.open).into_values().flatten().collect();
        if rest.is_empty() { Vec::new() } else { self.limited(&rest) }
    }

    fn limited(&mut self, bytes: &[u8]) -> Vec<String> {
        let text = String::from_utf8_lossy(bytes);
        let lines: Vec<String> = text.lines().take(MAX_LINES - self.shown.min(MAX_LINES)).map(line).collect();
        self.shown += lines.len();
        lines
    }
}

/// A line as a terminal would leave it: what a carriage return has overwritten is gone.
fn line(text: &str) -> String {
    let last = text.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default();
    let short: String = last.chars().take(MAX_LINE).collect();
    escape::printable(&short.replace('\t', "    "))
}

#[cfg(test)]
mod tests {
    use headwater_protocol::{Seq, Stream};

    use super::*;

    fn output(stream: Stream, text: &str) -> Event {
        let bytes = text.to_owned().into();
        Event { seq: Seq(1), at_ms: 0, kind: EventKind::Output { stream, offset: 0, bytes } }
    }

    #[test]
    fn lines_of_two_streams_are_not_mixed_and_cannot_control_the_terminal() {
        let mut lines = Lines::default();
        assert!(lines.push(&output(Stream::Stdout, "a")).is_empty());
        assert_eq!(lines.push(&output(Stream::Stderr, "x\n")), ["x"]);
        assert_eq!(
            lines.push(&output(Stream::Stdout, "b\n 10%\r 20%\r\n\tc\u{1b}[2J\nd")),
            ["ab", " 20%", "    c\\u{1b}[2J"]
        );
        assert_eq!(lines.rest(), ["d"]);
    }

    #[test]
    fn a_long_output_is_shown_in_part() {
        let mut lines = Lines::default();
        assert_eq!(lines.push(&output(Stream::Stdout, &"y\n".repeat(1000))).len(), MAX_LINES);
        assert!(lines.push(&output(Stream::Stdout, "more\n")).is_empty());
        let long = "x".repeat(MAX_LINE * 9);
        assert_eq!(Lines::default().push(&output(Stream::Stdout, &long))[0].len(), MAX_LINE);
    }
}
