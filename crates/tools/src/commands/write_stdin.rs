//! `write_stdin`: writes to a command and returns its new output.

use std::time::Duration;

use bytes::Bytes;
use headwater_contract::{Client, ContractError, FaultKind, StdinWriter, reconnect_backoff};
use headwater_protocol::{Execution, ExecutionId, Stdin};
use tokio::time::Instant;

use super::condition::Conditions;
use super::find::find;
use super::reading::{Reading, View};
use super::{Context, report};
use crate::agent::Agent;
use crate::error::ToolError;
use crate::outcome::Outcome;
use crate::output::Budget;
use crate::schema::WriteStdin;

const SIGINT: i32 = 2;
/// The character that interrupts.
const INTERRUPT: &str = "\u{3}";
/// The character that ends the input.
const END: &str = "\u{4}";
/// The least time for an answer after the input was written.
const ANSWER: Duration = Duration::from_millis(100);

/// Calls `write_stdin`.
pub(super) async fn write_stdin(context: &Context<'_>, asked: &WriteStdin) -> Result<Outcome, ToolError> {
    let agent = context.agent;
    let begin = Instant::now();
    let execution = find(agent, &asked.session_id).await?;
    let budget = Budget::tokens(asked.max_output_tokens);
    let view = View { budget, keep_ansi: false, errors_apart: false };
    // Before the write, so that it knows what the agent has read.
    let mut reading = Reading::new(agent, &execution, view, Conditions::default());
    let mut deadline = begin + Duration::from_millis(asked.yield_ms());
    let mut notes = Vec::new();
    if !asked.chars.is_empty() {
        notes.extend(send(agent, &execution, &asked.chars, deadline).await?);
        deadline = deadline.max(Instant::now() + ANSWER);
    }
    reading.follow(context, deadline).await?;
    report::outcome(agent, &execution, reading, begin, notes)
}

/// What the characters mean.
enum Input {
    Bytes(Bytes),
    Interrupt,
    End,
}

/// A terminal interprets all characters itself. For a pipe, two of them mean something if they come alone.
fn meaning(execution: &Execution, chars: &str) -> Input {
    match (execution.spec.tty, chars) {
        (None, INTERRUPT) => Input::Interrupt,
        (None, END) => Input::End,
        _ => Input::Bytes(Bytes::copy_from_slice(chars.as_bytes())),
    }
}

/// Sends input. Returns what the result has to say about it. A command that no longer reads is not an error: its
/// output and its exit code are what the agent needs then.
async fn send(
    agent: &Agent,
    execution: &Execution,
    chars: &str,
    deadline: Instant,
) -> Result<Option<String>, ToolError> {
    let id = execution.id;
    if execution.state.verdict().is_some() {
        return Ok(Some("nothing was written: the command has ended".to_owned()));
    }
    let input = meaning(execution, chars);
    if matches!(input, Input::Interrupt) {
        let sent = agent.host().calls().signal(id, SIGINT, false).await;
        return refusal(sent, "it was not interrupted");
    }
    let is_open = execution.spec.stdin == Stdin::Open || execution.spec.tty.is_some();
    if !is_open {
        let error =
            ToolError::new("the command was started with an empty input, so nothing can be written to it");
        return Err(error
            .hint("Start it again with exec_command without `stdin`, or send \"\\u0003\" to interrupt it"));
    }
    let (client, lock) = (agent.host().streams().clone(), agent.memory().input(id));
    // A command that does not read makes the write wait. The write goes on after the call, so nothing is lost.
    let mut task = tokio::spawn(async move {
        let _lock = lock.lock().await;
        write(&client, id, input).await
    });
    match tokio::time::timeout_at(deadline, &mut task).await {
        Ok(Ok(written)) => refusal(written, "not all of the text was written"),
        Ok(Err(error)) => Err(ToolError::new(format!("the write failed: {error}"))),
        Err(_) => {
            Ok(Some("the command has not read all of the text yet; the rest follows as it reads".to_owned()))
        }
    }
}

/// A command that does not take what was sent, as a note.
fn refusal(sent: Result<(), ContractError>, consequence: &str) -> Result<Option<String>, ToolError> {
    match sent {
        Ok(()) => Ok(None),
        Err(ContractError::Fault(fault)) if fault.kind == FaultKind::Conflict => {
            Ok(Some(format!("{consequence}: {}", fault.message)))
        }
        Err(error) => Err(error.into()),
    }
}

/// Writes, and repeats what a restart of the worker interrupted: nothing is written twice.
async fn write(client: &Client, id: ExecutionId, input: Input) -> Result<(), ContractError> {
    let mut writer = open(client, id).await?;
    let at = writer.offset();
    let mut attempts = reconnect_backoff();
    loop {
        let result = match &input {
            Input::Bytes(bytes) => writer.write_again(at, bytes.clone()).await,
            _ => writer.end().await,
        };
        match result {
            Err(error) if error.is_disconnected() && attempts.pause().await => {
                writer = open(client, id).await?;
            }
            other => return other,
        }
    }
}

async fn open(client: &Client, id: ExecutionId) -> Result<StdinWriter, ContractError> {
    client.retry(|client| client.stdin(id)).await
}
