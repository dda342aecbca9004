//! Reads the new output of one execution until something happens.

use std::time::Duration;

use headwater_contract::{FollowOptions, Follower};
use headwater_protocol::{Event, EventKind, Execution, ExecutionId, Seq, Stream, Verdict};
use tokio::time::{Instant, MissedTickBehavior};

use super::Context;
use super::condition::{Conditions, Met, PORT_INTERVAL, listens};
use super::find::number_of;
use super::memory::Cursor;
use crate::agent::Agent;
use crate::error::ToolError;
use crate::output::{Budget, Carry, End, Options, Output, Rendered};

/// How long a call that is over still reads output that is ready: a program that prints faster than we read must
/// not hold the call.
const CATCH_UP: Duration = Duration::from_secs(1);
/// How long the last writer of a command's output is awaited after its exit. Only children that outlive it take longer.
const CLOSE_WAIT: Duration = Duration::from_millis(300);

/// Output of an execution that the agent has not read, and what happened meanwhile. Nothing counts as read
/// before [`finish`](Self::finish).
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) id: ExecutionId,
    output: Output,
    /// Standard error, if it is wanted apart.
    errors: Option<Output>,
    /// The last event that was read.
    seq: Seq,
    /// The last event that earlier results have shown.
    pub(super) shown: Seq,
    /// The last event when the call began: output of an ended command is read up to here.
    present: Seq,
    conditions: Conditions,
    /// The agent knew at the beginning that the command has ended: it waits for what its children do.
    knew_exit: bool,
    pub(super) verdict: Option<Verdict>,
    is_closed: bool,
    /// Bytes that are no longer kept.
    missing_bytes: u64,
    has_output: bool,
    last_output: Instant,
    /// Why the waiting ended; `None` if the time was over.
    pub(super) met: Option<Met>,
}

/// What a reading has found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) output: Rendered,
    pub(super) errors: Option<Rendered>,
    pub(super) missing_bytes: u64,
    /// The agent knew before that the command has ended, and nothing is new.
    pub(super) is_repeated: bool,
}

/// How output becomes text.
#[derive(Debug, Clone, Copy)]
pub(super) struct View {
    pub(super) budget: Budget,
    pub(super) keep_ansi: bool,
    /// Standard error has a text of its own.
    pub(super) errors_apart: bool,
}

impl Reading {
    /// Continues where the agent stopped reading.
    pub(super) fn new(agent: &Agent, execution: &Execution, view: View, conditions: Conditions) -> Self {
        let Cursor { seq, carry, knows_exit } = agent.memory().cursor(execution.id);
        let secrets = agent.secrets().clone();
        let options = Options { budget: view.budget, keep_ansi: view.keep_ansi, secrets, start_offset: 0 };
        Self {
            id: execution.id,
            output: Output::resume(&options, carry),
            errors: view.errors_apart.then(|| Output::new(&options)),
            seq,
            shown: seq,
            present: execution.last_seq,
            conditions,
            knew_exit: knows_exit,
            verdict: execution.state.verdict().filter(|_| knows_exit).cloned(),
            is_closed: false,
            missing_bytes: 0,
            has_output: false,
            last_output: Instant::now(),
            met: None,
        }
    }

    /// Reads until the command ends, a condition is met or the time is over. Dropping the future loses nothing;
    /// it can be called again.
    pub(super) async fn follow(&mut self, context: &Context<'_>, deadline: Instant) -> Result<(), ToolError> {
        let followed = self.follow_log(context, deadline).await;
        context.live.report_rest();
        followed.map_err(|error| {
            let hint = format!("The command is session ID {}: poll it with write_stdin", number_of(self.id));
            if error.hint.is_some() { error } else { error.hint(hint) }
        })
    }

    async fn follow_log(&mut self, context: &Context<'_>, deadline: Instant) -> Result<(), ToolError> {
        if self.is_done() {
            return Ok(());
        }
        let latest = deadline + CATCH_UP;
        let Ok(follower) = tokio::time::timeout_at(latest, self.open(context.agent)).await else {
            return Ok(()); // the worker is away: the next call finds everything
        };
        let mut follower = follower?;
        let mut ports = tokio::time::interval(PORT_INTERVAL);
        ports.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !self.is_done() && Instant::now() < latest {
            let idle_at = self.conditions.idle.map(|idle| self.last_output + idle);
            tokio::select! {
                biased;
                event = follower.next() => match event? {
                    Some(event) => self.take(context, event),
                    None => self.is_closed = true,
                },
                () = context.live.report_when_due() => {}
                () = tokio::time::sleep_until(deadline) => break,
                () = sleep_until(idle_at) => self.met = self.conditions.idle.map(Met::Idle),
                _ = ports.tick(), if self.conditions.port.is_some() => self.check_port(context.agent).await?,
            }
        }
        if self.verdict.is_some() && !self.knew_exit {
            let close = Instant::now() + CLOSE_WAIT;
            while !self.is_closed
                && let Ok(event) = tokio::time::timeout_at(close, follower.next()).await
            {
                match event? {
                    Some(event) => self.take(context, event),
                    None => self.is_closed = true,
                }
            }
        }
        Ok(())
    }

    async fn open(&self, agent: &Agent) -> Result<Follower, ToolError> {
        let options = FollowOptions { after: self.seq, until_closed: true, ..FollowOptions::default() };
        let id = self.id;
        Ok(agent.host().streams().retry(|client| client.follow(id, options.clone())).await?)
    }

    /// Whether what the call waits for has happened. Notes the end.
    fn is_done(&mut self) -> bool {
        let waits_for_children = self.knew_exit && !self.conditions.is_empty();
        let has_ended = self.verdict.is_some() && self.seq >= self.present && !waits_for_children;
        if self.met.is_none() && (has_ended || self.is_closed) {
            self.met = Some(Met::Exit);
        }
        self.met.is_some()
    }

    async fn check_port(&mut self, agent: &Agent) -> Result<(), ToolError> {
        let Some(port) = self.conditions.port else { return Ok(()) };
        if listens(agent.host(), agent.session(), port).await? {
            self.met = Some(Met::Port(port));
        }
        Ok(())
    }

    fn take(&mut self, context: &Context<'_>, event: Event) {
        // An event can contain several records, and has the number of the last one.
        let first = self.seq.next();
        self.seq = self.seq.max(event.seq);
        match event.kind {
            EventKind::Started { .. } => {}
            EventKind::Output { stream, bytes, .. } => {
                self.output_of(stream).push(stream, first, &bytes);
                context.live.push(self.id, &bytes);
                (self.has_output, self.last_output) = (true, Instant::now());
                let line = self.conditions.pattern.as_mut().and_then(|pattern| pattern.push(&bytes));
                if let Some(line) = line {
                    self.met.get_or_insert(Met::Match(line));
                }
            }
            EventKind::Gap { stream, from_byte, to_byte } => {
                let bytes = to_byte.saturating_sub(from_byte);
                self.output_of(stream).skip(bytes);
                self.missing_bytes += bytes;
            }
            EventKind::Exited(verdict) => self.verdict = Some(verdict),
            EventKind::Closed => self.is_closed = true,
        }
    }

    fn output_of(&mut self, stream: Stream) -> &mut Output {
        match &mut self.errors {
            Some(errors) if stream == Stream::Stderr => errors,
            _ => &mut self.output,
        }
    }

    /// Whether the command has exited and its children still hold its output.
    pub(super) const fn has_children(&self) -> bool {
        self.verdict.is_some() && !self.is_closed
    }

    /// Whether the command has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.verdict.is_some()
    }

    /// Renders the output. From now on it counts as read.
    pub(super) fn finish(self, agent: &Agent) -> Found {
        let end = if self.is_closed { End::Closed } else { End::Open };
        let (output, mut carry) = self.output.finish(end);
        let errors = self.errors.map(|errors| {
            let (errors, other) = errors.finish(end);
            // A later call has one text for both streams.
            let next_offset = carry.next_offset + other.next_offset;
            carry = Carry::default();
            carry.next_offset = next_offset;
            errors
        });
        let cursor = Cursor { seq: self.seq, carry, knows_exit: self.verdict.is_some() };
        agent.memory().advance(self.id, cursor);
        let is_repeated = self.knew_exit && !self.has_output;
        Found { output, errors, missing_bytes: self.missing_bytes, is_repeated }
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
